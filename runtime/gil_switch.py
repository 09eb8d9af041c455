"""Python's global lock (GIL): a shorter switch interval, and a lock for long work in Python."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager

from ..fork_safe_lock import ForkSafeLock
from ..passes.scoped_setting import ScopedSetting

SECONDS = 5e-5
"""The switch interval: how long a thread waits before it asks for the GIL. Python's own is 5 ms."""


python_lock = ForkSafeLock()
"""
A thread that compiles holds this lock while it runs Python for long. Two threads that always want
the GIL would take it from each other every few microseconds, and Python runs in one of them anyway.
"""


def _shorten() -> float:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SECONDS)
    return before


_shortening = ScopedSetting(_shorten, sys.setswitchinterval)


def short_gil_switch() -> AbstractContextManager[None]:
    """
    Shortens the switch interval of the GIL while the context is open.

    LLVM works without the GIL, but a thread needs the GIL for a moment between two calls of LLVM.
    While another thread runs Python all the time, it would wait 5 ms each time, longer than most
    calls.
    """
    return _shortening.use()
