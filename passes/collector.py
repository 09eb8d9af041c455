"""Python's collector of cycles, which compilation is faster without."""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager

from .scoped_setting import ScopedSetting


def _disable() -> bool:
    enabled = gc.isenabled()
    gc.disable()
    return enabled


def _restore(enabled: bool) -> None:
    if enabled:
        gc.enable()


_suspension = ScopedSetting(_disable, _restore)


def without_garbage_collection() -> AbstractContextManager[None]:
    """
    Suspends Python's garbage collector until the last thread that has asked for it is done.

    Compilation makes millions of objects that all stay alive; searching them for cycles costs 10-50
    %.
    """
    return _suspension.use()


_frozen_by_process = False
"""Whether the process has frozen objects itself. Counting these takes tens of milliseconds."""


def settle() -> None:
    """
    Makes all objects old, without a search: what was imported stays as long as the process, so a
    collection of young objects need not look at it. In a process that has frozen objects itself,
    which `unfreeze` would thaw too, it does nothing.
    """
    global _frozen_by_process
    _frozen_by_process = _frozen_by_process or gc.get_freeze_count() > 0
    if not _frozen_by_process:
        gc.freeze()
        gc.unfreeze()


def collect_young() -> None:
    """
    Collects the objects that were made since the last call, also while the collector is suspended.

    The IR of a kernel is in cycles. Right after its last use it is still in the CPU's cache, and
    its memory serves the next kernel; a search at the end of a compilation takes several times as
    long.
    """
    gc.collect(0)
