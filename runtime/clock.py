"""
The counter of the processor that timed programs read (`lowering.instrument_kernels`), and its rate.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import cache

from ..errors import GlowError
from ..lowering.instrument_kernels import COUNTER
from ..lowering.target import host_target
from .jit import Executable, compile_object

LEAST_SECONDS = 0.05
"""The least time for which the counter is compared with the clock: it keeps errors below 1e-4."""
_ENTRY = "glow_counter"
_READS = 5
"""The number of times that both are read together, to use the two readings that are closest."""


@cache
def _counter() -> tuple[object, Callable[[], int]]:
    """Returns the function that reads the counter, and its code, which must stay in memory."""
    text = f"""
declare i64 @{COUNTER}()
define i64 @{_ENTRY}() nounwind {{
  %count = call i64 @{COUNTER}()
  ret i64 %count
}}
"""
    target = host_target()
    executable = Executable([compile_object(text, target)], _ENTRY, target)
    return executable, ctypes.PYFUNCTYPE(ctypes.c_int64)(executable.address)


def counter() -> Callable[[], int]:
    """Returns a function that reads the counter of this processor."""
    return _counter()[1]


class Clock:
    """
    The duration of one step of the counter. Counter and clock are read now and when `step` is read.
    """

    def __init__(self):
        self._start = _moment()

    def step(self) -> float:
        """
        Returns seconds. Sleeps until there was enough time to measure that. Raises GlowError if the
        counter stands still, as it does where a program may not read it.
        """
        count, start = self._start
        time.sleep(max(0.0, start + LEAST_SECONDS - time.perf_counter()))
        now, end = _moment()
        if now <= count:
            raise GlowError("programs cannot be timed here: the processor's counter does not count")
        return (end - start) / (now - count)


def _moment() -> tuple[int, float]:
    """Returns the counter and `time.perf_counter` at the same time."""
    read = counter()
    found: list[tuple[int, int, float]] = []
    for _ in range(_READS):
        before = read()
        seconds = time.perf_counter()
        after = read()
        found.append((after - before, before + (after - before) // 2, seconds))
    _, count, seconds = min(found)
    return count, seconds
