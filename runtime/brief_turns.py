"""How threads take turns with Python's global lock: more often than usual, or for a while."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 5e-5
"""How long a thread waits for the lock before it asks the one that has it; Python's own is 5 ms."""

python_turn = threading.RLock()
"""
Held by a thread that compiles, while it runs Python for long. Python runs in one thread at a time
anyway, and two that want it all the time would take it from each other every few microseconds.
"""
_lock = threading.Lock()
_users = 0
_before = 0.0


@contextmanager
def brief_turns() -> Iterator[None]:
    """
    Let other threads have Python's global lock soon when they want it.

    LLVM works without the lock, but needs it for a moment between two calls. Beside a thread that
    runs Python all the time it would wait 5 ms each time, which is more than most calls take.
    """
    global _users, _before
    with _lock:
        if not _users:
            _before = sys.getswitchinterval()
            sys.setswitchinterval(SECONDS)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                sys.setswitchinterval(_before)
