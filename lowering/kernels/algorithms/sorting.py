"""
Sorting networks on columns of numbers, which vectors compute without shuffles.

Bitonic merges (Batcher 1968) sort all columns together. Then half of the columns meet the other
half, element by element in opposite orders: the larger ones of each pair are the largest numbers of
two columns, in bitonic order, and are sorted again, until one column is left. For the `k` largest
of `n` numbers that is `O(n log^2 k)` comparisons of neighbouring columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute

from ....glow_dialects.elements import element_bytes, is_float, is_unsigned, lowest
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_nest.affine import Affine, Dim, Index, View
from ....glow_dialects.scalar import Expr, arguments, bitcast, convert, equal, multiply_add, select
from ..registry import Kernel

_SPARE_BITS = 53 - 32
"""The bits of whole numbers in f64 that are left beside those of an i32."""


class Columns:
    """
    Numbers in columns, in several lanes at once: `view[r, b, i]` is number `r` of column `b` of
    lane `i`. Where a key and a place do not fit into one number, there is a view of each.
    """

    def __init__(self, k: Kernel, rows: int, count: int, lane: Dim, elements: Sequence[Attribute]):
        """A column has `rows` numbers, a power of two, of some types; there are `count` columns."""
        self.k, self.rows, self.count, self.lane = k, rows, count, lane
        self.views = [k.scratch((rows, count, lane.size), element) for element in elements]

    @property
    def lists(self) -> Sequence[View]:
        """The same numbers as one list in each lane: `view[n, i]`."""
        shape = (self.rows * self.count, self.lane.size)
        return [View.dense(view.buffer, shape) for view in self.views]

    def clear(self, first: int = 0) -> None:
        """Makes the numbers from a place of the list on smaller than all others."""
        rest = self.rows * self.count - first
        if not rest:
            return
        n = Dim("n", rest)
        for view in self.lists:
            least = Expr.constant(lowest(view.element), view.element)
            self.k.map([n, self.lane], view[[n + first, self.lane]], (), least)

    def sort(self) -> None:
        """Puts the largest numbers of all columns into the first one, in descending order."""
        size = 2
        while size <= self.rows:
            self._turned(size)
            self._merged(size // 2, self.count)
            size *= 2
        count = self.count
        while count > 1:
            half = count // 2
            b = Dim("b", half)
            self._keep_larger(self, [b], b, b + (count - half))
            self._merged(self.rows, half)
            count -= half

    def add(self, others: Columns) -> None:
        """Puts the largest numbers of two sorted columns into one, that of this."""
        self._keep_larger(others, [], 0, 0)
        self._merged(self.rows, 1)

    def _keep_larger(
        self, others: Columns, columns: Sequence[Dim], mine: Index, other: Index
    ) -> None:
        """Keeps the larger ones of numbers and others in the opposite order, in some columns."""
        r = Dim("r", self.rows)
        turned = Affine({r: -1}, self.rows - 1)
        self._compare([r, *columns], [r, mine], others, [turned, other], keep_both=False)

    def _turned(self, size: int) -> None:
        """Makes one bitonic list of two sorted ones: compares the first with the last numbers."""
        half = size // 2
        g, r, b = Dim("g", self.rows // size), Dim("r", half), Dim("b", self.count)
        other = Affine({g: size, r: -1}, size - 1)
        self._compare([g, r, b], [g * size + r, b], self, [other, b])

    def _merged(self, size: int, count: int) -> None:
        """Sorts bitonic lists of `size` numbers in the first columns."""
        while size > 1:
            half = size // 2
            g, r, b = Dim("g", self.rows // size), Dim("r", half), Dim("b", count)
            there = g * size + r
            self._compare([g, r, b], [there, b], self, [there + half, b])
            size = half

    def _compare(
        self,
        dims: Sequence[Dim],
        first: Sequence[Index],
        others: Columns,
        second: Sequence[Index],
        keep_both: bool = True,
    ) -> None:
        """Stores the larger one of two numbers in the first place, the other one in the second."""
        views = zip(self.views, others.views, strict=True)
        pairs = [(a[[*first, self.lane]], b[[*second, self.lane]]) for a, b in views]
        if len(pairs) == 1:
            larger, smaller = [select(X > Y, X, Y)], [select(X > Y, Y, X)]
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
        self.k.map_all([*dims, self.lane], writes, reads, values, in_place=True)


@dataclass(frozen=True)
class Keys:
    """
    Numbers that are ordered as the elements of a row are. Of equal elements, the first has the
    largest number.
    """

    element: Attribute
    size: int
    """The elements of a row."""
    smallest: bool
    """Whether the order is the opposite one."""

    @property
    def whole(self) -> Attribute:
        """The type of numbers without places."""
        return i64 if element_bytes(self.element) == 8 else i32

    @property
    def _steps(self) -> int:
        """The distance between numbers of different elements, with one for each place."""
        return 1 << self.size.bit_length()

    @property
    def _fit(self) -> bool:
        """Whether an element and its place fit into a number f64, of which vectors are fast."""
        return self.whole == i32 and self._steps <= 2**_SPARE_BITS

    @property
    def elements(self) -> Sequence[Attribute]:
        """The types of the numbers with places."""
        return [f64] if self._fit else [i64, i64]

    @property
    def bytes(self) -> int:
        """The bytes of an element's numbers."""
        return sum(map(element_bytes, self.elements))

    def order(self, x: Expr) -> Expr:
        """Returns the number of an element, without its place."""
        order = _order(x, self.element, self.whole)
        return -1 - order if self.smallest else order

    def numbers(self, x: Expr, place: Expr) -> Sequence[Expr]:
        """Returns the numbers of an element and its place, an i32."""
        if not self._fit:
            return [convert(self.order(x), i64), -1 - convert(place, i64)]
        rest = convert(self._steps - 1 - place, f64)
        return [multiply_add(convert(self.order(x), f64), float(self._steps), rest)]

    def place(self, numbers: Sequence[Expr]) -> Expr:
        """Returns the place of an element, an i64, from its numbers."""
        number = numbers[-1]
        if not self._fit:
            return -1 - number
        return self._steps - 1 - (convert(number, i64) & (self._steps - 1))


def _order(x: Expr, element: Attribute, whole: Attribute) -> Expr:
    """
    Returns an integer of type `whole` that is ordered as elements are. Zeros of both signs are
    equal, and so are all NaN, which are the largest.
    """
    bits = element_bytes(whole) * 8
    if not is_float(element):
        same_width = is_unsigned(element) and element_bytes(element) * 8 == bits
        number = convert(x, whole)
        return number ^ lowest(whole) if same_width else number
    value = x if element == f64 else convert(x, f32)
    value = select(equal(value, 0.0), Expr.constant(0.0, f64 if element == f64 else f32), value)
    largest = 2 ** (bits - 1) - 1
    found = bitcast(value, whole)
    sign = found >> (bits - 1)
    ordered = found ^ (sign & largest)
    known = equal(value, value)
    return select(known, ordered, Expr.constant(largest, whole))
