"""
Commands on the buffers that layers of several kinds share: pieces in rings, padded inputs, tensors
of 8 bits in accumulators, and operations on accumulators.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from ...glow_dialects.vta import AluOpcode, VtaConfig, VtaMemory
from ...glow_dialects.vta.grid import Dim
from .layers import parts
from .memory_map import MemoryMap
from .micro_ops import Axis, MicroOps
from .regions import Dram, Move, moves
from .stream import BufferSpan, Stream

_ZEROS = 16
"""Activations of a constant of zeros, which rows repeat."""
_IDENTITY = "identity"


class Ring:
    """A buffer that holds as many pieces of one size as fit."""

    def __init__(self, memory: VtaMemory, depth: int, size: int):
        self.memory = memory
        self.size = size
        self._room = depth // max(size, 1)
        self._next = 0
        self._held: dict[Hashable, int] = {}

    def find(self, key: Hashable) -> tuple[int, bool]:
        """
        Returns the place of a piece, or the place that it is to be loaded to, and whether it is
        there.
        """
        found = self._held.get(key)
        if found is not None:
            return found, True
        place = self._next * self.size
        self._next = (self._next + 1) % self._room
        self._held = {k: p for k, p in self._held.items() if p != place}
        self._held[key] = place
        return place, False


class Bytes:
    """
    Loads of 8-bit tensors into accumulators: loads that widen them or, if the design has none,
    products by the identity.
    """

    def __init__(
        self,
        stream: Stream,
        micro_ops: MicroOps,
        memory: MemoryMap,
        inputs: Ring,
        weights: Ring,
    ):
        """Products take pieces of `inputs`, which must hold a tile, and of `weights`."""
        self._stream = stream
        self._micro_ops = micro_ops
        self._memory = memory
        self._inputs = inputs
        self._weights = weights

    def fetch(self, source: Dram, first: int, dims: Sequence[Dim], span: BufferSpan) -> None:
        """Loads a part of a tensor, from element `first` on, into the accumulators `span`."""
        stream, config = self._stream, self._stream.config
        if config.capabilities.loads_bytes:
            for offset, move in moves(first, dims, config):
                stream.load(VtaMemory.ACC_8BIT, span.begin + offset, source, move)
            return
        count = span.end - span.begin
        place, is_there = self._inputs.find((source, first, tuple(dims)))
        if not is_there:
            for offset, move in moves(first, dims, config):
                stream.load(VtaMemory.INP, place + offset, source, move)
        identity, is_there = self._weights.find(_IDENTITY)
        if not is_there:
            stream.load(VtaMemory.WGT, identity, self._memory.identity(), Move(0, 1, 1, 1))
        reset(stream, self._micro_ops, span)
        read = (
            BufferSpan(VtaMemory.INP, place, place + count),
            BufferSpan(VtaMemory.WGT, identity, identity + 1),
        )
        axes = [axis._replace(src=axis.dst) for axis in _run(span, config)]
        for uops, loops in self._micro_ops.loops(axes, (span.begin, place, identity)):
            stream.gemm(uops, loops, span, read)


class Clipped(NamedTuple):
    """The inputs of a tile in one dimension."""

    first: int
    """The first that is not padding."""
    size: int
    """The number of elements that are not padding."""
    before: int
    behind: int

    @property
    def reach(self) -> int:
        return self.before + self.size + self.behind

    @property
    def is_padded(self) -> bool:
        return self.before > 0 or self.behind > 0


def clipped(window: Any, first: int, outputs: int, size: int) -> Clipped:
    """Returns the part of `size` inputs that a number of outputs needs."""
    begin, reach = window.first(first), window.reach(outputs)
    low = min(max(begin, 0), size)
    high = max(min(begin + reach, size), low)
    count = high - low
    before = min(max(-begin, 0), reach - count) if count else reach
    return Clipped(low if count else 0, count, before, reach - count - before)


def load_padded(
    stream: Stream,
    memory: MemoryMap,
    place: int,
    dram: Dram,
    first: int,
    dims: tuple[Dim, Dim],
    inputs: tuple[Clipped, Clipped],
) -> None:
    """Loads rows and columns of one block of inputs, with zeros around them."""
    (row, column), (rows, columns), c = dims, inputs, stream.config
    pads = (rows.before, rows.behind, columns.before, columns.behind)
    simple = rows.size and columns.size and column.stride == 1 and max(pads) < 1 << c.pad_bits
    if simple and max(row.stride, rows.size) < 1 << min(c.stride_bits, c.size_bits):
        move = Move(first, rows.size, columns.size, row.stride)
        stream.load(VtaMemory.INP, place, dram, move, pads)
        return
    # the fields cannot hold so many: zeros everywhere, and then the rows
    _load_zeros(stream, memory, place, rows.reach * columns.reach, dram)
    if not columns.size:
        return
    for n in range(rows.size):
        begin = place + (rows.before + n) * columns.reach + columns.before
        for offset, move in moves(first + n * row.stride, [column], c):
            stream.load(VtaMemory.INP, begin + offset, dram, move)


def _load_zeros(stream: Stream, memory: MemoryMap, place: int, count: int, dram: Dram) -> None:
    """
    Loads zeros into activations: the padding around no rows of `dram`, or zeros that DRAM holds for
    that.
    """
    c = stream.config
    if c.capabilities.loads_padding_alone:
        for start, size in parts(count, min((1 << c.size_bits) - 1, dram.elements)):
            stream.load(VtaMemory.INP, place + start, dram, Move(0, 0, size, size), (1, 0, 0, 0))
        return
    zeros = memory.zeros(_ZEROS)
    most = _ZEROS * ((1 << c.size_bits) - 1)
    for start, size in parts(count, most):
        # rows that are all the same
        whole = size // _ZEROS * _ZEROS
        if whole:
            stream.load(VtaMemory.INP, place + start, zeros, Move(0, whole // _ZEROS, _ZEROS, 0))
        if size > whole:
            rest = size - whole
            stream.load(VtaMemory.INP, place + start + whole, zeros, Move(0, 1, rest, rest))


def reset(stream: Stream, micro_ops: MicroOps, span: BufferSpan) -> None:
    """Sets accumulators to zero."""
    for uops, loops in micro_ops.loops([*_run(span, stream.config)], (span.begin, 0, 0)):
        stream.gemm(uops, loops, span, reset=True)


def _run(span: BufferSpan, config: VtaConfig) -> Sequence[Axis]:
    """
    Returns the axis of consecutive accumulators; two axes if there are more than a loop can count.
    """
    count, most = span.end - span.begin, (1 << config.loop_bits) - 1
    inner = next(n for n in range(min(count, most), 0, -1) if count % n == 0)
    return Axis(count // inner, inner), Axis(inner, 1)


def alu(
    stream: Stream,
    micro_ops: MicroOps,
    opcode: AluOpcode,
    axes: Sequence[Axis],
    span: BufferSpan,
    operand: BufferSpan | int,
) -> None:
    """Combines the accumulators of `span` with a number, or with those of another span."""
    source = span.begin if isinstance(operand, int) else operand.begin
    if isinstance(operand, int):
        # the source is not read; the same micro-op as that of the destination serves
        axes, source = [axis._replace(src=0) for axis in axes], 0
    for uops, loops in micro_ops.loops(axes, (span.begin, source, 0)):
        stream.alu(opcode, uops, loops, span, operand)
