"""
Winograd convolution: transform of the input, products, transform of the result, block by block.

Tiles are visited in blocks so small that a block's transformed input stays in the cache, and few
output channels at a time, so that their products do as well. Edge tiles, which write fewer outputs
or read fewer inputs, have nests of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import f32

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow.winograd import WinogradConvolutionOp
from ....semantics.cook_toom import KERNEL, winograd_transforms
from ..affine import Access, Affine, Dim, Index, View
from ..algebra import ArithAlgebra, Value
from ..nest import Combine, Nest
from ..primitives import add
from ..registry import Kernel, kernel, total
from ..transforms import by_column_pairs, by_row_pairs, sandwich

INPUT_BYTES = 1 << 20
"""The most that the transformed input of a block takes, about half of a large L2 cache."""
PRODUCT_BYTES = 1 << 18
"""The most that the products of a block and some output channels take."""
MOST_TILES = 56
"""More tiles in a block do not use transformed filters noticeably better."""
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


def block_shape(counts: Sequence[int], tile: int, channels: int, size: int) -> tuple[int, int]:
    """
    How many rows and columns of tiles a block has at most, for `channels` input channels whose
    elements take `size` bytes.
    """
    rows, columns = (-(-n // tile) for n in counts)
    plane = (tile + KERNEL - 1) ** 2 * channels * size
    most = max(1, min(MOST_TILES, INPUT_BYTES // plane))
    if columns >= most:
        return 1, most
    return min(rows, max(1, most // columns)), columns


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
        size = element_bytes(self.element)
        blocks = self.x.shape[1]
        most = block_shape(self.counts, self.tile, blocks * self.lanes, size)
        self.spans = [spans(n, self.tile, m) for n, m in zip(self.counts, most, strict=True)]
        tiles = [max(s.tiles for s in each) for each in self.spans]
        self.most = tiles[0] * tiles[1]
        plane = self.side**2 * self.most * self.block * size
        self.group = _divisor(self.filters.shape[1], max(2, PRODUCT_BYTES // plane))
        self.inputs = self._planes((blocks, self.most, self.lanes))
        self.products = self._planes((self.group, self.most, self.block))

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
            for row, column in product(*self.spans):
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
            parts = list(_parts(row, column, self.tile))
            for part in parts:
                self._transform_input(first, column.tiles, part)
            group = Dim("g", self.filters.shape[1] // self.group)
            with self.k.repeat(group):
                self._multiply(group, row.tiles * column.tiles)
                for part in parts:
                    self._transform_result(first, column.tiles, part, group)

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

    def _multiply(self, group: Dim, tiles: int) -> None:
        """`products[p, o] = sum(inputs[p, c] * filters[p, o, c])` in each of the planes p."""
        p, o, t = Dim("p", self.side**2), Dim("o", self.group), Dim("t", tiles)
        c, lane, out = Dim("c", self.x.shape[1]), Dim("l", self.lanes), Dim("k", self.block)
        channel = Affine({c: self.lanes, lane: 1})
        products = total(
            Combine.ADD,
            self.element,
            self.inputs[[p, c, t, lane]],
            self.filters[[p, Affine({group: self.group, o: 1}), channel, out]],
        )
        self.k.nest(
            Nest(
                (p, o, t, out),
                (self.products[[p, o, t, out]],),
                lambda _, values: values,
                reduction=products,
                reduced=(c, lane),
            )
        )

    def _transform_result(
        self, first: Sequence[Affine], width: int, part: Sequence[Edge], group: Dim
    ) -> None:
        """`result = epilogue(A^T products A + bias)`, as much of each tile as there is."""
        side, m = self.side, self.tile
        o, out = Dim("o", self.group), Dim("k", self.block)
        channels = Affine({group: self.group, o: 1})
        tiles = [Dim("tr", part[0].tiles), Dim("tc", part[1].tiles)]
        at = [(f + t + e.start) * m for f, t, e in zip(first, tiles, part, strict=True)]
        rows, columns = (range(e.outputs) for e in part)
        places: list[list[Index]] = [
            [self.n, channels, at[0] + i, at[1] + j, out] for i in rows for j in columns
        ]
        tile = _in_block(tiles, part, width)
        reads: list[Access] = [
            self.products[[i * side + j, o, tile, out]] for j in range(side) for i in range(side)
        ]
        reads.append(self.bias[[channels, out]])
        matrix, element = self.transforms.outputs, self.element

        def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
            *sums, bias = values
            lines = [sums[i::side] for i in range(side)]
            y = sandwich(alg, by_column_pairs, matrix, lines, element)
            chosen = [y[i][j] for i in rows for j in columns]
            return [add(alg, value, bias) for value in chosen if value is not None]

        self.k.finish_tile((o, *tiles, out), places, reads, body, weight=len(places))


def _parts(row: Span, column: Span, tile: int) -> Iterator[tuple[Edge, Edge]]:
    yield from product(edges(row, tile), edges(column, tile))


def _in_block(tiles: Sequence[Dim], part: Sequence[Edge], width: int) -> Affine:
    """The number of a tile within its block, which is `width` tiles wide."""
    return (tiles[0] + part[0].start) * width + (tiles[1] + part[1].start)


def _divisor(number: int, most: int) -> int:
    """The largest divisor of a number that is at most `most`."""
    return max(d for d in range(1, number + 1) if number % d == 0 and d <= most)
