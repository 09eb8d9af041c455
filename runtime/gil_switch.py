"""How threads take turns with Python's global lock: more often than usual, or for a while."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager

from ..passes.scoped_setting import ScopedSetting

SECONDS = 5e-5
"""How long a thread waits for the lock before it asks the one that has it; Python's own is 5 ms."""


class _Turn:
    """A reentrant lock that is free in a forked child, if another thread held it."""

    def __init__(self):
        self._lock = threading.RLock()
        os.register_at_fork(after_in_child=self._forked)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _forked(self) -> None:
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


python_turn = _Turn()
"""
Held by a thread that compiles, while it runs Python for long. Python runs in one thread at a time
anyway, and two that want it all the time would take it from each other every few microseconds.
"""


def _shorten() -> float:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SECONDS)
    return before


_shortening = ScopedSetting(_shorten, sys.setswitchinterval)


def short_gil_switch() -> AbstractContextManager[None]:
    """
    Let other threads have Python's global lock soon when they want it.

    LLVM works without the lock, but needs it for a moment between two calls. Beside a thread that
    runs Python all the time it would wait 5 ms each time, which is more than most calls take.
    """
    return _shortening.use()
