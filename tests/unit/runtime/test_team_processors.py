"""Threads of a team on the processors of this machine: how long they wait, and which they use."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
import pytest
from glow.lowering.threads import LINE, LINE_LONG, LINE_PROCESSOR, LINE_SHORT, LINES
from glow.runtime import teams
from glow.tests.unit.runtime.team_checks import BARRIERS, executable_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers sleep on Linux only")

LATE = """
func.func private @glow_barrier(!llvm.ptr, index)
func.func private @glow_pauses(index)
func.func @main(%thread: index, %team: !llvm.ptr, %pauses: memref<1xi64>, %none: memref<1xi64>) {
  %zero = arith.constant 0 : index
  %number = memref.load %pauses[%zero] : memref<1xi64>
  %count = arith.index_cast %number : i64 to index
  %is_late = arith.cmpi ne, %thread, %zero : index
  scf.if %is_late {
    func.call @glow_pauses(%count) : (index) -> ()
  }
  func.call @glow_barrier(%team, %thread) : (!llvm.ptr, index) -> ()
  func.return
}
"""


@contextmanager
def team_on(monkeypatch: pytest.MonkeyPatch, cpus: list[int]) -> Generator[teams.Team]:
    """Gives a team of two, on given processors if any. It waits as if each had one of its own."""
    monkeypatch.setattr(teams, "_cpus", lambda: [0, 1])
    monkeypatch.setattr(teams, "cpu_quota", lambda: 2.0)
    before = os.sched_getaffinity(0)
    team = teams.Team(2, cpus)
    if cpus:
        os.sched_setaffinity(0, cpus[:1])
    try:
        yield team
    finally:
        os.sched_setaffinity(0, before)
        team.end()


def test_waits_are_short_after_one_in_vain(monkeypatch: pytest.MonkeyPatch):
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        pytest.skip("this process may use one processor only")
    executable = executable_of(LATE)
    pauses = np.array([0.2 / teams._pause_seconds()]).astype(np.int64)
    with team_on(monkeypatch, cpus) as team:
        short = team._block[LINES + LINE_SHORT :].view(np.int64)
        assert short[0] == 0
        for _ in range(2):
            team.run(executable.address, pauses.ctypes.data, (ctypes.c_void_p * 1)(), 0)
        assert 0 < short[0] < 1024
        assert team._block[LINES + LINE_LONG :].view(np.int64)[0] == 2


def test_threads_on_one_processor_do_not_spin(monkeypatch: pytest.MonkeyPatch):
    """Spinning would take the rest of a time slice, milliseconds, at each of 2,000 barriers."""
    monkeypatch.setattr(teams, "_SPIN_SECONDS", 0.05)
    monkeypatch.setattr(teams, "_IDLE_SECONDS", 0.05)
    cpu, rounds = min(os.sched_getaffinity(0)), 1000
    executable = executable_of(BARRIERS.replace("ROUNDS", str(rounds)).replace("THREADS", "2"))
    counts, wrong = np.zeros(64, np.int64), np.zeros(64, np.int64)
    none = (ctypes.c_void_p * 0)()
    with team_on(monkeypatch, [cpu, cpu]) as team:
        start = time.process_time()
        team.run(executable.address, counts.ctypes.data, none, wrong.ctypes.data)
        seconds = time.process_time() - start
        lines = team._block[LINES:].view(np.int32).reshape(2, LINE // 4)
        assert (lines[:, LINE_PROCESSOR // 4] == cpu + 1).all()
        assert (lines[:, LINE_LONG // 4] == 0).all()
    assert not wrong.any()
    assert (counts[:2] == rounds).all()
    assert seconds < 1


def test_workers_keep_off_the_processors_of_their_team(monkeypatch: pytest.MonkeyPatch):
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("this process may use one processor only")
    executable, none = executable_of(LATE), np.zeros(1, np.int64)
    first, second, *_ = before
    threads = set(os.listdir("/proc/self/task"))
    with team_on(monkeypatch, []) as team:
        (worker,) = (int(t) for t in set(os.listdir("/proc/self/task")) - threads)
        sleeps = team._block[LINES + LINE_LONG :].view(np.int64)

        def affinity_after_call(caller: int) -> set[int]:
            os.sched_setaffinity(0, {caller})
            # the second call, because the first one may come before the worker has started
            for _ in range(2):
                team.run(executable.address, none.ctypes.data, (ctypes.c_void_p * 1)(), 0)
            sleeps[0] = 0
            return os.sched_getaffinity(worker)

        assert affinity_after_call(first) == before - {first}
        assert affinity_after_call(second) == before - {second}
        # what others allow holds, even if it leaves nothing
        os.sched_setaffinity(worker, {second})
        assert affinity_after_call(second) == {second}
        assert affinity_after_call(first) == {second}
        os.sched_setaffinity(worker, {first, second})
        assert affinity_after_call(second) == {first}
        # other programs have the processors
        sleeps[0] = 3
        assert affinity_after_call(second) == {first, second}
        assert affinity_after_call(second) == {first}
