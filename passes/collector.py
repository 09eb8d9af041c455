"""Python's collector of cycles, which compilation is faster without."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_users = 0
_enabled = False


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """
    Suspend Python's collector of cycles, until the last thread that wanted that is done.

    Compilation makes millions of objects that all live; searching them for garbage costs 10-50 %.
    """
    global _users, _enabled
    with _lock:
        if not _users:
            _enabled = gc.isenabled()
            gc.disable()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users and _enabled:
                gc.enable()
