"""glow-tune on the digits, compilation with its files, and files that are wrong."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import glow
import numpy as np
import pytest
from glow.errors import GlowError
from glow.glow_dialects.glow_nest.kernel import KernelOp
from glow.glow_dialects.glow_nest.ops import NestOp
from glow.glow_dialects.glow_nest.schedule import LoopPart, RegisterTile
from glow.glow_dialects.machine import MachineDescription
from glow.lowering.kernels.schedule_nests import kernel_key, schedule_of
from glow.lowering.kernels.schedules.fitted_schedule import fitted
from glow.lowering.target import find_target
from glow.lowering.tuned_schedules import TunedKernel
from glow.tests.support.seeds import generator
from glow.tools import tune_schedules
from glow.tools.glow_run import main as glow_run
from glow.tools.glow_tune import main
from glow.tuning import search
from glow.tuning.candidates import neighbours, ranked_schedules
from glow.tuning.jobs import Job, jobs_of, nests_of
from glow.tuning.rivals import Rivals, agree, wins
from glow.tuning.schedules_file import present_schedules, update_schedules
from glow.tuning.search import text_of
from hypothesis import given
from hypothesis import strategies as st
from xdsl.utils.exceptions import VerifyException

MODEL = str(Path(__file__).resolve().parents[3] / "examples" / "digits" / "digits.onnx")
Times = tuple[list[float], list[float]]


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    model = glow.compile(MODEL, schedules="none")
    return jobs_of(model.stages["nests"], find_target(None, None, None).describe())


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """
    Lets all candidates take so many times the seconds of the fastest so far, and time go on by the
    calls of the clock, so that tests are the same on slow machines.
    """
    ticks = count(step=0.1)
    monkeypatch.setattr(tune_schedules, "_NETWORK_MARGIN", 100.0)
    monkeypatch.setattr(tune_schedules, "_NETWORK_SECONDS", 0.0)
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: next(ticks)))

    def chosen(ratio: float) -> None:
        def in_turns(_self: object, _one: object, _other: object, rounds: int) -> Times:
            return [1.0] * rounds, [ratio] * rounds

        monkeypatch.setattr(Rivals, "_in_turns", in_turns)

    return chosen


def tuned_by_hand(jobs: list[Job], path: Path, **changes: object) -> tuple[str, str]:
    """
    Returns a file with the second-best schedule of one kernel; the kernel's name and the schedule.
    """
    target = find_target(None, None, None)
    machine = target.describe()
    job = next(j for j in jobs if "convolution" in j.name)
    found = next(n for n in nests_of(job.kernel, machine) if n.nest.reduction)
    ranked = ranked_schedules(found.nest, machine, found.around)
    next(ranked)
    text = text_of(next(ranked)[1])
    entry = glow_file_entry(job.name, {str(found.number): text})
    facts = {n: list(v) if isinstance(v, tuple) else v for n, v in machine.facts().items()}
    from importlib.metadata import version

    content = {
        "format": "glow schedules 2",
        "compiler": version("glow-compiler"),
        "machine": facts,
        "kernels": {job.key: entry},
    }
    path.write_text(json.dumps({**content, **changes}))
    return job.name, text


def glow_file_entry(name: str, nests: dict[str, str]) -> dict[str, object]:
    return {"name": name, "nests": nests, "model_seconds": 2e-6, "tuned_seconds": 1e-6}


def schedules_in(model: glow.CompiledModel, name: str) -> list[str]:
    """Returns the texts of the schedules of a kernel."""
    kernels = [op for op in model.stages["scheduled"].walk() if isinstance(op, KernelOp)]
    kernel = next(k for k in kernels if k.sym_name.data == name)
    nests = [op for op in kernel.walk() if isinstance(op, NestOp)]
    return [text_of(op.schedule.data) for op in nests if op.schedule is not None]


def inputs_of(model: glow.CompiledModel) -> dict[str, np.ndarray]:
    return {
        i.name: generator().standard_normal(i.shape).astype(i.dtype)  # pyright: ignore
        for i in model.get_inputs()
    }


def test_what_is_faster_is_kept_and_used(
    always: Callable[[float], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    always(0.5)
    path = tmp_path / "digits.tuned"
    assert main([MODEL, "--seconds", "2", "-o", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "schedules tried" in printed
    assert f"written to {path}" in printed
    assert "the network, 1 thread:" in printed
    kernels = json.loads(path.read_text())["kernels"]
    assert kernels
    model = glow.compile(MODEL, schedules="none")
    feed = inputs_of(model)
    exact = model.run(None, feed)
    for threads in (1, 2):
        model = glow.compile(MODEL, schedules=str(path), threads=threads)
        for entry in kernels.values():
            if threads == 1:
                found = schedules_in(model, entry["name"])
                assert set(entry["nests"].values()) <= set(found)
        for a, b in zip(exact, model.run(None, feed), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
    assert glow_run([MODEL, "--schedules", str(path), "--compare", "interpreter"]) == 0


def test_the_models_choice_stays_where_nothing_is_faster(
    always: Callable[[float], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    always(0.99)  # within the margin
    path = tmp_path / "digits.tuned"
    assert main([MODEL, "--seconds", "2", "-o", str(path)]) == 0
    assert not path.exists()
    assert "no schedule is faster than that of the cost model" in capsys.readouterr().out


def test_an_interrupted_search_keeps_what_it_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    duels = 0

    def in_turns(_self: object, _one: object, _other: object, rounds: int) -> Times:
        nonlocal duels
        duels += 1
        if duels == 3:  # the second candidate; what comes later measures the winner
            raise KeyboardInterrupt
        return [1.0] * rounds, [0.5] * rounds

    monkeypatch.setattr(Rivals, "_in_turns", in_turns)
    path = tmp_path / "digits.tuned"
    assert main([MODEL, "--seconds", "60", "-o", str(path)]) == 130
    assert len(json.loads(path.read_text())["kernels"]) == 1
    assert "interrupted: the schedules that were found so far are kept" in capsys.readouterr().out


def test_without_a_file_the_cache_has_the_schedules(
    always: Callable[[float], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    always(0.5)
    assert main([MODEL, "--seconds", "2"]) == 0
    (path,) = (tmp_path / "cache" / "schedules").iterdir()
    entry = next(iter(json.loads(path.read_text())["kernels"].values()))
    wanted = set(entry["nests"].values())
    assert wanted <= set(schedules_in(glow.compile(MODEL), entry["name"]))
    assert not wanted <= set(schedules_in(glow.compile(MODEL, schedules="none"), entry["name"]))
    assert not wanted <= set(schedules_in(glow.compile(MODEL, cache=False), entry["name"]))


def test_programs_with_other_schedules_are_other_programs(jobs: list[Job], tmp_path: Path) -> None:
    cache, path = str(tmp_path / "cache"), tmp_path / "a.tuned"
    assert not glow.compile(MODEL, cache=cache).from_cache
    name, text = tuned_by_hand(jobs, path)
    model = glow.compile(MODEL, cache=cache, schedules=str(path))
    assert not model.from_cache
    assert text in schedules_in(model, name)
    assert glow.compile(MODEL, cache=cache, schedules=str(path)).from_cache
    tuned_by_hand(jobs, path, kernels={})
    assert not glow.compile(MODEL, cache=cache, schedules=str(path)).from_cache


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"compiler": "0.0.0"}, "version 0.0.0 of the compiler wrote it"),
        ({"machine": {"vector_bits": 64}}, "another machine \\(vector_bits 64, here"),
        ({"format": "glow schedules 0"}, "its format is 'glow schedules 0'"),
    ],
)
def test_a_file_from_elsewhere_is_ignored(
    changes: dict[str, object],
    reason: str,
    jobs: list[Job],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "a.tuned"
    name, text = tuned_by_hand(jobs, path, **changes)
    with pytest.warns(UserWarning, match=reason):
        model = glow.compile(MODEL, schedules=str(path))
    assert text not in schedules_in(model, name)
    # nor does the tuner write over it
    assert main([MODEL, "-o", str(path)]) == 1
    assert "write to another file, or delete this one" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"format": "glow profile 1"}',
        '{"format": "glow schedules 2"}',
    ],
)
def test_a_broken_file_is_an_error(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.tuned"
    path.write_text(content)
    wanted = "expected schedules that glow-tune wrote, but"
    with pytest.raises(GlowError, match=wanted):
        glow.compile(MODEL, schedules=str(path))
    assert main([MODEL, "-o", str(path)]) == 1
    assert wanted in capsys.readouterr().err


def test_entries_that_are_no_schedules(jobs: list[Job], tmp_path: Path) -> None:
    path, job = tmp_path / "a.tuned", next(j for j in jobs if "convolution" in j.name)
    tuned_by_hand(jobs, path, kernels={job.key: {"name": "a", "nests": {"first": "b"}}})
    with pytest.raises(GlowError, match="a kernel has no table of schedules"):
        glow.compile(MODEL, schedules=str(path))
    nests = {str(n.number): n.nest for n in nests_of(job.kernel, MachineDescription())}
    numbers = [number for number, n in nests.items() if n.reduction is not None]
    broken = {numbers[0]: "<register_tile, order = >"}
    tuned_by_hand(jobs, path, kernels={job.key: glow_file_entry(job.name, broken)})
    with pytest.raises(GlowError, match=f"{job.name}, nest .: expected the text of a schedule"):
        glow.compile(MODEL, schedules=str(path))
    nest = nests[numbers[0]]
    machine = find_target(None, None, None).describe()
    schedule = next(ranked_schedules(nest, machine))[1]
    assert isinstance(schedule, RegisterTile)
    widest = 32 * machine.vector_registers
    large = {d: [LoopPart(0, d.size, d.size)] for d in schedule.parts if d.size <= widest}
    with pytest.raises(VerifyException, match="vector registers, found one of"):
        fitted(nest, replace(schedule, parts={**schedule.parts, **large}), machine)
    other = {numbers[0]: "<reduce, order = [nowhere]>"}
    tuned_by_hand(jobs, path, kernels={job.key: glow_file_entry(job.name, other)})
    with pytest.warns(UserWarning, match="the measured schedule is ignored: expected"):
        model = glow.compile(MODEL, schedules=str(path))
    assert model.run(None, inputs_of(model))


def test_a_missing_file_and_wrong_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(GlowError, match="cannot read the schedules: No such file"):
        glow.compile(MODEL, schedules=str(tmp_path / "none.tuned"))
    with pytest.raises(GlowError, match="expected schedules to be a string"):
        glow.compile(MODEL, schedules=3)
    for arguments, wanted in (
        (["--seconds", "0"], "expected a number of seconds above 0, found '0'"),
        (["-o", str(tmp_path / "no" / "a.tuned")], "its directory does not exist"),
        (["-o", "/dev/null"], "/dev/null: cannot read the schedules: it is no regular file"),
    ):
        assert main([MODEL, *arguments]) == 1
        assert wanted in capsys.readouterr().err
    assert main([str(tmp_path / "no.onnx"), "-o", str(tmp_path / "a")]) == 1
    assert "no.onnx" in capsys.readouterr().err


def test_candidates_have_a_text_and_compute_the_same(
    jobs: list[Job], always: Callable[[float], None]
) -> None:
    always(0.5)
    target = find_target(None, None, None)
    machine = target.describe()
    kinds: set[str] = set()
    for job in (j for j in jobs if j.has_alternatives):
        rivals = Rivals(job, target)
        for numbered in nests_of(job.kernel, machine):
            nest, around = numbered.nest, numbered.around
            ranked = list(ranked_schedules(nest, machine, around))
            near = list(neighbours(nest, ranked[0], machine, around))
            for own, schedule in (*ranked, *near):
                text = text_of(schedule)
                again = fitted(nest, schedule_of(text, "here"), machine)
                assert text_of(again[1]) == text
                assert [d.name for d in again[0].parallel] == [d.name for d in own.parallel]
            some = [near[i] for i in generator().permutation(len(near))[:2]]
            for _, schedule in (*ranked[1:3], *some):
                kinds.add(schedule.kind)
                text = text_of(schedule)
                assert rivals.challenge({str(numbered.number): text}), text
    assert len(kinds) > 1


def test_keys_do_not_depend_on_names(jobs: list[Job]) -> None:
    keys = [job.key for job in jobs]
    assert len(set(keys)) == len(keys)
    kernel = jobs[0].kernel.clone()
    kernel.properties["sym_name"] = jobs[1].kernel.sym_name
    assert kernel_key(kernel) == jobs[0].key


def test_results_agree_up_to_rounding() -> None:
    rng = generator()
    a = rng.standard_normal(7).astype(np.float32)
    assert agree(a, a * np.float32(1 + 1e-6))
    assert not agree(a, a + np.float32(0.1))
    assert agree(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]))
    assert not agree(np.array([np.nan, 1.0]), np.array([1.0, 1.0]))
    assert not agree(np.array([1, 2]), np.array([1, 3]))


def test_unfit_candidates_lose_without_a_warning(jobs: list[Job]) -> None:
    rivals = Rivals(jobs[0], find_target(None, None, None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not rivals.challenge({"0": "<reduce, order = [nowhere]>"})


def test_nothing_is_kept_with_which_the_network_is_slower(
    always: Callable[[float], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    always(0.5)
    monkeypatch.setattr(tune_schedules, "_NETWORK_MARGIN", -1.0)
    path, other = tmp_path / "digits.tuned", TunedKernel("k_other", {"0": "<reduce, order = []>"})
    machine = find_target(None, None, None).describe()
    update_schedules(path, {"other": other}, machine)
    assert main([MODEL, "--seconds", "2", "-o", str(path)]) == 0
    assert "the file is as it was before" in capsys.readouterr().out
    assert present_schedules(path, machine) == {"other": other}


@given(
    st.lists(st.floats(0.5, 20), min_size=21, max_size=21),
    st.floats(0.1, 0.9),
    st.floats(0.99, 1.5),
)
def test_load_that_changes_pairs_changes_no_winner(
    load: list[float], faster: float, slower: float
) -> None:
    assert wins(load, [faster * t for t in load])
    assert not wins(load, [slower * t for t in load])
    # a third of the runs disturbed tells nothing either way
    disturbed = [t * (0.1 if i % 3 == 0 else slower) for i, t in enumerate(load)]
    assert not wins(load, disturbed)


def test_processes_that_write_the_same_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.tuned"
    program = (
        "import sys; from pathlib import Path\n"
        "from glow.glow_dialects.machine import MachineDescription\n"
        "from glow.lowering.tuned_schedules import TunedKernel\n"
        "from glow.tuning.schedules_file import update_schedules\n"
        "for i in range(40):\n"
        "    entry = {f'{sys.argv[2]}{i}': TunedKernel('k', {})}\n"
        "    update_schedules(Path(sys.argv[1]), entry, MachineDescription())\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, path, n]) for n in "ab"]
    assert [w.wait() for w in writers] == [0, 0]
    assert len(present_schedules(path, MachineDescription())) == 80
    update_schedules(path, {"a0": None}, MachineDescription())
    assert len(present_schedules(path, MachineDescription())) == 79
    assert [p.name for p in tmp_path.iterdir()] == ["a.tuned"]
    entries = present_schedules(path, MachineDescription())
    update_schedules(path, dict.fromkeys(entries), MachineDescription())
    assert not path.exists()


def test_a_signal_ends_the_search_and_what_was_found_stays(tmp_path: Path) -> None:
    path = tmp_path / "digits.tuned"
    # All candidates win. The search interrupts itself when the file has its first entry, so that
    # the test is the same on slow machines.
    program = (
        "import os, signal, sys\n"
        "from glow.tools import tune_schedules\n"
        "from glow.tools.glow_tune import main\n"
        "from glow.tuning.rivals import Rivals\n"
        "write = tune_schedules.update_schedules\n"
        "def write_and_interrupt(*arguments):\n"
        "    write(*arguments)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "tune_schedules.update_schedules = write_and_interrupt\n"
        "Rivals._in_turns = lambda _self, _one, _other, n: ([1.0] * n, [0.5] * n)\n"
        # a shell script's background processes ignore the signal
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, MODEL, "--seconds", "12", "-o", str(path)]
    tuner = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert tuner.returncode == 130
    assert "interrupted: the schedules that were found so far are kept" in tuner.stdout
    assert json.loads(path.read_text())["kernels"]
