"""Python's collector of cycles, which compilation is faster without."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """
    Suspend Python's collector of cycles.

    Compilation makes millions of objects that all live; searching them for garbage costs 10-50 %.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
