"""
The places of the largest elements, by sorting networks (`sorting`).

What is sorted are whole numbers in the order of the elements, with the places of the elements.
Short rows are sorted several at a time, a row in each lane of vectors. Of a long row, most elements
are left out first: it is cut into columns, and the `k`-th largest of their maxima is at most the
`k`-th largest element. So only elements from it on are sorted. With twice as many columns as
elements that are kept, these are 1.4 times as many as are kept, if elements lie in any order.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import i8, i32

from ....glow_dialects.elements import lowest
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow.indexing import TopIndicesOp
from ....glow_dialects.glow_nest.affine import Dim, Index, Indirect
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.scalar import Expr, arguments, select
from ..registry import Kernel, kernel, total
from ..schedules.blocking import repays_selection, rows_sorted_together
from .formula import formula
from .lists import flag, list_blocks, whole_numbers
from .row_blocks import Rows, for_rows
from .sorting import Columns, Keys

_FEW = 24
"""Elements whose ranks are counted faster than they are sorted."""
_LEAST_COLUMNS = 64
"""Columns of a long row, of which a few elements are kept."""
_LEAST_LENGTH = 4
"""Elements of a column from which on looking for the largest ones first pays off."""


@kernel(TopIndicesOp)
def top_indices(k: Kernel) -> None:
    """Sorts the elements of rows, and stores the places of the first ones."""
    if k.operands[0].shape[k.call.int("axis")] <= _FEW or not k.result.shape[k.call.int("axis")]:
        formula(k)
        return
    _Top(k).add_nests()


class _Top:
    """The rows along an axis, and the nests that find the largest elements of each."""

    def __init__(self, k: Kernel):
        self.k = k
        (self.x,) = k.operands
        self.axis = k.call.int("axis")
        self.kept = k.result.shape[self.axis]
        self.size = self.x.shape[self.axis]
        self.keys = Keys(self.x.element, self.size, bool(k.call.get("smallest")))
        self.column = 1 << (self.kept - 1).bit_length()
        """Numbers of a column that is sorted."""
        self.room = max(_LEAST_COLUMNS, 2 * self.column)
        """Columns of a long row, and the elements from it that are sorted at a time."""
        self.blocks = -(-self.size // self.room)
        """The times after which all elements of a long row would be sorted."""

    def add_nests(self) -> None:
        k = self.k
        rows, row_bytes = prod(self.x.shape) // self.size, self.size * self.keys.bytes
        is_long = self.size >= _LEAST_LENGTH * self.room
        if is_long and repays_selection(k.machine, rows, row_bytes):
            self.numbers = whole_numbers(k, max(self.room, self.blocks))
            count, sort = 1, self._sort_largest
        else:
            self.numbers = whole_numbers(k, self.size)
            count = rows_sorted_together(k.machine, k.threads, rows, row_bytes)
            sort = self._sort_all
        for rows in for_rows(k, self.x.rank - 1, self.x, count, along=self.axis):
            sort(rows)

    def _place(self, rows: Rows, index: Index) -> list[Index]:
        """Returns the indices of an element of a row."""
        place = rows.place
        return [*place[: self.axis], index, *place[self.axis :]]

    def _sort_all(self, rows: Rows) -> None:
        k, i = self.k, Dim("n", self.size)
        count = -(-self.size // self.column)
        columns = Columns(k, self.column, count, rows.row, self.keys.elements)
        # elements of neighbouring rows come to lie next to each other
        copied = k.scratch((self.size, rows.row.size), self.x.element)
        k.copy([i, rows.row], copied[[i, rows.row]], self.x[self._place(rows, i)])
        writes = [view[[i, rows.row]] for view in columns.lists]
        reads = [copied[[i, rows.row]], self.numbers[[i]]]
        k.map_all([i, rows.row], writes, reads, self.keys.numbers(X, Y))
        columns.clear(self.size)
        columns.sort()
        self._finish(rows, columns)

    def _sort_largest(self, rows: Rows) -> None:
        """Sorts the elements that may be among the largest ones, some at a time."""
        k, room, i = self.k, self.room, Dim("n", self.size)
        least = self._sorted_maxima(rows, room).views[0][[self.kept - 1, 0, 0]]
        mask, numbers = k.scratch((self.size,), i8), k.scratch((self.blocks * room,), i32)
        reads = [self.x[self._place(rows, i)], least]
        k.map([i, rows.row], mask[[i]], reads, flag(self.keys.order(X) >= Y))
        found = k.list_nonzeros(i, mask[[i]], numbers)
        used = list_blocks(k, found, self.blocks, room, self.numbers)

        best = Columns(k, self.column, 1, rows.row, self.keys.elements)
        best.clear()
        more = Columns(k, self.column, room // self.column, rows.row, self.keys.elements)
        q = Dim("q", room)
        with k.repeat_listed(used, 1) as (block,):
            at = numbers[[block * room + q]]
            chosen = Indirect(at, self.size, self.x.strides[self.axis])
            x = replace(self.x[self._place(rows, 0)], indirect=chosen)
            reads = [x, at, self.numbers[[q]], self.numbers[[block]], found.count]
            value, place, number, before, count = arguments(5)
            # what lies behind the list in memory is anything
            is_listed = before * room + number < count
            least_numbers = (Expr.constant(lowest(t), t) for t in self.keys.elements)
            pairs = zip(self.keys.numbers(value, place), least_numbers, strict=True)
            values = [select(is_listed, number, smallest) for number, smallest in pairs]
            k.map_all([q, rows.row], [view[[q, 0]] for view in more.lists], reads, values)
            more.sort()
            best.add(more)
        self._finish(rows, best)

    def _sorted_maxima(self, rows: Rows, count: int) -> Columns:
        """Returns the maxima of some columns of a row, of which the largest ones are sorted."""
        whole = self.keys.whole
        maxima = Columns(self.k, self.column, count // self.column, rows.row, [whole])
        c, r = Dim("c", count), Dim("r", self.size // count)
        x = self.x[self._place(rows, r * count + c)]
        largest = total(Combine.MAXIMUM, whole, x, value=self.keys.order(X))
        self.k.map([c, rows.row], maxima.lists[0][[c, 0]], (), X, [r], largest)
        maxima.sort()
        return maxima

    def _finish(self, rows: Rows, columns: Columns) -> None:
        """Stores the places of the elements of the first column."""
        p = Dim("p", self.kept)
        reads = [view[[p, 0, rows.row]] for view in columns.views]
        place = self.keys.place(arguments(len(reads)))
        self.k.finish([p, rows.row], self._place(rows, p), reads, place)
