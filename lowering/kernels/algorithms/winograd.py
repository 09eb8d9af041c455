"""
Winograd convolution, block by block: it transforms the input, multiplies, and transforms the
result.

Edge tiles, which write fewer outputs and read fewer inputs, have nests of their own.

AMX multiplies filters in parts of bf16; then the transform of the input divides its results into
parts as well. Bytes are transformed to words of 16 bits, of which pairs are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from math import prod

import numpy as np
from xdsl.dialects.builtin import bf16, f32, i16, i32
from xdsl.ir import Attribute

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_cpu.winograd import (
    PARTS,
    Axis,
    DotWinogradConvolutionOp,
    WinogradConvolutionOp,
    axes_of_call,
    has_parts,
    kernel_parts,
    tile_elements,
    window_of,
)
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, View, affine
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.operator import Call
from ....glow_dialects.scalar import Expr, arguments, maximum
from ....semantics.cook_toom import Transforms
from ....semantics.winograd import integer_transforms_of, transforms_of
from ..registry import Kernel, kernel, total
from ..schedules.blocking import plane_stride
from ..schedules.tile_blocks import BlockSpan, choose_blocks, edges
from .dot import converted
from .row_blocks import each_panel
from .tiles import Image, Part, added, further
from .transforms import (
    by_column_pairs,
    by_row_pairs,
    pairs_of_parts,
    steps_of,
    words_of_parts,
)


def _has_products(machine: MachineDescription, call: Call) -> bool:
    return machine.has_bf16_tiles or not has_parts(call)


def _multiplies(machine: MachineDescription, call: Call) -> bool:
    return call.element(0) == f32 and _has_products(machine, call)


@kernel(WinogradConvolutionOp, on=_multiplies)
def winograd_convolution(k: Kernel) -> None:
    """Computes the formulas of `glow_cpu.winograd_convolution`."""
    if not _has_products(k.machine, k.call):
        raise ValueError("this machine has no tile registers for bf16, which filters in parts need")
    kind, call = _WinogradInParts if has_parts(k.call) else _Winograd, k.call
    kind(k, transforms_of, call.int("pool")).run()


def _multiplies_words(machine: MachineDescription, call: Call) -> bool:
    """Returns whether panels of the filter are what vectors of sums of pairs can have."""
    return call.shape(2)[1] in (machine.lanes(32), machine.channel_block)


@kernel(DotWinogradConvolutionOp, on=_multiplies_words)
def dot_winograd_convolution(k: Kernel) -> None:
    """Computes the formulas of `glow_cpu.dot_winograd_convolution`."""
    _WinogradOfBytes(k, integer_transforms_of).run()


class _Winograd:
    factor: Attribute = f32
    """The element type of transformed tiles."""
    together = 1
    """The blocks of channels that are transformed together."""
    input_bytes = element_bytes(f32)
    """The bytes of an element of the transformed input or filter."""

    def __init__(self, k: Kernel, transforms: Callable[[Axis], Transforms], pool: int = 1):
        """`transforms` returns the matrices of a dimension."""
        self.k, self.pool, self.group = k, pool, k.call.int("group")
        _, dilations, _ = window_of(k.call)
        self.image = Image(k.result.shape[0], axes_of_call(k.call), dilations)
        self.axes = self.image.axes
        self.transforms = list(map(transforms, self.axes))
        self.sides = [axis.side for axis in self.axes]
        self.planes = tile_elements(self.axes)
        self.parts = kernel_parts(self.axes)
        self.x, self.filters, self.bias = k.operands
        self.element = k.element
        _, _, *sizes, _ = k.result.shape
        self.lanes = self.x.shape[-1]
        self.outputs, self.block = self.bias.shape
        channels = (self.parts * self.x.shape[1] * self.lanes, self.outputs * self.block)
        size, elements = element_bytes(self.element), self.planes
        tile_bytes = elements * (channels[0] * self.input_bytes + channels[1] * size)
        filter_bytes = elements * prod(channels) // self.group * self.input_bytes
        regions = self.image.regions([n * self.pool for n in sizes])
        tile = [axis.tile for axis in self.axes]
        memory = tile_bytes, filter_bytes, k.machine, k.threads, has_parts(k.call)
        self.regions = [(at, choose_blocks(counts, tile, *memory)) for at, counts in regions]
        self.tiles = max(blocks.tiles for _, blocks in self.regions)
        """The tiles of the largest block."""
        self.inputs = self._in_planes(*self._inputs())
        self.products = self._in_planes((self.outputs, self.tiles, self.block), self.element)
        *first, self.last = (n for n, side in enumerate(self.sides) if side > 1)
        self.first = first[0] if first else None
        """The dimension that is transformed before `last`, if two are transformed."""
        if self.first is not None:
            reach = self.axes[self.last].reach(self.axes[self.last].tile)
            half = (self.sides[self.first], reach, self.lanes)
            self.halves = [k.scratch(half, self.factor) for _ in range(self.together)]
            rows = self.axes[self.first].tile
            self.sums = k.scratch((rows, self.sides[self.last], self.block), self.element)

    def _inputs(self) -> tuple[Sequence[int], Attribute]:
        """
        Returns the shape and the element type of the transformed input of a block, without the
        plane.
        """
        return (self.parts * self.x.shape[1], self.tiles, self.lanes), self.factor

    def _in_planes(self, shape: Sequence[int], element: Attribute) -> View:
        """Returns an array [planes, *shape] in scratch."""
        dense = View.dense(self.x.buffer, shape)
        stride = plane_stride(dense.shape[0] * dense.strides[0], element_bytes(element))
        whole = self.k.scratch((self.planes * stride,), element)
        return View(whole.buffer, (self.planes, *shape), (stride, *dense.strides))

    def run(self) -> None:
        with self.k.repeat(self.image.number):
            for start, blocks in self.regions:
                for kind in product(*blocks.spans):
                    self._blocks(start, kind)

    def _blocks(self, start: Sequence[int], kind: Sequence[BlockSpan]) -> None:
        """Computes blocks of some kind of a region that begins at `start`."""
        loops = [Dim(f"b{i}", span.blocks) for i, span in enumerate(kind)]
        first = [
            affine(dim if span.blocks > 1 else 0) * span.tiles + span.start + begin
            for dim, span, begin in zip(loops, kind, start, strict=True)
        ]
        with self.k.repeat(*(dim for dim in loops if dim.size > 1)):
            each = [edges(span, axis.tile) for span, axis in zip(kind, self.axes, strict=True)]
            tiles = [span.tiles for span in kind]
            parts = [Part(first, tiles, part) for part in product(*each)]
            for part in parts:
                self._transform_input(part)
            self._multiply(prod(tiles))
            for part in parts:
                self._transform_result(part)

    def _transform_input(self, part: Part) -> None:
        """Computes `inputs[., block, tile, lane] = B^T d B`, for each part of a window."""
        c = Dim("c", self.x.shape[1])
        steps = [steps_of(f"w{i}", axis.offsets) for i, axis in enumerate(self.axes)]
        for places in product(*steps):
            number = affine(0)
            for (i, _), axis in zip(places, self.axes, strict=True):
                number = number * len(axis.offsets) + i
            place = number * c.size + c
            with self.k.repeat(*number.terms, c, *part.tiles):
                offset = [offset for _, offset in places]
                rows, lane = self._tile_rows(), Dim("l", self.lanes)
                reads = self._row(part, offset, c, [*rows, lane])
                values = self._transformed(self.last, converted(reads, self.factor))
                writes = [self.inputs[[p, place, part.tile, lane]] for p in self._planes(rows)]
                self.k.map_all([*rows, lane], writes, reads, values)

    def _tile_rows(self) -> list[Dim]:
        """Returns the loop over rows of a transformed tile, if two dimensions are transformed."""
        return [] if self.first is None else [Dim("i", self.sides[self.first])]

    def _row(
        self,
        part: Part,
        offset: Sequence[Index],
        c: Index,
        dims: Sequence[Dim],
        number: int = 0,
    ) -> list[Access]:
        """
        Returns what tiles read of a block of channels along the last transformed dimension. The
        first one is transformed before; `number` is that of the block of those together. `dims`
        are the loops over rows, if there are any, and lanes. `offset` is the place of the part of
        the kernel that meets the block. Tiles at an edge read nothing beyond the input.
        """
        *rows, lane = dims
        start = part.places([axis.tile * axis.stride for axis in self.axes])
        at, seen = added(start, offset), self._seen(part)

        def read(axis: int, index: int, of: Sequence[Affine]) -> Access:
            return self.x[self.image.place(c, further(of, axis, index), lane)]

        if self.first is None:
            return [read(self.last, n, at) for n in range(seen[self.last])]
        (i,), j = rows, Dim("j", seen[self.last])
        column = further(at, self.last, j)
        reads = [read(self.first, n, column) for n in range(seen[self.first])]
        values = self._transformed(self.first, converted(reads, self.factor))
        half = self.halves[number]
        self.k.map_all([j, lane], [half[[n, j, lane]] for n in range(i.size)], reads, values)
        return [half[[i, n, lane]] for n in range(j.size)]

    def _planes(self, rows: Sequence[Dim]) -> Sequence[Affine]:
        """Returns the planes of the elements of a tile along the last transformed dimension."""
        side = self.sides[self.last]
        return [sum((affine(i) * side for i in rows), affine(n)) for n in range(side)]

    def _seen(self, part: Part) -> Sequence[int]:
        """Returns the size of what tiles read. Those at an edge read nothing beyond the input."""
        return [axis.reach(edge.outputs) for axis, edge in zip(self.axes, part.edges, strict=True)]

    def _transformed(self, axis: int, values: Sequence[Expr]) -> list[Expr]:
        """Returns `B^T d` along a dimension. What tiles do not read is zero."""
        missing = [None] * (self.sides[axis] - len(values))
        v = by_row_pairs(np.array([*values, *missing], object), self.transforms[axis].inputs)
        return [value or Expr.constant(0.0, self.factor) for value in v]

    def _multiply(self, tiles: int) -> None:
        """Computes `products[p, o]` in each of the planes p, as sums of products."""
        p, t, out = Dim("p", self.planes), Dim("t", tiles), Dim("k", self.block)
        o, reduced, sums = self._sums(p, t, out)
        dims = (p, *affine(o).terms, t, out)
        write, body = self.products[[p, o, t, out]], Body.passing(self.element)
        self.k.nest(Nest(dims, (write,), body, (), sums, tuple(reduced), raw=True))

    def _sums(self, p: Dim, t: Dim, out: Dim) -> tuple[Index, Sequence[Dim], Reduction]:
        """
        Returns the loop over blocks o of output channels, and `sum(inputs[p, c] * filters[p, o,
        c])`, where the channels c are those of the group of o.
        """
        o, blocks, block, factor = self._channels()
        lane = Dim("l", self.lanes)
        reads = (
            self.inputs[[p, block, t, lane]],
            self.filters[[p, o, factor * self.lanes + lane, out]],
        )
        return o, [*blocks, lane], total(Combine.ADD, self.element, *reads)

    def _channels(self) -> tuple[Index, Sequence[Dim], Affine, Affine]:
        """
        Returns the loop over blocks of output channels, and the loops over blocks of input channels
        of the same group, with the place of such a block in the input and in the filter.
        """
        c, o = Dim("c", self.inputs.shape[1] // self.group), Dim("o", self.outputs)
        if self.group == 1:
            return o, [c], affine(c), affine(c)
        g, o = Dim("g", self.group), Dim("o", self.outputs // self.group)
        c, s = Dim("c", c.size // self.parts), Dim("s", self.parts)
        block = s * self.x.shape[1] + g * c.size + c
        return g * o.size + o, [s, c], block, s * c.size + c

    def _transform_result(self, part: Part) -> None:
        """
        Computes `result = epilogue(max(A^T products A) + bias)` for the part of each tile that is
        inside.
        """
        o, out = Dim("o", self.outputs), Dim("k", self.block)
        with self.k.repeat(o, *part.tiles):
            rows, windows, reads = self._windows(part, o, out)
            at = part.places([axis.tile // self.pool for axis in self.axes])
            if self.first is not None:
                at = further(at, self.first, rows[0])
            inside = range(part.edges[self.last].outputs // self.pool)
            places = [self.image.place(o, further(at, self.last, n), out) for n in inside]
            bias = arguments(len(reads) + 1)[-1]
            values = [self._output(reduce(maximum, window)) + bias for window in windows]
            operands = [*reads, self.bias[[o, out]]]
            self.k.finish_tile((*rows, out), places, operands, values)

    def _windows(
        self, part: Part, o: Dim, out: Dim
    ) -> tuple[Sequence[Dim], Sequence[Sequence[Expr]], Sequence[Access]]:
        """
        Returns the elements of each pooled window along the last transformed dimension, where the
        first one is transformed already: the loop over its windows, and what is read.
        """
        side, pool = self.sides[self.last], self.pool
        lines: list[Sequence[Access]] = []
        rows: Sequence[Dim] = ()
        if self.first is None:
            lines.append([self.products[[p, o, part.tile, out]] for p in range(side)])
        else:
            j, outputs = Dim("j", side), part.edges[self.first].outputs
            planes = [affine(j) + n * side for n in range(self.sides[self.first])]
            reads = [self.products[[p, o, part.tile, out]] for p in planes]
            values = self._summed(self.first, arguments(len(reads)))[:outputs]
            half = self.sums
            writes = [half[[n, j, out]] for n in range(outputs)]
            self.k.map_all([j, out], writes, reads, values)
            rows = (Dim("i", outputs // pool),)
            for n in range(pool):
                line = affine(rows[0]) * pool + n
                lines.append([half[[line, i, out]] for i in range(side)])
        given = arguments(side * len(lines))
        y = [self._summed(self.last, given[n : n + side]) for n in range(0, len(given), side)]
        count = part.edges[self.last].outputs
        windows = [[e for line in y for e in line[n : n + pool]] for n in range(0, count, pool)]
        return rows, windows, [read for line in lines for read in line]

    def _summed(self, axis: int, values: Sequence[Expr]) -> list[Expr]:
        """Returns `A^T values` along a dimension."""
        return list(by_column_pairs(np.array(values, object), self.transforms[axis].outputs))

    def _output(self, value: Expr) -> Expr:
        """
        Divides a sum by the divisors, of which it is a multiple: by their odd part as a
        multiplication by the inverse modulo 2^32, and by their power of two as a shift.
        """
        divisor = prod(t.divisor for t in self.transforms)
        shift = (divisor & -divisor).bit_length() - 1
        odd = divisor >> shift
        if odd > 1:
            value = value * pow(odd, -1, 1 << 32)
        return value >> shift if shift else value


class _WinogradInParts(_Winograd):
    """A Winograd convolution with products of parts of bf16 instead of f32."""

    together = 2
    input_bytes = PARTS * element_bytes(bf16)

    def _inputs(self) -> tuple[Sequence[int], Attribute]:
        """Returns words of two parts, for the channels of two blocks."""
        return (self.filters.shape[2], PARTS, self.tiles, self.lanes), i32

    def _transform_input(self, part: Part) -> None:
        """
        Computes `inputs[., pair of blocks, part, tile, lane]`; the last pair may lack a block.
        """
        start = [0] * len(self.axes)
        for c, (n,) in each_panel(self.k, self.x.shape[1], self.together, names=("c", "n")):
            with self.k.repeat(*part.tiles):
                dims = [*self._tile_rows(), Dim("l", self.lanes)]
                *rows, lane = dims
                numbers = range(n.size)
                each = [self._row(part, start, c * self.together + i, dims, i) for i in numbers]
                reads = [read for row in each for read in row]
                given = np.array(arguments(len(reads)), object).reshape(n.size, -1)
                pairs = zip(*(self._transformed(self.last, list(v)) for v in given), strict=True)
                found = [word for pair in pairs for word in words_of_parts(*pair)]
                writes = [
                    self.inputs[[p, c, number, part.tile, lane]]
                    for p in self._planes(rows)
                    for number in range(PARTS)
                ]
                self.k.map_all([*rows, lane], writes, reads, found)

    def _sums(self, p: Dim, t: Dim, out: Dim) -> tuple[Index, Sequence[Dim], Reduction]:
        """Returns `sum(inputs[p, c, i] * filters[p, o, c, j])` over c and parts i, j."""
        o, c, lane = Dim("o", self.outputs), Dim("c", self.filters.shape[2]), Dim("l", self.lanes)
        parts, i, j = pairs_of_parts()
        reads = self.inputs[[p, c, i, t, lane]], self.filters[[p, o, c, j, lane, out, 0]]
        return o, (c, parts, lane), Reduction(Combine.ADD, self.element, reads, terms=2)


class _WinogradOfBytes(_Winograd):
    """A Winograd convolution of bytes, whose transforms are words of 16 bits."""

    factor = i16
    input_bytes = element_bytes(i16)

    def _sums(self, p: Dim, t: Dim, out: Dim) -> tuple[Index, Sequence[Dim], Reduction]:
        """Returns `sum(inputs[p, c, 2 * g + m] * filters[p, o, c, g, out, m])` over c, g and m."""
        o, blocks, block, factor = self._channels()
        g = Dim("g", self.lanes // 2)
        reads = self.inputs[[p, block, t, affine(g) * 2]], self.filters[[p, o, factor, g, out, 0]]
        return o, [*blocks, g], Reduction(Combine.ADD, self.element, reads, terms=2)
