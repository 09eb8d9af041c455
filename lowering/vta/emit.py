"""
Layers as instructions.

Buffers are rings of pieces: a piece takes the place of the oldest one. A piece that is in the
buffer is not loaded again. Tokens follow from the reads and writes of instructions (`stream.py`).
With room for two pieces or more, the pieces of the next tile are loaded while this tile is
computed, and the results of the previous tile are stored: virtual threads, without a limit of two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...glow_dialects.vta import AluOpcode, Tiles, VtaConfig, VtaMemory
from ...glow_dialects.vta.grid import Dim, Grid
from .commands import Bytes, Ring, alu, clipped, load_padded, reset
from .layers import (
    Accumulate,
    Action,
    Apply,
    Duplicate,
    Fetch,
    Layer,
    Product,
    Slot,
    Vector,
    Write,
    parts,
)
from .memory_map import MemoryMap
from .micro_ops import Axis, MicroOps
from .regions import Move, moves
from .stream import BufferSpan, Stream
from .tiling import tiling_of


class Pitch(NamedTuple):
    """The distances of the elements of a tile in a buffer, by block, row and column."""

    blocks: int
    rows: int
    columns: int


class Tile(NamedTuple):
    """A part of the output of a layer."""

    image: int
    block: int
    """Counted from the first of the layer."""
    row: int
    column: int
    blocks: int
    rows: int
    columns: int

    def pitch(self, is_flat: bool) -> Pitch:
        """
        Returns the pitch of the accumulators: by blocks of channels, or by pixels for single
        pixels.
        """
        if is_flat:
            return Pitch(1, self.blocks * self.columns, self.blocks)
        return Pitch(self.rows * self.columns, self.columns, 1)

    @property
    def elements(self) -> int:
        return self.blocks * self.rows * self.columns

    def dims(self, grid: Grid, is_flat: bool) -> list[Dim]:
        """Returns the tile's part of a tensor, in the order of its accumulators."""
        block = Dim(self.blocks, grid.blocks.stride)
        row, column = Dim(self.rows, grid.rows.stride), Dim(self.columns, grid.columns.stride)
        return [row, column, block] if is_flat else [block, row, column]


def emit_layer(
    layer: Layer, tiles: Tiles, stream: Stream, micro_ops: MicroOps, memory: MemoryMap
) -> None:
    """Emits the instructions of a layer. Raises CompileError if a tile does not fit."""
    _Emitter(layer, tiles, stream, micro_ops, memory).run()


class _Emitter:
    def __init__(
        self,
        layer: Layer,
        tiles: Tiles,
        stream: Stream,
        micro_ops: MicroOps,
        memory: MemoryMap,
    ):
        self.layer = layer
        self.products = layer.products
        self.stream = stream
        self.micro_ops = micro_ops
        self.memory = memory
        self.config: VtaConfig = stream.config
        self.tiling, self.idle = tiling_of(layer, tiles), tiles.idle
        t, c = self.tiling, self.config
        self.inputs = Ring(VtaMemory.INP, c.inp_depth, t.input_piece)
        self.weights = Ring(VtaMemory.WGT, c.wgt_depth, t.weight_piece)
        self.accumulators = Ring(VtaMemory.ACC, c.acc_depth - self.idle, t.accumulators)
        self.bytes = Bytes(stream, micro_ops, memory, self.inputs, self.weights)
        self._vectors: dict[int, int] = {}
        """Which block of channels the vectors at a place of the accumulators begin with."""

    def run(self) -> None:
        if self.idle:
            depth = self.config.acc_depth
            reset(self.stream, self.micro_ops, BufferSpan(VtaMemory.ACC, depth - self.idle, depth))
        for number, tile in enumerate(self._tiles()):
            place, _ = self.accumulators.find(number)
            if self.layer.vectors:
                self._load_vectors(tile, place)
            for action in self.layer.actions:
                _ACTIONS[type(action)](self, tile, place, action)

    def _tiles(self) -> Iterator[Tile]:
        t, grid = self.tiling, self._grid(self.layer.output.grid)
        groups = list(parts(self.layer.blocks, t.blocks))
        places = [
            (image, row, column)
            for image in range(grid.images.size)
            for row in parts(grid.rows.size, t.rows)
            for column in parts(grid.columns.size, t.columns)
        ]
        if t.weights_first:
            pairs = ((g, p) for g in groups for p in places)
        else:
            pairs = ((g, p) for p in places for g in groups)
        for (block, blocks), (image, (row, rows), (column, columns)) in pairs:
            yield Tile(image, block, row, column, blocks, rows, columns)

    def _grid(self, grid: Grid) -> Grid:
        return grid.flat() if self.layer.is_flat else grid

    # accumulators: consecutive slots, and then vectors

    def _slot(self, tile: Tile, place: int, slot: int) -> BufferSpan:
        begin = place + slot * tile.elements
        return BufferSpan(VtaMemory.ACC, begin, begin + tile.elements)

    def _vector(self, tile: Tile, place: int, index: int) -> BufferSpan:
        # at the end of the place, where they are for smaller tiles too
        count = self.layer.vectors - index
        begin = place + self.tiling.accumulators - count * self.tiling.blocks
        return BufferSpan(VtaMemory.ACC, begin, begin + tile.blocks)

    def _load_vectors(self, tile: Tile, place: int) -> None:
        if self._vectors.get(place) == tile.block:
            return
        self._vectors[place] = tile.block
        constants = self.layer.constants
        assert constants is not None
        each = constants.elements // self.layer.vectors
        for index in range(self.layer.vectors):
            first = index * each + self.layer.first + tile.block
            move = Move(first, 1, tile.blocks, tile.blocks)
            self.stream.load(VtaMemory.ACC, self._vector(tile, place, index).begin, constants, move)

    def write(self, tile: Tile, place: int, action: Write) -> None:
        grid = self._grid(action.tensor.grid)
        first = grid.first(tile.image, self.layer.first + tile.block, tile.row, tile.column)
        span = self._slot(tile, place, action.slot)
        for offset, move in moves(first, tile.dims(grid, self.layer.is_flat), self.config):
            self.stream.store(span.begin + offset, action.tensor.dram, move)

    def fetch(self, tile: Tile, place: int, action: Fetch) -> None:
        grid = self._grid(action.source.grid)
        first = grid.first(tile.image, self.layer.first + tile.block, tile.row, tile.column)
        span = self._slot(tile, place, action.slot)
        dims = tile.dims(grid, self.layer.is_flat)
        self.bytes.fetch(action.source.dram, first, dims, span)

    def apply(self, tile: Tile, place: int, action: Apply) -> None:
        span, operand = self._slot(tile, place, action.slot), action.operand
        if isinstance(operand, Vector):
            self._apply_vector(tile, span, action.opcode, self._vector(tile, place, operand.number))
            return
        pixels = tile.rows * tile.columns
        steps = int(isinstance(operand, Slot))
        axes = [Axis(tile.blocks, pixels, steps * pixels), Axis(pixels, 1, steps)]
        other = operand
        if isinstance(operand, Slot):
            other = self._slot(tile, place, operand.number)
        alu(self.stream, self.micro_ops, action.opcode, axes, span, other)  # pyright: ignore

    def _apply_vector(
        self, tile: Tile, span: BufferSpan, opcode: AluOpcode, vector: BufferSpan
    ) -> None:
        pitch = tile.pitch(self.layer.is_flat)
        axes = [
            Axis(tile.blocks, pitch.blocks, 1),
            Axis(tile.rows, pitch.rows),
            Axis(tile.columns, pitch.columns),
        ]
        alu(self.stream, self.micro_ops, opcode, axes, span, vector)

    def duplicate(self, tile: Tile, place: int, action: Duplicate) -> None:
        reset(self.stream, self.micro_ops, self._slot(tile, place, action.slot))
        self.apply(tile, place, Apply(action.slot, AluOpcode.ADD, Slot(action.source)))

    def accumulate(self, tile: Tile, place: int, action: Accumulate) -> None:
        span = self._slot(tile, place, action.slot)
        if not action.is_added:
            reset(self.stream, self.micro_ops, span)
        number = self.products.index(action.product)
        self._multiply(tile, span, action.product, self.tiling.inputs[number])

    def _multiply(self, tile: Tile, span: BufferSpan, p: Product, chunk: int) -> None:
        for first, count in parts(p.inputs, chunk):
            weights = self._weights(tile, p, first, count)
            inputs = self._inputs(tile, p, first, count)
            read = (
                BufferSpan(VtaMemory.INP, inputs, inputs + count * self._reach(tile, p)),
                BufferSpan(VtaMemory.WGT, weights, weights + tile.blocks * count * p.places),
            )
            bases = (span.begin, inputs, weights)
            for uops, loops in self.micro_ops.loops(self._axes(tile, p, count), bases, sums=True):
                self.stream.gemm(uops, loops, span, read)

    def _reach(self, tile: Tile, p: Product) -> int:
        """Returns elements of a block of inputs of a tile."""
        return p.rows.reach(tile.rows) * p.columns.reach(tile.columns)

    def _axes(self, tile: Tile, p: Product, count: int) -> list[Axis]:
        out = tile.pitch(self.layer.is_flat)
        high, wide = p.rows.reach(tile.rows), p.columns.reach(tile.columns)
        each = Pitch(1, wide * count, count) if self.layer.is_flat else Pitch(high * wide, wide, 1)
        r, c = p.rows, p.columns
        place = 0 if p.uniform else 1
        return [
            Axis(tile.rows, out.rows, r.stride * each.rows),
            Axis(tile.columns, out.columns, c.stride * each.columns),
            Axis(count, 0, each.blocks, p.places),
            Axis(r.kernel, 0, r.dilation * each.rows, place * c.kernel),
            Axis(c.kernel, 0, c.dilation * each.columns, place),
            # innermost, so that neighbouring products go to different accumulators
            Axis(tile.blocks, out.blocks, 0, count * p.places),
        ]

    def _weights(self, tile: Tile, p: Product, first: int, count: int) -> int:
        place, is_there = self.weights.find((p, tile.block, first))
        if not is_there:
            per_block = p.inputs * p.places
            start = p.first_weight + tile.block * per_block + first * p.places
            dims = [Dim(tile.blocks, per_block), Dim(count * p.places, 1)]
            for offset, move in moves(start, dims, self.config):
                self.stream.load(VtaMemory.WGT, place + offset, p.weights, move)
        return place

    def _inputs(self, tile: Tile, p: Product, first: int, count: int) -> int:
        key = (p.source, p.grid, p.rows, p.columns, p.first_input + first, count)
        place, is_there = self.inputs.find((*key, tile.image, tile.row, tile.column))
        if not is_there:
            self._load_inputs(tile, p, first, count, place)
        return place

    def _load_inputs(self, tile: Tile, p: Product, first: int, count: int, place: int) -> None:
        grid = p.grid
        rows = clipped(p.rows, tile.row, tile.rows, grid.rows.size)
        columns = clipped(p.columns, tile.column, tile.columns, grid.columns.size)
        start = grid.first(tile.image, p.first_input + first, rows.first, columns.first)
        block = Dim(count, grid.blocks.stride)
        row, column = Dim(rows.size, grid.rows.stride), Dim(columns.size, grid.columns.stride)
        dram = p.source.dram
        if not rows.is_padded and not columns.is_padded:
            dims = [row, column, block] if self.layer.is_flat else [block, row, column]
            for offset, move in moves(start, dims, self.config):
                self.stream.load(VtaMemory.INP, place + offset, dram, move)
            return
        size = rows.reach * columns.reach
        for n in range(count):
            begin = start + n * grid.blocks.stride
            target = place + n * size
            load_padded(
                self.stream, self.memory, target, dram, begin, (row, column), (rows, columns)
            )


_ACTIONS: dict[type[Action], Callable[[_Emitter, Tile, int, Any], None]] = {
    Accumulate: _Emitter.accumulate,
    Fetch: _Emitter.fetch,
    Apply: _Emitter.apply,
    Duplicate: _Emitter.duplicate,
    Write: _Emitter.write,
}
