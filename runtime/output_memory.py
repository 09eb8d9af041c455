"""Memory of the outputs of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from sys import getrefcount
from weakref import ref

import numpy as np
from numpy import empty

_LEAST_KEPT = 1 << 17
"""Bytes of an array whose memory the allocator may return to the system when it is freed."""


class OutputMemory:
    """
    Makes arrays for the outputs of a program. The memory of large ones is used again once nobody
    else has the array or a view of it, since new memory costs several times as much as what is
    written to it: the system clears each page first. Of all programs with large outputs, the one
    that ran last keeps arrays, so that those of specializations do not add up.
    """

    def __init__(self, forms: Sequence[tuple[tuple[int, ...], np.dtype]]):
        self._forms = [(*form, _pool(*form)) for form in forms]
        self._pools = [pool for *_, pool in self._forms if pool is not None]

    def arrays(self) -> list[np.ndarray]:
        """Returns an uninitialized array for each output."""
        if self._pools and _keeper() is not self:
            _keep_for(self)
        return [
            empty(shape, dtype) if pool is None else _array(pool, shape, dtype)
            for shape, dtype, pool in self._forms
        ]

    def forget(self) -> None:
        """Keeps no array any more."""
        for pool in self._pools:
            pool.clear()


def _nobody() -> OutputMemory | None:
    return None


_keeper: Callable[[], OutputMemory | None] = _nobody
"""Returns the one that keeps arrays, if it is still there."""


def _keep_for(memory: OutputMemory) -> None:
    """Lets one keep arrays instead of the one that does."""
    global _keeper
    before, _keeper = _keeper(), ref(memory)
    if before is not None:
        before.forget()


def _pool(shape: tuple[int, ...], dtype: np.dtype) -> list[np.ndarray] | None:
    """Returns an empty list for arrays that were made before; None for those that are small."""
    return [] if prod(shape) * dtype.itemsize >= _LEAST_KEPT else None


def _array(pool: list[np.ndarray], shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Returns an array of the pool if nobody else has it, else a new one, which it adds."""
    # another thread may take the last one meanwhile; a pop is atomic
    try:
        found = pool.pop()
    except IndexError:
        found = None
    if found is None or getrefcount(found) > _ALONE:
        found = empty(shape, dtype)
    pool.append(found)
    return found


def _references(pool: list[np.ndarray]) -> int:
    """Returns the count of references to an array that `_array` alone has."""
    found = pool.pop()
    return getrefcount(found)


_ALONE = _references([empty(0)])
