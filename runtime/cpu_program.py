"""
Programs of the CPU backend, linked into this process.

A program is one C function over base addresses: the weight segment, which is filled once and
shared by all runs; an array of the addresses of inputs and outputs; and an arena for the
activations of one run.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from ..backend import ProgramMemory

if TYPE_CHECKING:
    import numpy as np

    from .program_plan import LinkPlan
    from .signature import TensorInfo

Addresses: TypeAlias = "ctypes.Array[ctypes.c_void_p]"
ALIGNMENT = 64
"""Bytes. The weight segment and the arena start at a multiple of this."""


class CpuProgram:
    """
    A linked program with its weights. Runs at the same time in several threads use an arena each.
    """

    def __init__(
        self,
        run: Callable[[int, Addresses, int], None],
        weights: np.ndarray,
        plan: LinkPlan,
        outputs: Sequence[TensorInfo],
    ):
        self.weights = weights
        """The weight segment, as uint8."""
        self.plan = plan
        self._run = run
        self._outputs = outputs
        self._arenas: list[np.ndarray] = []
        """Arenas that no run uses now. Appending to and popping from a list are atomic."""

    @property
    def memory(self) -> ProgramMemory:
        """The weight segment, and one arena."""
        return ProgramMemory(self.weights.nbytes, self.plan.arena_bytes)

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        import numpy as np

        outputs = [np.empty(info.shape, info.dtype) for info in self._outputs]
        io = _addresses((*inputs, *outputs))
        with self._arena() as arena:
            self._run(self.weights.ctypes.data, io, arena.ctypes.data)
        return outputs

    def run_timed(
        self, inputs: Sequence[np.ndarray], shape: Sequence[int]
    ) -> tuple[int, np.ndarray, int]:
        """
        Run a program that `lowering.time_kernels` has changed, on inputs as for `run`: the
        processor's counter at the call, the records (i64 of that `shape`), and the counter in the
        end.
        """
        import numpy as np

        from .clock import counter

        read = counter()
        outputs = [np.empty(info.shape, info.dtype) for info in self._outputs]
        io = _addresses((*inputs, *outputs))
        with self._arena() as arena:
            begin = read()
            self._run(self.weights.ctypes.data, io, arena.ctypes.data)
            end = read()
            start = self.plan.arena_bytes - 8 * prod(shape)
            records = arena[start:].view(np.int64).reshape(shape).copy()
        return begin, records, end

    @contextmanager
    def _arena(self) -> Iterator[np.ndarray]:
        """An arena for one run."""
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = aligned_bytes(self.plan.arena_bytes)
        try:
            yield arena
        finally:
            self._arenas.append(arena)


def aligned_bytes(size: int) -> np.ndarray:
    """Uninitialized uint8[size] whose first byte is at a multiple of `ALIGNMENT`."""
    import numpy as np

    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


def mapped_bytes(mapped: mmap.mmap) -> np.ndarray:
    """The weight segment in a file that is mapped, as uint8[size], read-only."""
    import numpy as np

    from .segment_file import PAGE

    return np.frombuffer(mapped, np.uint8)[PAGE:]


def _addresses(arrays: Iterable[np.ndarray]) -> Addresses:
    addresses = [a.ctypes.data for a in arrays]
    return (ctypes.c_void_p * len(addresses))(*addresses)
