"""A lock that a forked child can take."""

from __future__ import annotations

import os
import threading
from weakref import WeakSet


class ForkSafeLock:
    """
    A reentrant lock that is free in a forked child, if another thread held it.

    That thread does not exist in the child, which would wait for it forever. What the lock protects
    has to be usable between any two changes of it.
    """

    def __init__(self):
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def forked(self) -> None:
        """Frees the lock in a forked child, unless the thread that forked holds it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_locks: WeakSet[ForkSafeLock] = WeakSet()


def _free_all() -> None:
    for lock in list(_locks):
        lock.forked()


os.register_at_fork(after_in_child=_free_all)
