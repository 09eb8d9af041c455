"""
Winograd convolution, block by block: it transforms the input, multiplies, and transforms the
result.

Edge tiles, which write fewer outputs and read fewer inputs, have nests of their own.

AMX multiplies filters in parts of bf16; then the transform of the input divides its results into
parts as well. Bytes are transformed to words of 16 bits, of which pairs are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from math import prod

from xdsl.dialects.builtin import bf16, f32, i16, i32
from xdsl.ir import Attribute

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_cpu.winograd import (
    KERNEL,
    PARTS,
    DotWinogradConvolutionOp,
    WinogradConvolutionOp,
    axes_of,
    has_parts,
    kernel_parts,
)
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, View, affine
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.operator import Call
from ....glow_dialects.scalar import Expr, arguments, convert
from ....semantics.cook_toom import Transforms, integer_transforms, winograd_transforms
from ..registry import Kernel, kernel, total
from ..schedules.blocking import plane_stride
from ..schedules.tile_blocks import BlockSpan, Edge, choose_blocks, edges
from .row_blocks import nested
from .transforms import (
    by_column_pairs,
    by_row_pairs,
    largest,
    pairs_of_parts,
    sandwich,
    steps_of,
    words_of_parts,
)


def _has_products(machine: MachineDescription, call: Call) -> bool:
    return machine.has_bf16_tiles or not has_parts(call)


@kernel(WinogradConvolutionOp, when=lambda call: call.element(0) == f32, on=_has_products)
def winograd_convolution(k: Kernel) -> None:
    """Computes the formulas of `glow_cpu.winograd_convolution`."""
    if not _has_products(k.machine, k.call):
        raise ValueError("this machine has no tile registers for bf16, which filters in parts need")
    kind, call = _WinogradInParts if has_parts(k.call) else _Winograd, k.call
    kind(k, winograd_transforms, call.int("pool"), call.int("group")).run()


def _multiplies_words(machine: MachineDescription, call: Call) -> bool:
    """Returns whether panels of the filter are what vectors of sums of pairs can have."""
    return call.shape(2)[1] in (machine.lanes(32), machine.channel_block)


@kernel(DotWinogradConvolutionOp, on=_multiplies_words)
def dot_winograd_convolution(k: Kernel) -> None:
    """Computes the formulas of `glow_cpu.dot_winograd_convolution`."""
    _WinogradOfBytes(k, integer_transforms).run()


class _Winograd:
    in_parts = False
    """Whether the factors of products are parts of bf16."""
    factor: Attribute = f32
    """The element type of transformed tiles."""

    def __init__(
        self, k: Kernel, transforms: Callable[[int], Transforms], pool: int = 1, group: int = 1
    ):
        """`transforms` returns the matrices for tiles of a size."""
        self.k, self.pool, self.group = k, pool, group
        kernel = self._kernel()
        self.axes = axes_of(k.call.int("tile"), kernel)
        """Rows and columns; an input of one dimension is a row."""
        self.transforms = [transforms(axis.tile) for axis in self.axes]
        self.sides = [axis.side for axis in self.axes]
        self.planes = prod(self.sides)
        self.plane_rank = min(2, len(kernel))
        """The dimensions of an image: two, or one for a row."""
        self.x, self.filters, self.bias = k.operands
        self.element = k.element
        images, _, *sizes, _ = k.result.shape
        *slices, rows, columns = (1, *sizes)
        self.images = [Dim("n", images), *(Dim("d", size) for size in slices[1:])]
        """The images, and where there are several, the slices of their results."""
        self.slices = kernel[:-2]
        """The slices of a window, each of which has all input channels."""
        self.parts = kernel_parts(kernel)
        self.counts = [n * self.pool for n in (rows, columns)]
        self.lanes = self.x.shape[-1]
        self.outputs, self.block = self.bias.shape
        channels = (self.parts * self.x.shape[1] * self.lanes, self.outputs * self.block)
        size, elements = element_bytes(self.element), self.planes
        self.blocks = choose_blocks(
            self.counts,
            [axis.tile for axis in self.axes],
            elements * (channels[0] * self.input_bytes + channels[1] * size),
            elements * prod(channels) // self.group * self.input_bytes,
            k.machine,
            k.threads,
            near=self.in_parts,
        )
        self.inputs = self._in_planes(*self._inputs())
        self.products = self._in_planes((self.outputs, self.blocks.tiles, self.block), self.element)

    @property
    def input_bytes(self) -> int:
        """The bytes of an element of the transformed input or filter."""
        return element_bytes(self.factor)

    def _inputs(self) -> tuple[Sequence[int], Attribute]:
        """
        Returns the shape and the element type of the transformed input of a block, without the
        plane.
        """
        return (self.parts * self.x.shape[1], self.blocks.tiles, self.lanes), self.factor

    def _in_planes(self, shape: Sequence[int], element: Attribute) -> View:
        """Returns an array [planes, *shape] in scratch."""
        dense = View.dense(self.x.buffer, shape)
        stride = plane_stride(dense.shape[0] * dense.strides[0], element_bytes(element))
        whole = self.k.scratch((self.planes * stride,), element)
        return View(whole.buffer, (self.planes, *shape), (stride, *dense.strides))

    def _kernel(self) -> Sequence[int]:
        """Returns the sizes of the kernel."""
        return self.k.call.ints("kernel")

    def run(self) -> None:
        nested(self.k, self.images, self._image)

    def _image(self) -> None:
        for row, column in product(self.blocks.rows, self.blocks.columns):
            self._blocks(row, column)

    def _blocks(self, row: BlockSpan, column: BlockSpan) -> None:
        with ExitStack() as loops:
            first: list[Affine] = []
            for span, name in ((row, "rb"), (column, "cb")):
                at = Dim(name, span.blocks)
                if span.blocks > 1:
                    loops.enter_context(self.k.repeat(at))
                    first.append(at * span.tiles + span.start)
                else:
                    first.append(Affine({}, span.start))
            high, wide = self.axes
            parts = list(product(edges(row, high.tile), edges(column, wide.tile)))
            for part in parts:
                self._transform_input(first, column.tiles, part)
            self._multiply(row.tiles * column.tiles)
            for part in parts:
                self._transform_result(first, column.tiles, part)

    def _transform_input(self, first: Sequence[Affine], width: int, part: Sequence[Edge]) -> None:
        """Computes `inputs[., block, tile, lane] = B^T d B`, for each part of a window."""
        blocks, each = self.x.shape[1], prod(self.slices)
        rows, columns = (axis.offsets for axis in self.axes)
        for (i, row), (j, column) in product(steps_of("i", rows), steps_of("j", columns)):
            c, lane = Dim("c", blocks), Dim("l", self.lanes)
            slices = [Dim("s", size) for size in self.slices if size > 1]
            window = _Window(self, first, width, part, lane, (row, column))
            number = (i * len(columns) + j) * each
            channel = sum(slices, start=number) * blocks + c
            writes = [self.inputs[[p, channel, window.tile, lane]] for p in range(self.planes)]
            reads = window.reads(c, *slices)
            values = window.transform(self._factors(arguments(len(reads))))
            dims = [*number.terms, *slices, c, *window.tiles, lane]
            self.k.map_all(dims, writes, reads, values)

    def _factors(self, values: Sequence[Expr]) -> Sequence[Expr]:
        """Returns elements of the input in the type in which they are transformed."""
        return values

    def _output(self, value: Expr) -> Expr:
        """Returns an output, of what the transforms make of it."""
        return value

    def _multiply(self, tiles: int) -> None:
        """
        Computes `products[p, o] = sum(inputs[p, c] * filters[p, o, c])` in each of the planes p,
        where the channels c are those of the group of o.
        """
        p, o, t = self._places(tiles)
        c, lane = Dim("c", self.inputs.shape[1] // self.group), Dim("l", self.lanes)
        out, channel = Dim("k", self.block), affine(c)
        block, reduced = channel, [c, lane]
        if self.group > 1:
            g, o = Dim("g", self.group), Dim("o", self.outputs // self.group)
            c, s = Dim("c", c.size // self.parts), Dim("s", self.parts)
            block, channel = s * self.x.shape[1] + g * c.size + c, s * c.size + c
            o, reduced = g * o.size + o, [s, c, lane]
        products = total(
            Combine.ADD,
            self.element,
            self.inputs[[p, block, t, lane]],
            self.filters[[p, o, channel * self.lanes + lane, out]],
        )
        self._sum(products, (p, o, t, out), reduced)

    def _places(self, tiles: int) -> tuple[Dim, Dim, Dim]:
        """Returns the loops over planes, blocks of output channels, and tiles."""
        return Dim("p", self.planes), Dim("o", self.outputs), Dim("t", tiles)

    def _sum(self, products: Reduction, place: Sequence[Index], reduced: Sequence[Dim]) -> None:
        """Stores the sums into `products[place]`."""
        self.k.nest(
            Nest(
                tuple(dim for index in place for dim in affine(index).terms),
                (self.products[place],),
                Body.passing(self.element),
                reduction=products,
                reduced=tuple(reduced),
                raw=True,
            )
        )

    def _transform_result(self, first: Sequence[Affine], width: int, part: Sequence[Edge]) -> None:
        """
        Computes `result = epilogue(max(A^T products A) + bias)` for the part of each tile that is
        inside.
        """
        (high, wide), pool = self.sides, self.pool
        o, out = Dim("o", self.outputs), Dim("k", self.block)
        tiles = [Dim("tr", part[0].tiles), Dim("tc", part[1].tiles)]
        at = [
            (f + t + e.start) * (axis.tile // pool)
            for f, t, e, axis in zip(first, tiles, part, self.axes, strict=True)
        ]
        rows, columns = (range(e.outputs // pool) for e in part)
        places = [self.place(o, at, (i, j), out) for i in rows for j in columns]
        tile = _in_block(tiles, part, width)
        reads: list[Access] = [
            self.products[[i * wide + j, o, tile, out]] for j in range(wide) for i in range(high)
        ]
        reads.append(self.bias[[o, out]])
        *sums, bias = arguments(len(reads))
        lines = [sums[i::high] for i in range(high)]
        left, right = (t.outputs for t in self.transforms)
        y = sandwich(by_column_pairs, left, lines, right)
        values = [self._output(largest(y, pool, i, j)) + bias for i in rows for j in columns]
        self.k.finish_tile((o, *tiles, out), places, reads, values)

    def place(
        self,
        block: Index,
        at: Sequence[Affine],
        within: Sequence[int],
        lane: Dim,
        number: Index = 0,
    ) -> list[Index]:
        """
        Returns the place of an element of the input or the result: `within` is added to its row
        and column `at`, and `number` to the slice.
        """
        image, *slices = self.images
        plane = [a + w for a, w in zip(at, within, strict=True)][-self.plane_rank :]
        return [image, block, *(d + number for d in slices), *plane, lane]


class _Window:
    """The part of the input that tiles of the same form read, and its transform."""

    def __init__(
        self,
        k: _Winograd,
        first: Sequence[Affine],
        width: int,
        part: Sequence[Edge],
        lane: Dim,
        offset: Sequence[Index] = (0, 0),
    ):
        """`offset` is the place of the part of the kernel that meets what is read."""
        self.k = k
        self.lane = lane
        self.tiles = [Dim("tr", part[0].tiles), Dim("tc", part[1].tiles)]
        self.tile = _in_block(self.tiles, part, width)
        self.at = [
            (f + t + e.start) * axis.tile + o
            for f, t, e, o, axis in zip(first, self.tiles, part, offset, k.axes, strict=True)
        ]
        # elements that a tile at an edge would read beyond the input are zero
        self.seen = [
            min(axis.side, e.outputs + axis.part - 1) for axis, e in zip(k.axes, part, strict=True)
        ]

    def reads(self, block: Index, number: Index = 0) -> list[Access]:
        """
        Returns a tile of one block of channels, column by column, of the slice with a number in the
        window.
        """
        k = self.k
        return [
            k.x[k.place(block, self.at, (i, j), self.lane, number)]
            for j in range(self.seen[1])
            for i in range(self.seen[0])
        ]

    def transform(self, values: Sequence[Expr]) -> list[Expr]:
        """Returns `B^T d B`, row by row."""
        high, wide = self.k.sides
        d: list[list[Expr | None]] = [[None] * wide for _ in range(high)]
        for number, value in enumerate(values):
            d[number % self.seen[0]][number // self.seen[0]] = value
        left, right = (t.inputs for t in self.k.transforms)
        v = sandwich(by_row_pairs, left, d, right)
        return [value or Expr.constant(0.0, self.k.factor) for line in v for value in line]


class _WinogradInParts(_Winograd):
    """A Winograd convolution with products of parts of bf16 instead of f32."""

    in_parts = True

    @property
    def input_bytes(self) -> int:
        return PARTS * element_bytes(bf16)

    def _inputs(self) -> tuple[Sequence[int], Attribute]:
        """Returns words of two parts, for the channels of two blocks."""
        return (self.filters.shape[2], PARTS, self.blocks.tiles, self.lanes), i32

    def _transform_input(self, first: Sequence[Affine], width: int, part: Sequence[Edge]) -> None:
        """
        Computes `inputs[., pair of blocks, part, tile, lane]`; the last pair may lack a block.
        """
        pairs, odd = divmod(self.x.shape[1], 2)
        if pairs:
            self._transform_blocks(Dim("c", pairs), 2, first, width, part)
        if odd:
            self._transform_blocks(pairs, 1, first, width, part)

    def _transform_blocks(
        self, c: Index, blocks: int, first: Sequence[Affine], width: int, part: Sequence[Edge]
    ) -> None:
        lane = Dim("l", self.lanes)
        window = _Window(self, first, width, part, lane)
        writes = [
            self.inputs[[i, c, part_number, window.tile, lane]]
            for i in range(self.planes)
            for part_number in range(PARTS)
        ]
        reads = [r for n in range(blocks) for r in window.reads(affine(c) * 2 + n)]

        values, each = arguments(len(reads)), len(reads) // blocks
        v = [window.transform(values[n * each : (n + 1) * each]) for n in range(blocks)]
        found: list[Expr] = []
        for i, value in enumerate(v[0]):
            found += words_of_parts(value, v[1][i] if blocks > 1 else None)
        self.k.map_all([*affine(c).terms, *window.tiles, lane], writes, reads, found)

    def _multiply(self, tiles: int) -> None:
        """
        Computes `products[p, o] = sum(inputs[p, c, i] * filters[p, o, c, j])` over c and parts i,
        j.
        """
        p, o, t = self._places(tiles)
        c, lane, out = Dim("c", self.filters.shape[2]), Dim("l", self.lanes), Dim("k", self.block)
        parts, i, j = pairs_of_parts()
        products = total(
            Combine.ADD,
            self.element,
            self.inputs[[p, c, i, t, lane]],
            self.filters[[p, o, c, j, lane, out, 0]],
        )
        products = replace(products, terms=2)
        self._sum(products, (p, o, t, out), (c, parts, lane))


class _WinogradOfBytes(_Winograd):
    """A Winograd convolution of bytes, whose transforms are words of 16 bits."""

    factor = i16

    def _kernel(self) -> Sequence[int]:
        return KERNEL, KERNEL

    def _factors(self, values: Sequence[Expr]) -> Sequence[Expr]:
        return [convert(value, i16) for value in values]

    def _output(self, value: Expr) -> Expr:
        """
        Divides a sum by the square of the divisor, of which it is a multiple: by its odd part as a
        multiplication by the inverse modulo 2^32, and by its power of two as a shift.
        """
        square = prod(t.divisor for t in self.transforms)
        shift = (square & -square).bit_length() - 1
        odd = square >> shift
        if odd > 1:
            value = value * pow(odd, -1, 1 << 32)
        return value >> shift if shift else value

    def _multiply(self, tiles: int) -> None:
        """
        Computes `products[p, o, k] = sum(inputs[p, c, 2 * g + m] * filters[p, o, c, g, k, m])` over
        c, g and m.
        """
        p, o, t = self._places(tiles)
        c, g, out = Dim("c", self.x.shape[1]), Dim("g", self.lanes // 2), Dim("k", self.block)
        products = total(
            Combine.ADD,
            self.element,
            self.inputs[[p, c, t, affine(g) * 2]],
            self.filters[[p, o, c, g, out, 0]],
        )
        self._sum(replace(products, terms=2), (p, o, t, out), (c, g))


def _in_block(tiles: Sequence[Dim], part: Sequence[Edge], width: int) -> Affine:
    """Returns the number of a tile within its block, which is `width` tiles wide."""
    return (tiles[0] + part[0].start) * width + (tiles[1] + part[1].start)
