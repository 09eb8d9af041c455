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
