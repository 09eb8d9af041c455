"""Calls that a signal interrupts by an exception, as Ctrl-C does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest
from glow.runtime import teams

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers sleep on Linux only")


class Interrupted(Exception):
    pass


class FakeTeam(teams.Team):
    def __init__(self, threads: int, cpus: list[int]):
        pass

    def run(self, entry: int, weights: int, io: object, arena: int) -> None:
        pass

    def end(self) -> None:
        pass


def interrupted(work: Callable[[], object], moment: int) -> bool:
    """
    Returns whether an exception came before `work` ended: at the `moment`-th begin or end of a call
    in it, which is where Python lets the handlers of signals run.
    """
    left = moment

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal left
        left -= event in ("call", "return", "c_return")
        if left < 0:
            raise Interrupted

    sys.setprofile(count)
    try:
        work()
    except Interrupted:
        return True
    finally:
        sys.setprofile(None)
    return False


def test_calls_go_on_after_interrupts(monkeypatch: pytest.MonkeyPatch):
    """Whenever it comes, teams are neither lost nor used twice, and other threads can call."""
    monkeypatch.setattr(teams, "Team", FakeTeam)
    pool = teams.TeamPool(1000, pin=False)

    def call() -> None:
        pool.run(0, 0, None, 0)

    moment = 0
    while interrupted(call, moment):
        other = threading.Thread(target=call, daemon=True)
        other.start()
        other.join(30)
        assert not other.is_alive()
        assert len(pool._idle) == len(pool._numbers) == 1
        moment += 1
    assert moment > 10


def test_a_call_that_nobody_told_looks_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(teams, "Team", FakeTeam)
    pool = teams.TeamPool(1000, pin=False)
    taken: dict[teams.Team, None] = {}
    pool._take(taken)
    waiting = threading.Thread(target=pool.run, args=(0, 0, None, 0), daemon=True)
    waiting.start()
    pool._idle |= taken
    waiting.join(30)
    assert not waiting.is_alive()
    pool.close()
    assert not pool._numbers
