"""Programs that a call of a network of several programs runs: which ones, and what tools show."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow.errors import GlowError, InputError
from glow.lowering.target import find_target
from glow.tools.glow_run import main as glow_run
from glow.tools.glow_tune import main as glow_tune
from glow.tuning.jobs import jobs_of, joined

HEADER = '<ir_version: 9, opset_import: ["" : 18]>\n'
CUT = f"""{HEADER}
g (float[8,5] x) => (float[n,5] y) {{
  zero = Constant<value = float {{0}}>()
  axis = Constant<value = int64[1] {{1}}>()
  sums = ReduceSum<keepdims=0>(x, axis)
  positive = Greater(sums, zero)
  found = NonZero(positive)
  rows = Squeeze(found)
  chosen = Gather<axis=0>(x, rows)
  y = Softmax<axis=0>(chosen)
}}"""
LOOP = f"""{HEADER}
g (float[2,3] x, int64 n) => (float[r,3] y) {{
  true = Constant<value = bool {{1}}>()
  rows = Loop(n, true, x) <body = b (int64 i, bool c, float[k,3] s) => (bool d, float[l,3] t) {{
    d = Identity(c)
    t = Concat<axis=0>(s, x)
  }}>
  y = Softmax<axis=0>(rows)
}}"""
SYMBOLIC = f"""{HEADER}
g (float[n,5] x) => (float[n,5] y) {{ y = Softmax<axis=1>(x) }}"""
SEQUENCE = f"""{HEADER}
g (seq(float[3]) x) => (float[r] y) {{ y = ConcatFromSequence<axis=0>(x) }}"""


def compiled(text: str, **options) -> glow.CompiledModel:
    return glow.compile(onnx.parser.parse_model(text), timed=True, cache=False, **options)


def file_of(text: str, folder: Path) -> str:
    path = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    return str(path)


def rows(rng: np.random.Generator, positive: int) -> np.ndarray:
    """Returns eight rows, some of whose sums are positive."""
    x = np.abs(rng.standard_normal((8, 5), np.float32))
    x[rng.permutation(8)[positive:]] *= -1
    return x


def test_a_cut_model_is_two_calls(rng: np.random.Generator):
    model = compiled(CUT)
    x = rows(rng, 3)
    first, rest = model.program_calls([x])
    assert first[0] is not rest[0]
    assert [a.shape for a in first[1]] == [(8, 5)]
    (found,) = rest[0].run(None, dict(zip((i.name for i in rest[0].get_inputs()), rest[1])))
    np.testing.assert_array_equal(found, model(x)[0])
    assert found.shape == (3, 5)


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_each_step_of_a_loop_is_a_call(steps: int, rng: np.random.Generator):
    model = compiled(LOOP)
    x = rng.standard_normal((2, 3), np.float32)
    calls = model.program_calls([x, np.array(steps)])
    assert len(calls) == steps + 1
    assert len({id(made) for made, _ in calls}) == steps + 1


def test_a_call_without_programs_has_no_profile():
    model = compiled(LOOP.replace("y = Softmax<axis=0>(rows)", "").replace("rows =", "y ="))
    with pytest.raises(GlowError, match="no program runs for these inputs"):
        model.profile(np.ones((2, 3), np.float32), np.array(0))
    assert len(model.profile(np.ones((2, 3), np.float32), np.array(2), repeat=1).runs) == 1


def test_a_call_with_symbols_is_one_of_a_specialization():
    model = compiled(SYMBOLIC, buckets={"n": [4, 8]})
    ((made, inputs),) = model.program_calls([np.ones((3, 5), np.float32)])
    assert made.symbols == {"n": 4}
    assert [a.shape for a in inputs] == [(4, 5)]


def test_elements_of_sequences_are_inputs(rng: np.random.Generator):
    model = compiled(SEQUENCE)
    parts = [rng.standard_normal(3, np.float32) for _ in range(2)]
    ((_, inputs),) = model.program_calls(model.arrays({"x": parts}))
    np.testing.assert_array_equal(inputs, parts)
    profile = model.profile(parts, repeat=2)
    assert len(profile.instructions) == 2
    with pytest.raises(InputError, match="expected a list of arrays"):
        model.profile(parts[0])


@pytest.mark.parametrize("threads", [1, 2] if sys.platform == "linux" else [1])
def test_the_profile_is_that_of_all_programs(threads: int, rng: np.random.Generator):
    model = compiled(CUT, threads=threads)
    x = rows(rng, 4)
    profile = model.profile(x, repeat=3)
    kinds = [i.kind for i in profile.instructions]
    each = [made.profile(*inputs, repeat=1) for made, inputs in model.program_calls([x])]
    assert kinds == [i.kind for p in each for i in p.instructions]
    assert kinds.index("nonzero_places") < kinds.index("softmax")
    assert [i.number for i in profile.instructions] == list(range(len(kinds)))
    assert (profile.threads, len(profile.runs)) == (threads, 3)
    for run in profile.runs:
        assert run.times.shape == (threads, len(kinds), 2)
        for row in run.times.reshape(threads, -1):
            assert (np.diff(row) >= 0).all()
            assert 0 < row[0] <= row[-1] <= run.seconds
    assert profile.computing + profile.waiting <= profile.seconds


def test_glow_run_shows_all_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rng: np.random.Generator
):
    trace, stages = tmp_path / "run.json", tmp_path / "stages"
    array = tmp_path / "x.npy"
    np.save(array, rows(rng, 3))
    arguments = ["--input", str(array), f"--dump-stages={stages}", f"--profile={trace}"]
    assert glow_run([file_of(CUT, tmp_path), *arguments, "--compare", "onnxruntime"]) == 0
    printed = capsys.readouterr().out
    assert "float32[3, 5]" in printed
    assert "nonzero_places" in printed
    assert "softmax" in printed
    assert sorted(p.name for p in stages.iterdir()) == ["program-0", "program-1"]
    assert (stages / "program-1" / "weights.safetensors").exists()
    names = [e["name"] for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    assert "y: softmax" in names


def test_glow_run_and_loops(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert glow_run([file_of(LOOP, tmp_path), "--compare", "onnxruntime", "--repeat", "3"]) == 0
    assert "median of 3" in capsys.readouterr().out


def test_glow_run_and_sequences(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert glow_run([file_of(SEQUENCE, tmp_path)]) == 1
    assert "input 'x' is a sequence, and files have tensors" in capsys.readouterr().err


def test_glow_tune_searches_kernels_of_all_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rng: np.random.Generator
):
    model = file_of(CUT, tmp_path)
    assert glow_tune([model, "--seconds", "1", "-o", str(tmp_path / "found")]) == 0
    printed = capsys.readouterr().out
    found = re.findall(
        r"all of these *│ *(\d+)|without alternatives: (\d+)|before (\d+) kernel", printed
    )
    each = compiled(CUT).profile(rows(rng, 3)).instructions
    assert sum(int("".join(number)) for number in found) == len(each)


def test_kernels_of_several_programs_are_one_job():
    model = compiled(SYMBOLIC).specialize({"n": 3})
    nests, machine = model.stages["nests"], find_target(None, None, None).describe()
    slow, fast = jobs_of(nests, machine, [2.0]), jobs_of(nests, machine, [0.5])
    ((job,), (one,)) = joined([*slow, *fast]), slow
    assert (job.key, job.calls, job.share) == (one.key, 2 * one.calls, 2.5)
