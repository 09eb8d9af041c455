"""Measured times of the instructions of a program."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.glow_dialects.glow_inst.instruction import Instruction
from glow.glow_dialects.glow_inst.work import flops_of, moved_bytes
from glow.interface.time_profile import InstructionTime, TimeProfile
from glow.runtime import clock
from glow.runtime.clock import Clock
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.stages import Stages
from glow.tests.support.small_models import graph, small_network

COUNTER = "llvm.readcyclecounter"
SYMBOLS = {"batch": 3}
THREADS = [
    1,
    pytest.param(2, marks=pytest.mark.skipif(sys.platform != "linux", reason="needs a futex")),
]


def image(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((3, 3, 8, 10), np.float32)


def timed(threads: int = 1, **options) -> glow.CompiledModel:
    return glow.compile(
        small_network(1), symbols=SYMBOLS, threads=threads, timed=True, cache=False, **options
    )


def instructions(model: glow.CompiledModel) -> list[Instruction]:
    return [op for op in model.stages["allocated"].walk() if isinstance(op, Instruction)]


def check(profile: TimeProfile, threads: int, repeat: int, count: int) -> None:
    """Checks that the times of each run grow on each thread, and lie within the run."""
    assert profile.threads == threads
    assert len(profile.runs) == repeat
    assert [i.number for i in profile.instructions] == list(range(count))
    for run in profile.runs:
        assert run.times.shape == (threads, count, 2)
        for row in run.times.reshape(threads, 2 * count):
            assert (np.diff(row) >= 0).all()
            assert row[-1] <= run.seconds
        assert (run.times[0, 0] > 0).all()
        parts = run.times[0, :, 1] - run.times[0, :, 0]
        assert 0 < parts.sum() <= run.seconds
        assert run.computing == pytest.approx(parts.sum())
        assert run.waiting >= 0
        assert run.computing + run.waiting <= run.seconds
    assert profile.outside > 0


@pytest.mark.parametrize("threads", THREADS)
def test_every_instruction_is_there_once_and_all_are_within_the_run(
    threads: int, rng: np.random.Generator
):
    model = timed(threads)
    ops = instructions(model)
    profile = model.profile(image(rng), repeat=7)
    check(profile, threads, 7, len(ops))
    assert [f"glow_inst.{i.kind}" for i in profile.instructions] == [op.name for op in ops]
    assert profile.instructions[-1].name in ("probabilities", "logits")
    assert min(r.seconds for r in profile.runs) <= profile.seconds
    assert profile.seconds <= max(r.seconds for r in profile.runs)
    assert profile.typical_run() in profile.runs


@pytest.mark.parametrize("threads", THREADS)
def test_results_are_those_of_a_program_that_is_not_timed(threads: int, rng: np.random.Generator):
    x = image(rng)
    plain = glow.compile(small_network(1), symbols=SYMBOLS, threads=threads, cache=False)
    for found, expected in zip(timed(threads)(x), plain(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_medians_are_those_of_the_runs_and_kinds_sum_up(rng: np.random.Generator):
    profile = timed().profile(image(rng), repeat=5)
    for i in profile.instructions:
        times = [r.times[0, i.number, 1] - r.times[0, i.number, 0] for r in profile.runs]
        assert i.seconds == pytest.approx(sorted(times)[2])
        assert i.waiting >= 0
    kinds = profile.kinds()
    assert [k.seconds for k in kinds] == sorted((k.seconds for k in kinds), reverse=True)
    assert sum(k.count for k in kinds) == len(profile.instructions)
    for kind in kinds:
        members = [i for i in profile.instructions if i.kind == kind.kind]
        assert kind.count == len(members)
        assert kind.flops == sum(i.flops for i in members)
        assert kind.bytes == sum(i.bytes for i in members)
        assert kind.seconds == pytest.approx(math.fsum(i.seconds for i in members))


def sizes(text: str) -> list[int]:
    return [int(d) for d in text.split("x")[:-1]]


def of_kind(profile: TimeProfile, kind: str) -> InstructionTime:
    (found,) = (i for i in profile.instructions if i.kind == kind)
    return found


def test_work_of_a_matrix_product_with_an_epilogue(rng: np.random.Generator):
    rows, inner, columns = (int(n) for n in rng.integers(3, 20, 3))
    text = f"""
    func.func @main(%a: tensor<{rows}x{inner}xf32>, %b: tensor<{inner}x{columns}xf32>,
                    %c: tensor<{rows}x{columns}xf32>) -> tensor<{rows}x{columns}xf32> {{
      %p = glow.matmul %a, %b : (tensor<{rows}x{inner}xf32>, tensor<{inner}x{columns}xf32>)
          -> tensor<{rows}x{columns}xf32>
      %s = glow.add %p, %c : (tensor<{rows}x{columns}xf32>, tensor<{rows}x{columns}xf32>)
          -> tensor<{rows}x{columns}xf32>
      %y = glow.relu %s : (tensor<{rows}x{columns}xf32>) -> tensor<{rows}x{columns}xf32>
      func.return %y : tensor<{rows}x{columns}xf32>
    }}"""
    model = glow.compile(graph(text), timed=True, cache=False)
    shapes = [(rows, inner), (inner, columns), (rows, columns)]
    profile = model.profile(*(rng.standard_normal(s, np.float32) for s in shapes), repeat=1)
    product = of_kind(profile, "matmul")
    assert product.fused == ("add", "relu")
    assert product.outputs == (f"{rows}x{columns}xf32",)
    assert [sizes(t) for t in product.inputs] == [list(s) for s in shapes]
    assert product.flops == 2 * rows * inner * columns
    assert product.bytes == 4 * (sum(math.prod(s) for s in shapes) + rows * columns)
    assert product.gflops == pytest.approx(product.flops / product.seconds / 1e9)
    assert product.gigabytes == pytest.approx(product.bytes / product.seconds / 1e9)


def only_instruction(text: str) -> Instruction:
    (found,) = (op for op in graph(text).walk() if isinstance(op, Instruction))
    return found


def test_what_is_broadcast_is_moved_once_and_of_a_table_what_is_used():
    add = only_instruction("""
    func.func @main(%y: memref<6x5xf32>, %x: memref<6x5xf32>,
                    %b: memref<6x5xf32, strided<[0, 1]>>) {
      glow_inst.add @out %y, @in %x, @in %b
        : memref<6x5xf32>, memref<6x5xf32>, memref<6x5xf32, strided<[0, 1]>>
      func.return
    }""")
    assert moved_bytes(add) == 4 * (30 + 30 + 5)
    assert flops_of(add) == 0
    gather = only_instruction("""
    func.func @main(%y: memref<3x7xf32>, %t: memref<1000x7xf32>, %i: memref<3xi64>) {
      glow_inst.gather @out %y, @in %t, @in %i axis 0
        : memref<3x7xf32>, memref<1000x7xf32>, memref<3xi64>
      func.return
    }""")
    assert moved_bytes(gather) == 2 * 4 * 21 + 8 * 3
    stacked = only_instruction("""
    func.func @main(%y: memref<9xf32>, %x: memref<9xf32>) {
      glow_inst.stacked @inout %y, @in %x : memref<9xf32>, memref<9xf32> {
      ^bb0(%0: f32, %1: f32):
        %2 = glow.add %0, %1 : (f32, f32) -> f32
        glow_inst.yield %2 : f32
      }
      func.return
    }""")
    assert moved_bytes(stacked) == 4 * (2 * 9 + 9)


# code and cache


def objects(model: glow.CompiledModel, backend: CpuBackend) -> set[bytes]:
    return set(backend.objects(model.stages))


def test_the_counter_is_read_only_if_that_is_asked_for():
    plain = glow.compile(small_network(1), symbols=SYMBOLS, cache=False)
    assert COUNTER not in str(plain.stages["kernels"])
    model = timed()
    text = str(model.stages["kernels"])
    assert text.count(COUNTER) == 2 * len(instructions(model))
    assert model.memory == plain.memory
    # kernels are the same, and only what calls them differs
    ours, theirs = (objects(m, CpuBackend(cache=False)) for m in (model, plain))
    assert len(ours - theirs) == len(theirs - ours) == 1


@pytest.mark.parametrize("threads", THREADS)
def test_the_cache_keeps_timed_programs_apart(
    threads: int, tmp_path: Path, rng: np.random.Generator
):
    data, x = small_network(1).SerializeToString(), image(rng)

    def compiled(timed: bool) -> glow.CompiledModel:
        return glow.compile(data, symbols=SYMBOLS, threads=threads, cache=tmp_path, timed=timed)

    cold, cold_timed = compiled(False), compiled(True)
    plain, model = compiled(False), compiled(True)
    assert "import" in cold_timed.times
    assert set(plain.times) == set(model.times) == {"load"}
    check(model.profile(x, repeat=2), threads, 2, len(instructions(model)))
    np.testing.assert_array_equal(plain(x)[0], cold(x)[0])
    # an instruction program that is found in the cache, not a whole network
    again = glow.compile(
        small_network(2), symbols=SYMBOLS, threads=threads, cache=tmp_path, timed=True
    )
    assert "kernels" not in again.times
    check(again.profile(x, repeat=2), threads, 2, len(instructions(again)))


def test_code_for_aarch64_reads_its_virtual_counter():
    backend = CpuBackend(cache=False, target_triple="aarch64-unknown-linux-gnu", timed=True)
    stages = Stages(graph(), backend.stages())
    found = 0
    for code in backend.objects(stages):
        words = np.frombuffer(code[: len(code) // 4 * 4], np.uint32)
        # mrs Xt, CNTVCT_EL0, where the register t is the lowest five bits
        found += int((words & 0xFFFFFFE0 == 0xD53BE040).sum())
    assert found == 2 * sum(isinstance(op, Instruction) for op in stages["allocated"].walk())


# calls


@pytest.mark.parametrize("threads", THREADS)
def test_profiles_and_calls_from_several_python_threads(threads: int, rng: np.random.Generator):
    model = timed(threads)
    x, count = image(rng), len(instructions(model))
    expected = model(x)

    def call(number: int) -> None:
        if number % 3 == 2:
            np.testing.assert_array_equal(model(x)[0], expected[0])
        else:
            check(model.profile(x, repeat=20), threads, 20, count)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(call, range(9)))


def test_a_network_without_instructions():
    text = """
    func.func @main(%x: tensor<0x3xf32>) -> tensor<0x3xf32> {
      %y = glow.relu %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
      func.return %y : tensor<0x3xf32>
    }"""
    model = glow.compile(graph(text), timed=True, cache=False)
    profile = model.profile(np.empty((0, 3), np.float32), repeat=2)
    assert len(profile.instructions) == len(instructions(model))
    assert profile.seconds > 0


def test_errors(rng: np.random.Generator):
    x = image(rng)
    plain = glow.compile(small_network(1), symbols=SYMBOLS)
    with pytest.raises(glow.GlowError, match="records no times: compile it with timed=True"):
        plain.profile(x)
    interpreter = glow.compile(small_network(1), "interpreter", symbols=SYMBOLS)
    with pytest.raises(glow.GlowError, match="interpreter measures no times of instructions"):
        interpreter.profile(x)
    with pytest.raises(glow.GlowError, match="timed is an option of the backend cpu"):
        glow.compile(small_network(1), "interpreter", symbols=SYMBOLS, timed=True)
    model = timed()
    with pytest.raises(glow.GlowError, match="repeat to be at least 1, found 0"):
        model.profile(x, repeat=0)
    with pytest.raises(glow.InputError, match="missing input 'image'"):
        model.profile()


# the clock, and traces


def test_a_counter_that_stands_still_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clock, "counter", lambda: lambda: 7)
    monkeypatch.setattr(clock, "LEAST_SECONDS", 0.0)
    with pytest.raises(glow.GlowError, match="counter does not count"):
        Clock().step()


def test_the_clock_compares_the_counter_with_seconds(monkeypatch: pytest.MonkeyPatch):
    """A counter of nanoseconds, which an operating system has."""
    monkeypatch.setattr(clock, "counter", lambda: clock.time.perf_counter_ns)
    assert Clock().step() == pytest.approx(1e-9, rel=0.01)


def slices(trace: dict, track: int) -> Sequence[dict]:
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e["tid"] == track]


@pytest.mark.parametrize("threads", THREADS)
def test_a_trace_has_each_instruction_of_each_thread_once(
    threads: int, tmp_path: Path, rng: np.random.Generator
):
    profile = timed(threads).profile(image(rng), repeat=3)
    profile.write_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    run, *first = slices(trace, 0)
    assert run["name"] == "run"
    assert run["dur"] == pytest.approx(profile.typical_run().seconds * 1e6, abs=1e-5)
    for thread in range(threads):
        found = first if thread == 0 else slices(trace, thread)
        shown = [e for e in found if e["name"] != "waiting"]
        assert [e["args"]["number"] for e in shown] == list(range(len(profile.instructions)))
        assert [e["args"]["kind"] for e in shown] == [i.kind for i in profile.instructions]
        for before, after in pairwise(found):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-5
        assert found[-1]["ts"] + found[-1]["dur"] <= run["dur"] + 1e-5
