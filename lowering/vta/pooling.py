"""
Max pooling on the ALU.

The inputs of a tile are widened into the accumulators, without padding. Accumulators for the
results begin with the least number that occurs; then, for each place of the window, the inputs
there are taken into account, of those windows in which the place is not padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...errors import CompileError
from ...glow_dialects.vta import AluOpcode, Tiles, VtaConfig, VtaMemory
from ...glow_dialects.vta.grid import Dim, Window
from .commands import Bytes, Clipped, Ring, alu, clipped, reset
from .layers import Pooling, parts
from .memory_map import MemoryMap
from .micro_ops import Axis, MicroOps
from .regions import moves
from .stream import BufferSpan, Stream


class _Part(NamedTuple):
    """Outputs of a tile in one dimension, and their inputs."""

    first: int
    size: int
    inputs: Clipped


def emit_pooling(
    pool: Pooling, tiles: Tiles, stream: Stream, micro_ops: MicroOps, memory: MemoryMap
) -> None:
    """Emits the instructions of a pooling. Raises CompileError if a tile does not fit."""
    grid, c = pool.output.grid, stream.config
    blocks, rows, columns = tiles.blocks, tiles.rows, tiles.columns
    reached = _reach(pool.rows, rows) * _reach(pool.columns, columns)
    most = rows * columns + reached
    has_room = c.capabilities.loads_bytes or blocks * reached <= c.inp_depth
    if blocks * most > c.acc_depth or not has_room:
        raise CompileError(
            f"{pool.name}: expected tiles that fit into the buffers of {c}, found {tiles}"
        )
    ring = Ring(VtaMemory.ACC, c.acc_depth, blocks * most)
    inputs = Ring(VtaMemory.INP, c.inp_depth, blocks * reached)
    read = Bytes(stream, micro_ops, memory, inputs, Ring(VtaMemory.WGT, c.wgt_depth, 1))
    number = 0
    for image in range(grid.images.size):
        for block, count in parts(grid.blocks.size, blocks):
            for row in _parts(pool.rows, grid.rows.size, rows, pool.source.grid.rows.size):
                for column in _parts(
                    pool.columns, grid.columns.size, columns, pool.source.grid.columns.size
                ):
                    place, _ = ring.find(number)
                    number += 1
                    tile = _Tile(pool, stream, micro_ops, read, (image, block, count), row, column)
                    tile.emit(place)


def _reach(window: Window, outputs: int) -> int:
    return window.reach(outputs)


def _parts(window: Window, count: int, size: int, inputs: int) -> Iterator[_Part]:
    for first, outputs in parts(count, size):
        yield _Part(first, outputs, clipped(window, first, outputs, inputs))


class _Tile:
    def __init__(
        self,
        pool: Pooling,
        stream: Stream,
        micro_ops: MicroOps,
        read: Bytes,
        channels: tuple[int, int, int],
        row: _Part,
        column: _Part,
    ):
        self.pool, self.stream, self.micro_ops, self.read = pool, stream, micro_ops, read
        self.image, self.block, self.blocks = channels
        self.row, self.column = row, column
        self.config: VtaConfig = stream.config

    def emit(self, place: int) -> None:
        blocks, row, column = self.blocks, self.row, self.column
        outputs = BufferSpan(VtaMemory.ACC, place, place + blocks * row.size * column.size)
        size = blocks * row.inputs.size * column.inputs.size
        inputs = BufferSpan(VtaMemory.ACC, outputs.end, outputs.end + size)
        self._load(inputs)
        reset(self.stream, self.micro_ops, outputs)
        least = self.pool.least
        if least:
            axes = [Axis(outputs.end - outputs.begin, 1)]
            alu(self.stream, self.micro_ops, AluOpcode.ADD, axes, outputs, least)
        for y in range(self.pool.rows.kernel):
            for x in range(self.pool.columns.kernel):
                self._combine(y, x, outputs, inputs)
        self._store(outputs)

    def _load(self, inputs: BufferSpan) -> None:
        grid, row, column = self.pool.source.grid, self.row.inputs, self.column.inputs
        first = grid.first(self.image, self.block, row.first, column.first)
        dims = [
            Dim(self.blocks, grid.blocks.stride),
            Dim(row.size, grid.rows.stride),
            Dim(column.size, 1),
        ]
        if not row.size or not column.size:
            return
        self.read.fetch(self.pool.source.dram, first, dims, inputs)

    def _combine(self, y: int, x: int, outputs: BufferSpan, inputs: BufferSpan) -> None:
        """Combines the inputs at a place of the window with the outputs."""
        rows = _inside(self.pool.rows, self.row, y)
        columns = _inside(self.pool.columns, self.column, x)
        if not rows or not columns:
            return
        (top, source_top), (left, source_left) = rows[0], columns[0]
        wide, source_wide = self.column.size, self.column.inputs.size
        down, across = self.pool.rows.stride, self.pool.columns.stride
        axes = [
            Axis(self.blocks, self.row.size * wide, self.row.inputs.size * source_wide),
            Axis(len(rows), wide, down * source_wide),
            Axis(len(columns), 1, across),
        ]
        # micro-ops begin at the first window; the spans are those of the whole tile
        bases = (
            outputs.begin + top * wide + left,
            inputs.begin + source_top * source_wide + source_left,
            0,
        )
        for uops, loops in self.micro_ops.loops(axes, bases):
            self.stream.alu(AluOpcode.MAX, uops, loops, outputs, inputs)

    def _store(self, outputs: BufferSpan) -> None:
        grid = self.pool.output.grid
        first = grid.first(self.image, self.block, self.row.first, self.column.first)
        dims = [
            Dim(self.blocks, grid.blocks.stride),
            Dim(self.row.size, grid.rows.stride),
            Dim(self.column.size, 1),
        ]
        for offset, move in moves(first, dims, self.config):
            self.stream.store(outputs.begin + offset, self.pool.output.dram, move)


def _inside(window: Window, part: _Part, place: int) -> list[tuple[int, int]]:
    """
    Returns the outputs of a tile for which a place of the window is not padding, and their inputs.
    Both are counted from the first of the tile.
    """
    found = []
    for n in range(part.size):
        source = window.first(part.first + n) + place * window.dilation - part.inputs.first
        if 0 <= source < part.inputs.size:
            found.append((n, source))
    return found
