"""
Programs of the CPU backend, linked into this process.

A program is one C function over base addresses: the weight segment, which is filled once and
shared by all runs; an array of the addresses of inputs and outputs; and an arena for the
activations of one run.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from ctypes import addressof, c_char
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..interface.program import ProgramMemory
from .output_memory import OutputMemory
from .segment_file import PAGE

if TYPE_CHECKING:
    from ..interface.signature import Signature
    from .program_plan import LinkPlan

Addresses: TypeAlias = "ctypes.Array[ctypes.c_void_p]"
ALIGNMENT = 64
"""Bytes. The weight segment and the arena start at a multiple of this."""
_LARGE_PAGE = 2 << 20
"""Bytes, on x86-64 and AArch64."""
_LEAST_LARGE = 4 << 20
"""Bytes of an array from which on numpy asks for large pages."""
_char_at = c_char.from_buffer
"""Makes an object at the first byte of a buffer, which is the quickest way to its address."""


class CpuProgram:
    """
    A linked program with its weights. Runs at the same time in several threads use an arena each.
    """

    def __init__(
        self,
        run: Callable[[int, Addresses, int], None],
        weights: np.ndarray,
        weights_key: str,
        plan: LinkPlan,
        signature: Signature,
    ):
        self.weights = weights
        """The weight segment, as uint8. Other programs may share it."""
        self.weights_key = weights_key
        """The key of its content (`weight_segments.segment_key`)."""
        self.plan = plan
        self._run = run
        self._weights_address = address_of(weights)
        forms = [(tuple(info.shape), info.memory_dtype) for info in signature.outputs]
        self._outputs = OutputMemory(forms)
        self._states = signature.states
        self._idle: list[_Workspace] = []
        """The workspaces that no run uses now. Appending to and popping from a list are atomic."""

    def __repr__(self) -> str:
        return (
            f"<CpuProgram: {self.weights.nbytes} bytes of weights, "
            f"{self.plan.arena_bytes} of activations>"
        )

    @property
    def memory(self) -> ProgramMemory:
        """The weight segment, and one arena."""
        return ProgramMemory(self.weights.nbytes, self.plan.arena_bytes)

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        outputs = self._outputs.arrays()
        self.run_into(inputs, outputs)
        return outputs

    def run_into(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Runs the program; see `glow.interface.program.InPlaceProgram`."""
        space = self._prepare(inputs, outputs)
        try:
            self._run(self._weights_address, space.io, space.address)
        finally:
            self._idle.append(space)

    def run_timed(
        self, inputs: Sequence[np.ndarray], shape: Sequence[int]
    ) -> tuple[int, np.ndarray, int]:
        """
        Runs a program that `lowering.instrument_kernels` has changed, on inputs as for `run`: the
        processor's counter at the call, the records (i64 of that `shape`), and the counter in the
        end.
        """
        # only programs that record times need the lowering that this imports
        from .clock import counter

        read = counter()
        outputs = self._outputs.arrays()  # the program writes them: they must live on
        space = self._prepare(inputs, outputs)
        try:
            begin = read()
            self._run(self._weights_address, space.io, space.address)
            end = read()
            start = self.plan.arena_bytes - 8 * prod(shape)
            records = space.arena[start:].view(np.int64).reshape(shape).copy()
        finally:
            self._idle.append(space)
        return begin, records, end

    def _prepare(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> _Workspace:
        """Returns a workspace that has the addresses of inputs and outputs."""
        # After each run, this code and its data are in no near cache, so it costs several times as
        # much as it seems to.
        arrays = (*inputs, *outputs) if not self._states else self._arguments(inputs, outputs)
        try:
            space = self._idle.pop()
        except IndexError:
            space = _Workspace(self.plan.arena_bytes, len(arrays))
        space.io[:] = [address_of(array) for array in arrays]
        return space

    def _arguments(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Returns the arrays of all arguments: a state is one for its input and its output."""
        given = list(inputs)
        for i, o in self._states.items():
            if outputs[o] is not inputs[i]:
                np.copyto(outputs[o], inputs[i])
            given[i] = outputs[o]
        kept = self._states.values()
        return [*given, *(array for o, array in enumerate(outputs) if o not in kept)]


class _Workspace:
    """The memory that a run needs for itself."""

    def __init__(self, size: int, arguments: int):
        self.arena = aligned_bytes(size)
        self.address = address_of(self.arena)
        self.io: Addresses = (ctypes.c_void_p * arguments)()
        """The addresses of inputs and outputs."""


def aligned_bytes(size: int) -> np.ndarray:
    """
    Returns uninitialized uint8[size] whose first byte is at a multiple of `ALIGNMENT`. A large
    array begins at a large page, so that all of it can be in large pages, which numpy asks the
    system for.
    """
    alignment = _LARGE_PAGE if size >= _LEAST_LARGE else ALIGNMENT
    raw = np.empty(size + -size % alignment + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + size]


def mapped_bytes(mapped: mmap.mmap) -> np.ndarray:
    """Returns the weight segment in a file that is mapped, as uint8[size], read-only."""
    return np.frombuffer(mapped, np.uint8)[PAGE:]


def address_of(array: np.ndarray) -> int:
    """Returns the address of the first element of a C-contiguous array."""
    try:
        return addressof(_char_at(array))  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):  # read-only, of no elements, or of a type without buffers
        return array.ctypes.data
