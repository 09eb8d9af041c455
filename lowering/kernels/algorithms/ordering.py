"""
The places of the largest elements, by sorting networks.

An axis is cut into columns of `k` elements, rounded up to a power of two. Bitonic merges (Batcher
1968) sort all columns together. Then half of the columns meet the other half, element by element in
opposite orders: the larger ones of each pair are the `k` largest of two columns, in bitonic order,
and are sorted again, until one column is left. That is `O(n log^2 k)` comparisons of neighbouring
columns, which vectors make without shuffles.

What is sorted are integers that are ordered as the elements are, with the places of the elements.
They share one i64 unless elements have 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute

from ....glow_dialects.elements import element_bytes, is_float, is_unsigned, lowest
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow.indexing import TopIndicesOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, View
from ....glow_dialects.scalar import (
    Expr,
    arguments,
    bitcast,
    convert,
    equal,
    maximum,
    minimum,
    select,
)
from ..registry import Kernel, kernel
from .formula import formula
from .whole_numbers import whole_numbers

_FEW = 24
"""Elements whose ranks are counted faster than they are sorted."""


@kernel(TopIndicesOp)
def top_indices(k: Kernel) -> None:
    """Sorts the elements of each row in turn, and stores the places of the first ones."""
    (x,), axis, kept = k.operands, k.call.int("axis"), k.result.shape[k.call.int("axis")]
    size = x.shape[axis]
    if size <= _FEW or not kept:
        formula(k)
        return
    columns = _Columns(k, size, kept)
    dims = [Dim(f"d{d}", n) for d, n in enumerate(x.shape) if d != axis and n > 1]
    names = {dim.name: dim for dim in dims}
    rest: list[Index] = [names.get(f"d{d}", 0) for d in range(len(x.shape))]

    def place(index: Index) -> list[Index]:
        return [*rest[:axis], index, *rest[axis + 1 :]]

    def sort(outer: Sequence[Dim]) -> None:
        if outer:
            with k.repeat(outer[0]):
                sort(outer[1:])
            return
        i = Dim("i", size)
        columns.load(i, x[place(i)])
        columns.sort()
        p = Dim("p", kept)
        k.finish([p], place(p), [columns.views[-1][[p, 0]]], columns.place_of_element())

    sort(dims)


class _Columns:
    """
    The numbers that are sorted, the largest first: `view[r, b]` is number `r` of column `b`. There
    is one array with orders and places, or if both do not fit into an i64 one of each.
    """

    def __init__(self, k: Kernel, size: int, kept: int):
        self.k = k
        self.rows = 1 << (kept - 1).bit_length()
        """Elements of a column."""
        self.count = -(-size // self.rows)
        """The number of columns."""
        self.room = self.rows * self.count
        self.place_bits = self.room.bit_length()
        arrays = 2 if element_bytes(k.operands[0].element) == 8 else 1
        self.views = [k.scratch((self.rows, self.count), i64) for _ in range(arrays)]
        self.numbers = whole_numbers(k, size)

    def load(self, i: Dim, source: Access) -> None:
        """Stores the elements of a row, and behind them numbers that are smaller than all."""
        k, end = self.k, i.size
        order = _order(X, source.element)
        if k.call.get("smallest"):
            order = -1 - order
        # of equal elements, the first one is the largest number
        place = -1 - convert(Y, i64)
        values = [order, place]
        if len(self.views) == 1:
            values = [((order + 1) << self.place_bits) + place]
        flat = [View(v.buffer, (self.room,), (1,)) for v in self.views]
        k.map_all([i], [view[[i]] for view in flat], [source, self.numbers[[i]]], values)
        if end < self.room:
            rest = Dim("r", self.room - end)
            for view in flat:
                k.map([rest], view[[rest + end]], (), Expr.constant(lowest(i64), i64))

    def place_of_element(self) -> Expr:
        """Returns the place of an element in its row, from its number in the last array."""
        if len(self.views) > 1:
            return -1 - X
        return (-1 - X) & (2**self.place_bits - 1)

    def sort(self) -> None:
        """Puts the largest elements of all columns into the first one, in order."""
        size = 2
        while size <= self.rows:
            self._turned(size, self.count)
            self._merged(size // 2, self.count)
            size *= 2
        count = self.count
        while count > 1:
            half = count // 2
            r, b = Dim("r", self.rows), Dim("b", half)
            other = Affine({r: -1}, self.rows - 1)
            self._compare([r, b], [r, b], [other, b + (count - half)], keep_both=False)
            self._merged(self.rows, half)
            count -= half

    def _turned(self, size: int, count: int) -> None:
        """Makes one bitonic list of two sorted ones: compares the first with the last numbers."""
        half = size // 2
        g, r, b = Dim("g", self.rows // size), Dim("r", half), Dim("b", count)
        other = Affine({g: size, r: -1}, size - 1)
        self._compare([g, r, b], [g * size + r, b], [other, b])

    def _merged(self, size: int, count: int) -> None:
        """Sorts bitonic lists of `size` numbers."""
        while size > 1:
            half = size // 2
            g, r, b = Dim("g", self.rows // size), Dim("r", half), Dim("b", count)
            there = g * size + r
            self._compare([g, r, b], [there, b], [there + half, b])
            size = half

    def _compare(
        self,
        dims: Sequence[Dim],
        first: Sequence[Index],
        second: Sequence[Index],
        keep_both: bool = True,
    ) -> None:
        """Stores the larger one of two numbers in the first place, the other one in the second."""
        pairs = [(view[first], view[second]) for view in self.views]
        if len(pairs) == 1:
            larger, smaller = [maximum(X, Y)], [minimum(X, Y)]
        else:
            a, b, place_a, place_b = arguments(4)
            same = equal(a, b) & (place_a > place_b)
            before = (a > b) | same
            chosen = (a, b), (place_a, place_b)
            larger = [select(before, x, y) for x, y in chosen]
            smaller = [select(before, y, x) for x, y in chosen]
        writes, values = [p[0] for p in pairs], larger
        if keep_both:
            writes, values = writes + [p[1] for p in pairs], larger + smaller
        reads = [access for pair in pairs for access in pair]
        self.k.map_all(dims, writes, reads, values, in_place=True)


def _order(x: Expr, element: Attribute) -> Expr:
    """
    Returns an i64 that is ordered as elements are. Zeros of both signs are equal, and so are all
    NaN, which are the largest.
    """
    if not is_float(element):
        wide = convert(x, i64)
        is_long = is_unsigned(element) and element_bytes(element) == 8
        return wide ^ lowest(i64) if is_long else wide
    whole = i64 if element == f64 else i32
    bits = element_bytes(whole) * 8
    value = x if element == f64 else convert(x, f32)
    value = select(equal(value, 0.0), Expr.constant(0.0, f64 if element == f64 else f32), value)
    largest = 2 ** (bits - 1) - 1
    found = bitcast(value, whole)
    sign = found >> (bits - 1)
    ordered = found ^ (sign & largest)
    known = equal(value, value)
    return convert(select(known, ordered, Expr.constant(largest, whole)), i64)
