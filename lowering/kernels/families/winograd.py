"""
Winograd convolution: transform of the input, products, transform of the result, block by block.

Blocks of tiles are so small that their transformed input and products stay near, yet so large that
filters are not read too often. Edge tiles, which write fewer outputs and read fewer inputs, have
nests of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from xdsl.dialects.builtin import f32

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow.winograd import WinogradConvolutionOp
from ....semantics.cook_toom import KERNEL, winograd_transforms
from ..affine import Access, Affine, Dim, Index, View
from ..algebra import ArithAlgebra, Value
from ..nest import Combine, Nest
from ..partition import is_balanced
from ..primitives import add
from ..registry import Kernel, kernel, total
from ..transforms import by_column_pairs, by_row_pairs, sandwich

FILTER_SHARE = 2
"""Transformed filters up to this part of the second cache stay near from one block to the next."""
MOST_CACHES = 4
"""How many second caches the transformed input and products of a block may fill at most, if blocks
can be smaller."""
FAR_ACCESSES = 4.0
"""How often a byte of a block beyond the second cache comes from or goes to far memory."""
REUSE_COST = 0.1
"""Cost of reading a byte of filters that stayed near, relative to one that did not."""
CODE_COST = 0.5
"""What a further kind of block adds to the cost, because its code is separate."""
LITTLE_WORK = 1 << 26
"""Bytes of filters that are read for all tiles, below which threads lose more by waiting for each
other between the steps of a block than by blocks that do not come out even."""
LEAST_SHARED = 14
"""Tiles of blocks that threads take in turns; products of fewer are slow."""
MOST_SHARED = 0.75
"""How much of an image such blocks cover at least."""
_LINE = 64
_PAGE = 4096


@dataclass(frozen=True)
class Span:
    """Blocks of tiles along one dimension: `blocks` blocks of `tiles` tiles, from tile `start`."""

    start: int
    blocks: int
    tiles: int
    last: int
    """How many outputs the last tile of the last block writes; others write all."""


def spans(outputs: int, tile: int, most: int) -> list[Span]:
    """
    A dimension of `outputs` outputs cut into blocks of at most `most` tiles of about the same size.
    The last block is by itself if it is smaller or has a tile that writes less.
    """
    tiles = -(-outputs // tile)
    size = -(-tiles // -(-tiles // most))
    blocks = -(-tiles // size)
    last = outputs - (tiles - 1) * tile
    rest = tiles - (blocks - 1) * size
    if rest == size and last == tile:
        return [Span(0, blocks, size, last)]
    full = [Span(0, blocks - 1, size, tile)] if blocks > 1 else []
    return [*full, Span((blocks - 1) * size, 1, rest, last)]


@dataclass(frozen=True)
class Edge:
    """Neighbouring tiles along one dimension that write the same number of outputs."""

    start: int
    tiles: int
    outputs: int


def edges(span: Span, tile: int) -> list[Edge]:
    """The tiles of a block: those that write all outputs, and perhaps a last one."""
    if span.last == tile:
        return [Edge(0, span.tiles, tile)]
    full = [Edge(0, span.tiles - 1, tile)] if span.tiles > 1 else []
    return [*full, Edge(span.tiles - 1, 1, span.last)]


@dataclass(frozen=True)
class Blocks:
    """A way to cut the tiles of an image into blocks."""

    rows: tuple[Span, ...]
    columns: tuple[Span, ...]

    @property
    def tiles(self) -> int:
        """Tiles of the largest block."""
        return max(s.tiles for s in self.rows) * max(s.tiles for s in self.columns)

    @property
    def count(self) -> int:
        return sum(s.blocks for s in self.rows) * sum(s.blocks for s in self.columns)

    def is_shared(self, threads: int) -> bool:
        """Whether blocks are large, and nearly all tiles are in such as threads can divide."""
        divided = whole = 0
        for row, column in product(self.rows, self.columns):
            blocks = row.blocks * column.blocks
            tiles = blocks * row.tiles * column.tiles
            whole += tiles
            divided += tiles * (blocks > 1 and is_balanced(blocks, threads))
        return self.tiles >= LEAST_SHARED and divided >= MOST_SHARED * whole

    def cost(self, tile_bytes: int, filter_bytes: int, cache: int) -> float:
        """Bytes that come from or go to far caches or memory; `cache` bytes are near."""
        most = cache // FILTER_SHARE
        is_near = filter_bytes <= most
        filters = filter_bytes * (1 + (self.count - 1) * (REUSE_COST if is_near else 1.0))
        used = self.tiles * tile_bytes + min(filter_bytes, most)
        spilled = max(0, used - cache) * self.count * FAR_ACCESSES
        kinds = len(self.rows) * len(self.columns)
        return (filters + spilled) * (1 + CODE_COST * (kinds - 1))


def choose_blocks(
    counts: Sequence[int],
    tile: int,
    tile_bytes: int,
    filter_bytes: int,
    cache: int,
    threads: int = 1,
) -> Blocks:
    """
    The cheapest blocks for `counts` outputs: some rows of tiles, or a part of one row. A
    transformed tile of all input and output channels takes `tile_bytes`, the filters
    `filter_bytes`, and the second cache has `cache` bytes. Of little work, several threads take
    blocks in turns, if these can be large enough.
    """
    rows, columns = (-(-n // tile) for n in counts)
    shapes = [(most, columns) for most in range(1, rows + 1)]
    shapes += [(1, -(-columns // parts)) for parts in range(2, columns + 1)]
    choices = [
        Blocks(tuple(spans(counts[0], tile, r)), tuple(spans(counts[1], tile, c)))
        for r, c in dict.fromkeys(shapes)
    ]
    allowed = [b for b in choices if b.tiles * tile_bytes <= MOST_CACHES * cache]
    if not allowed:
        return min(choices, key=lambda blocks: blocks.tiles)
    if threads > 1 and rows * columns * filter_bytes < LITTLE_WORK:
        allowed = [b for b in allowed if b.is_shared(threads)] or allowed
    return min(allowed, key=lambda blocks: blocks.cost(tile_bytes, filter_bytes, cache))


@kernel(WinogradConvolutionOp, when=lambda call: call.element(0) == f32)
def winograd_convolution(k: Kernel) -> None:
    """See `glow.winograd_convolution` for the formulas."""
    _Winograd(k).run()


class _Winograd:
    def __init__(self, k: Kernel):
        self.k = k
        self.tile = k.call.int("tile")
        self.transforms = winograd_transforms(self.tile)
        self.side = self.tile + KERNEL - 1
        self.x, self.filters, self.bias = k.operands
        self.element = self.x.element
        self.n = Dim("n", self.x.shape[0])
        self.counts = k.result.shape[2:4]
        self.lanes = self.x.shape[-1]
        self.block = self.filters.shape[-1]
        blocks, outputs = self.x.shape[1], self.filters.shape[1]
        size = element_bytes(self.element)
        channels = (blocks * self.lanes, outputs * self.block)
        plane = self.side**2 * size
        self.blocks = choose_blocks(
            self.counts,
            self.tile,
            plane * sum(channels),
            plane * prod(channels),
            k.machine.l2_bytes,
            k.threads,
        )
        self.inputs = self._planes((blocks, self.blocks.tiles, self.lanes))
        self.products = self._planes((outputs, self.blocks.tiles, self.block))

    def _planes(self, shape: Sequence[int]) -> View:
        """
        An array [side^2, *shape] in scratch. Planes are a cache line more than that apart, and not
        near a multiple of a page, so that they do not compete for the same lines of a cache.
        """
        size = element_bytes(self.element)
        dense = View.dense(self.x.buffer, shape)
        stride = dense.shape[0] * dense.strides[0] + _LINE // size
        if stride * size % _PAGE < 2 * _LINE:
            stride += 3 * _LINE // size
        whole = self.k.scratch((self.side**2 * stride,), self.element)
        return View(whole.buffer, (self.side**2, *shape), (stride, *dense.strides))

    def run(self) -> None:
        with self.k.repeat(self.n):
            for row, column in product(self.blocks.rows, self.blocks.columns):
                self._blocks(row, column)

    def _blocks(self, row: Span, column: Span) -> None:
        with ExitStack() as loops:
            first: list[Affine] = []
            for span, name in ((row, "rb"), (column, "cb")):
                at = Dim(name, span.blocks)
                if span.blocks > 1:
                    loops.enter_context(self.k.repeat(at))
                    first.append(at * span.tiles + span.start)
                else:
                    first.append(Affine({}, span.start))
            parts = list(product(edges(row, self.tile), edges(column, self.tile)))
            for part in parts:
                self._transform_input(first, column.tiles, part)
            self._multiply(row.tiles * column.tiles)
            for part in parts:
                self._transform_result(first, column.tiles, part)

    def _transform_input(self, first: Sequence[Affine], width: int, part: Sequence[Edge]) -> None:
        """`inputs[., block, tile, lane] = B^T d B`."""
        side, m = self.side, self.tile
        c, lane = Dim("c", self.x.shape[1]), Dim("l", self.lanes)
        tiles = [Dim("tr", part[0].tiles), Dim("tc", part[1].tiles)]
        at = [(f + t + e.start) * m for f, t, e in zip(first, tiles, part, strict=True)]
        # what a tile that writes fewer outputs would read beyond the input is zero
        seen = [min(side, e.outputs + KERNEL - 1) for e in part]
        reads = [
            self.x[[self.n, c, at[0] + i, at[1] + j, lane]]
            for j in range(seen[1])
            for i in range(seen[0])
        ]
        tile = _in_block(tiles, part, width)
        writes = [self.inputs[[i, c, tile, lane]] for i in range(side**2)]
        matrix, element = self.transforms.inputs, self.element

        def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
            d: list[list[Value | None]] = [[None] * side for _ in range(side)]
            for number, value in enumerate(values):
                d[number % seen[0]][number // seen[0]] = value
            v = sandwich(alg, by_row_pairs, matrix, d, element)
            return [value or alg.number(0.0, element) for line in v for value in line]

        dims = (c, *tiles, lane)
        self.k.nest(Nest(dims, tuple(writes), body, tuple(reads), weight=len(writes)))

    def _multiply(self, tiles: int) -> None:
        """`products[p, o] = sum(inputs[p, c] * filters[p, o, c])` in each of the planes p."""
        p, o, t = Dim("p", self.side**2), Dim("o", self.filters.shape[1]), Dim("t", tiles)
        c, lane, out = Dim("c", self.x.shape[1]), Dim("l", self.lanes), Dim("k", self.block)
        channel = Affine({c: self.lanes, lane: 1})
        products = total(
            Combine.ADD,
            self.element,
            self.inputs[[p, c, t, lane]],
            self.filters[[p, o, channel, out]],
        )
        self.k.nest(
            Nest(
                (p, o, t, out),
                (self.products[[p, o, t, out]],),
                lambda _, values: values,
                reduction=replace(products, streams=True),
                reduced=(c, lane),
            )
        )

    def _transform_result(self, first: Sequence[Affine], width: int, part: Sequence[Edge]) -> None:
        """`result = epilogue(A^T products A + bias)`, as much of each tile as there is."""
        side, m = self.side, self.tile
        o, out = Dim("o", self.filters.shape[1]), Dim("k", self.block)
        tiles = [Dim("tr", part[0].tiles), Dim("tc", part[1].tiles)]
        at = [(f + t + e.start) * m for f, t, e in zip(first, tiles, part, strict=True)]
        rows, columns = (range(e.outputs) for e in part)
        places: list[list[Index]] = [
            [self.n, o, at[0] + i, at[1] + j, out] for i in rows for j in columns
        ]
        tile = _in_block(tiles, part, width)
        reads: list[Access] = [
            self.products[[i * side + j, o, tile, out]] for j in range(side) for i in range(side)
        ]
        reads.append(self.bias[[o, out]])
        matrix, element = self.transforms.outputs, self.element

        def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
            *sums, bias = values
            lines = [sums[i::side] for i in range(side)]
            y = sandwich(alg, by_column_pairs, matrix, lines, element)
            chosen = [y[i][j] for i in rows for j in columns]
            return [add(alg, value, bias) for value in chosen if value is not None]

        self.k.finish_tile((o, *tiles, out), places, reads, body, weight=len(places))


def _in_block(tiles: Sequence[Dim], part: Sequence[Edge], width: int) -> Affine:
    """The number of a tile within its block, which is `width` tiles wide."""
    return (tiles[0] + part[0].start) * width + (tiles[1] + part[1].start)
