"""Programs on several threads: calls, forks, ends, and what idle threads cost."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.benchmarks.networks import network_file
from glow.context import make_context
from glow.lowering.threads import module_text
from glow.runtime import teams
from glow.tests.support.seeds import numbered
from glow.tests.unit.runtime.team_checks import (
    BARRIERS,
    GRAPH,
    check_same,
    executable_of,
    graph,
    in_child,
    inputs,
)
from glow.tools.glow_run import main as glow_run
from xdsl.parser import Parser

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers sleep on Linux only")


@pytest.fixture(scope="module")
def single() -> glow.CompiledModel:
    return glow.compile(graph(), cache=False)


@pytest.fixture(scope="module")
def double() -> glow.CompiledModel:
    return glow.compile(graph(), threads=2, cache=False)


@pytest.mark.parametrize("threads", [2, 3, 2 * (os.cpu_count() or 1) + 3])
def test_results_do_not_depend_on_threads(threads: int, single: glow.CompiledModel):
    """The last number is more threads than there are processors."""
    model = glow.compile(graph(), threads=threads, cache=False)
    for seed in range(20):
        check_same(model, single, seed)


def test_the_cache_keeps_programs_apart_by_threads(tmp_path: Path, single: glow.CompiledModel):
    for threads in (1, 2, 3, 2):
        model = glow.compile(graph(), threads=threads, cache=tmp_path)
        check_same(model, single, threads)


def test_pinned_workers(single: glow.CompiledModel):
    model = glow.compile(graph(), threads=2, pin=True, cache=False)
    check_same(model, single, 1)
    masks = [os.sched_getaffinity(int(t)) for t in os.listdir("/proc/self/task")]
    assert any(len(m) == 1 for m in masks)


def test_calls_from_several_python_threads(double, single):
    wanted = [single(*inputs(seed))[0] for seed in range(8)]

    def call(number: int) -> bool:
        seed = number % 8
        return np.array_equal(double(*inputs(seed))[0], wanted[seed])

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(200)))


def test_teams_take_turns_on_the_processors(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(teams, "_cpus", lambda: [0, 1, 2, 3, 4])
    pool = teams.TeamPool(2, pin=False)
    present, most = 0, 0
    lock, both = threading.Lock(), threading.Barrier(2)

    class FakeTeam(teams.Team):
        def __init__(self, threads: int, cpus: list[int]):
            pass

        def run(self, entry: int, weights: int, io: object, arena: int) -> None:
            nonlocal present, most
            with lock:
                present += 1
                most = max(most, present)
            both.wait(60)
            with lock:
                present -= 1

        def end(self) -> None:
            pass

    monkeypatch.setattr(teams, "Team", FakeTeam)
    with ThreadPoolExecutor(6) as callers:
        for future in [callers.submit(pool.run, 0, 0, None, 0) for _ in range(12)]:
            future.result(60)
    assert most == 2
    pool.close()
    both.reset()


def test_a_thread_that_cannot_be_started_is_an_error(
    monkeypatch: pytest.MonkeyPatch, single: glow.CompiledModel
):
    # a number of threads of which no other test leaves idle teams
    model = glow.compile(graph(), threads=11, cache=False)
    real, started = teams._libc(), []

    class Libc:
        def __getattr__(self, name: str):
            return getattr(real, name)

        def pthread_create(self, *args: object) -> int:
            started.append(args)
            return errno.EAGAIN if len(started) == 3 else real.pthread_create(*args)

    with monkeypatch.context() as patch:
        patch.setattr(teams, "_libc", Libc)
        with pytest.raises(glow.GlowError, match="cannot start a thread: "):
            model(*inputs(0))
    check_same(model, single, 0)


@pytest.mark.parametrize("threads", [2, 3, 9])
def test_barriers(threads: int):
    """Between two barriers, all threads have counted the same number of rounds."""
    rounds = 20_000 // threads**2
    text = BARRIERS.replace("ROUNDS", str(rounds)).replace("THREADS", str(threads))
    run = teams.ParallelExecutable(executable_of(text), threads, pin=False)
    counts, wrong = np.zeros(64, np.int64), np.zeros(64, np.int64)
    none = (ctypes.c_void_p * 0)()
    for _ in range(3):
        run(counts.ctypes.data, none, wrong.ctypes.data)
    assert not wrong.any()
    assert (counts[:threads] == 3 * rounds).all()


TICKETS = """
func.func private @glow_next(!llvm.ptr, index, index) -> index
func.func @main(%thread: index, %team: !llvm.ptr, %done: memref<4096xi64>, %who: memref<4096xi64>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %single = arith.constant 1 : i64
  %pieces = arith.constant PIECES : index
  %most = arith.constant 64 : index
  %me = arith.index_cast %thread : index to i64
  scf.for %i = %zero to %pieces step %one {
    %n = arith.addi %i, %one : index
    %base = arith.muli %i, %most : index
    %first = func.call @glow_next(%team, %thread, %n) : (!llvm.ptr, index, index) -> index
    %last = scf.for %j = %zero to %n step %one iter_args(%portion = %first) -> (index) {
      %more = arith.cmpi ult, %portion, %n : index
      %next = scf.if %more -> (index) {
        %at = arith.addi %base, %portion : index
        %before = memref.load %done[%at] : memref<4096xi64>
        %after = arith.addi %before, %single : i64
        memref.store %after, %done[%at] : memref<4096xi64>
        memref.store %me, %who[%at] : memref<4096xi64>
        %new = func.call @glow_next(%team, %thread, %n) : (!llvm.ptr, index, index) -> index
        scf.yield %new : index
      } else {
        scf.yield %portion : index
      }
      scf.yield %next : index
    }
  }
  func.return
}
"""


@pytest.mark.parametrize("threads", [2, 3, 9])
def test_each_portion_of_work_is_done_once(threads: int):
    """Pieces of 1, 2, 3, ... portions, without barriers between them, in several calls."""
    pieces = 50
    executable = executable_of(TICKETS.replace("PIECES", str(pieces)))
    run = teams.ParallelExecutable(executable, threads, pin=False)
    done, who = np.zeros(4096, np.int64), np.zeros(4096, np.int64)
    none = (ctypes.c_void_p * 0)()
    for _ in range(20):
        run(done.ctypes.data, none, who.ctypes.data)
    counts = done.reshape(64, 64)
    for i in range(pieces):
        assert counts[i].tolist() == [20] * (i + 1) + [0] * (63 - i)
    assert who.max() < threads


@pytest.mark.parametrize("name", ["shufflenet"])
def test_networks(name: str, tmp_path: Path):
    file = network_file(name, tmp_path)
    single, several = (glow.compile(file, threads=n, cache=False) for n in (1, 3))
    rng = numbered(1)
    arrays = [rng.standard_normal(i.shape, dtype=np.float32) for i in single.get_inputs()]
    for want, have in zip(single(*arrays), several(*arrays), strict=True):
        np.testing.assert_array_equal(have, want)


def test_glow_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "graph.mlir"
    file.write_text(GRAPH, encoding="utf-8")
    arguments = [str(file), "--threads=2", "--repeat=3", "--no-cache", "--compare=interpreter"]
    assert glow_run([*arguments, "--tolerance=1e-5"]) == 0
    assert glow_run([str(file), "--threads=0"]) == 1
    assert "at least 1" in capsys.readouterr().err


# forks


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_between_calls(double: glow.CompiledModel, single: glow.CompiledModel):
    arrays = inputs(5)
    wanted = single(*arrays)[0]
    assert np.array_equal(double(*arrays)[0], wanted)
    assert in_child(lambda: all(np.array_equal(double(*arrays)[0], wanted) for _ in range(3)))
    assert np.array_equal(double(*arrays)[0], wanted)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_during_calls(double: glow.CompiledModel, single: glow.CompiledModel):
    arrays = inputs(6)
    wanted = single(*arrays)[0]
    stop, wrong = threading.Event(), []

    def keep_calling() -> None:
        while not stop.is_set():
            if not np.array_equal(double(*arrays)[0], wanted):
                wrong.append(1)

    callers = [threading.Thread(target=keep_calling) for _ in range(2)]
    for caller in callers:
        caller.start()
    try:
        for _ in range(5):
            assert in_child(lambda: np.array_equal(double(*arrays)[0], wanted))
    finally:
        stop.set()
        for caller in callers:
            caller.join()
    assert not wrong


# idle workers and the end


def test_idle_workers_sleep(double: glow.CompiledModel):
    for _ in range(5):
        double(*inputs(0))
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(1.0)
    # one worker that spun would use a second
    assert time.process_time() - before < 0.3


ENDS = {
    "after a call": "model(*arrays)",
    "without a call": "",
    "by an exception": "model(*arrays); raise SystemExit(0)",
    "with a model as a global of another module": "sys.model = model; model(*arrays)",
    "while a daemon thread calls": """
def forever():
    while True:
        model(*arrays)

threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
""",
    "with calls at exit": "model(*arrays)\natexit.register(lambda: model(*arrays))",
    "with calls after workers ended": "atexit.register(lambda: model(*arrays))\nmodel(*arrays)",
}
PREAMBLE = """
import atexit, sys, threading, time
import numpy as np
"""


@pytest.fixture(scope="module")
def cache_of_ends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a cache for the processes that end, of which the first one compiles."""
    return tmp_path_factory.mktemp("ends")


@pytest.mark.parametrize("end", ENDS)
def test_the_interpreter_ends(end: str, tmp_path: Path, cache_of_ends: Path):
    file = tmp_path / "graph.mlir"
    file.write_text(GRAPH, encoding="utf-8")
    early = ENDS[end] if end.startswith("with calls after") else ""
    late = "model(*arrays)" if early else ENDS[end]
    script = f"""{PREAMBLE}
if {bool(early)}:
    atexit.register(lambda: model(*arrays))
import glow
model = glow.compile({str(file)!r}, threads=3, cache={str(cache_of_ends)!r})
arrays = [np.ones(i.shape, i.dtype) for i in model.get_inputs()]
{late}
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# platforms


@pytest.mark.parametrize("triple", ["x86_64-apple-darwin", "riscv64-unknown-linux-gnu"])
def test_platforms_without_support_are_named(triple: str):
    with pytest.raises(glow.GlowError, match=rf"1 thread on {triple}"):
        module_text(triple)


@pytest.mark.parametrize("triple", ["x86_64-pc-linux-gnu", "aarch64-unknown-linux-gnu"])
def test_the_code_of_workers_is_the_llvm_dialect(triple: str):
    module = Parser(make_context(), module_text(triple)).parse_module()
    module.verify()
    assert "futex" not in str(module.body.block.first_op)
