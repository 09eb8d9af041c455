"""
The algorithm of attention.

Many rows of a query meet the keys in blocks, as in FlashAttention (Dao et al. 2022): no more than a
block of scores is in memory, and what was summed is scaled down when a larger score appears. Blocks
that a mask hides, such as later positions, cost nothing but a look at the mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.ir import Attribute

from ....glow_dialects.elements import compute_type, element_bytes, least_finite
from ....glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ....glow_dialects.glow.elementwise import X, Y, Z
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, View, affine
from ....glow_dialects.glow_nest.nest import Combine, NumberList, Reduction
from ....glow_dialects.scalar import Expr, convert, maximum, multiply_add, select
from ..registry import Kernel, kernel, total, view_dims
from ..row_places import RowsLost
from ..schedules.blocking import (
    balanced_panel,
    hides_blocks,
    keys_together,
    masked_keys_together,
    queries_together,
    repays_packed_keys,
)
from .row_blocks import Rows, each_panel, in_blocks
from .rows import power_from, softmax_of_rows

_LEAST_EXPONENT = -64.0
"""
The least exponent of a power of e, relative to the largest in its row, which is 1. Powers with
smaller exponents would not change a sum even in f64. Products with them can be subnormal, and
processors take many times as long for these.
"""
_POWER = select(X - Y < _LEAST_EXPONENT, 0.0, power_from(_LEAST_EXPONENT))
"""The power `exp(score - peak)`, or zero where that is too small to matter."""


@kernel(AttentionOp, MaskedAttentionOp, keeps_limits=True)
def attention(k: Kernel) -> None:
    """
    Computes, for each image, each head, and a few rows of the query: the scores, the numerators of
    their softmax, and the mean of the values. Many rows read packed copies of the keys and of the
    values of the head. Heads with the same keys are rows of one head if each has one row. The sum
    over no keys is zero.
    """
    query, key = k.operands[:2]
    if not key.shape[1]:
        dims = view_dims(k.result)
        k.finish(dims, dims, [], Expr.constant(0.0, k.element))
        return
    rows, groups = query.shape[1], key.shape[2]
    _expect_rows_of_positions(k)
    n, g, m = query.dim("n", 0), Dim("h", groups), Dim("m", query.shape[2] // groups)
    is_packed = repays_packed_keys(rows)
    are_rows = rows == 1 and not is_packed
    head = _Head(k, n, g, None if are_rows else m, compute_type(query.element))
    with k.repeat(n, g):
        packed = _Packed(head) if is_packed else None
        with k.repeat(*([m] if m.size > 1 and not are_rows else [])):
            if packed is None:
                _few_rows(head)
            else:
                packed.run()


def _expect_rows_of_positions(k: Kernel) -> None:
    """
    Raises RowsLost unless dimensions with limits are images or positions, and all those of keys
    have the same limit.
    """
    query, key, value, *masks = k.operands
    positions = [key.limit(1), value.limit(1), *(m.limit(3) for m in masks if m.limit(3))]
    images = {v.limit(0) for v in (query, key, value)}
    others = [v.limit(d) for v in (query, key, value) for d in (2, 3)]
    others += [v.period(d) for v in k.operands for d in range(4)]
    if any(others) or len(set(positions)) > 1 or len(images) > 1:
        raise RowsLost("rows of attention that are no positions, or only of some operands")


@dataclass(frozen=True)
class _Head:
    """A head of an image. All heads of a group have the same key and value."""

    k: Kernel
    n: Dim
    g: Dim
    """The group."""
    m: Dim | None
    """The number of the head in its group; None if the heads are rows."""
    element: Attribute
    """The type in which it computes."""

    @property
    def members(self) -> int:
        return self.k.operands[0].shape[2] // self.g.size

    @property
    def rows(self) -> Rows:
        if self.m is None:
            return Rows((), 0, Dim("i", self.members))
        return Rows((), 0, self.k.operands[0].dim("i", 1))

    def _row(self, row: Index) -> tuple[Index, Index]:
        """Returns the position and the head of a row."""
        if self.members == 1:
            return row, self.g
        first = affine(self.g) * self.members
        return (0, first + row) if self.m is None else (row, first + self.m)

    def query(self, row: Index, column: Index) -> Access:
        return self.k.operands[0][self.place(row, column)]

    def of(self, operand: int, position: Index, column: Index) -> Access:
        """Returns an element of the key or the value."""
        return self.k.operands[operand][[self.n, position, self.g, column]]

    def mask(self, row: Index, position: Index) -> list[Access]:
        place, head = self._row(row)
        return [view[[self.n, head, place, position]] for view in self.k.operands[3:]]

    def place(self, row: Index, column: Index) -> list[Index]:
        """Returns the indices of an element of the result."""
        place, head = self._row(row)
        return [self.n, place, head, column]


def _few_rows(head: _Head) -> None:
    """
    Computes a few rows at a time, with all their scores, from keys and values as they are. Of many
    masked keys, it reads the blocks that a row sees.
    """
    k, element = head.k, head.element
    key, value = k.operands[1:3]
    count = queries_together(head.rows.row.size)
    j, t, d = key.dim("j", 1), key.dim("t", 3), value.dim("d", 3)
    powers = k.scratch((count, j.size), element)
    peak, share = k.scratch((count,), element), k.scratch((count,), element)
    hides = len(k.operands) > 3 and j.limit is None and hides_blocks(j.size)
    blocks = _Blocks(head, masked_keys_together(j.size) if hides else j.size)
    sums = k.scratch((count, d.size), element) if hides else None
    scaled, result = X * k.call.float("scale"), _kept(k, X * Y, Y < inf)
    for at in in_blocks(k, head.rows, count):
        (i,), row = at.place, at.row
        scores, lists = powers[[row, j]], blocks.visible(at) if hides else ()
        if hides:
            k.map([row, j], scores, (), Expr.constant(least_finite(element), element))
        for block, near in blocks.each(lists):
            position = block * blocks.together + near
            products = total(Combine.ADD, element, head.query(i, t), head.of(1, position, t))
            mask = head.mask(i, position)
            place = powers[[row, position]]
            k.map([row, near], place, mask, scaled + Y if mask else scaled, [t], products)
        softmax_of_rows(k, row, j, None, scores, peak[[row]], share[[row]], _POWER)
        if sums is None:
            means = total(Combine.ADD, element, scores, head.of(2, j, d))
            k.finish([row, d], head.place(i, d), [share[[row]]], result, [j], means)
            continue
        k.fill(sums, 0)
        for block, near in blocks.each(lists):
            position = block * blocks.together + near
            more = total(Combine.ADD, element, powers[[row, position]], head.of(2, position, d))
            k.update([row, d], sums[[row, d]], (), X + Y, [near], more)
        k.finish([row, d], head.place(i, d), [sums[[row, d]], share[[row]]], result)


@dataclass(frozen=True)
class _Blocks:
    """The keys of a head in blocks, the last of which may be smaller."""

    head: _Head
    together: int
    """The keys of a block."""

    @property
    def keys(self) -> int:
        return self.head.k.operands[1].shape[1]

    def _parts(self) -> Iterator[tuple[int, Dim, Dim]]:
        """
        Yields the number of the first of some blocks, and loop variables over them and over the
        keys of each.
        """
        blocks, rest = divmod(self.keys, self.together)
        limit = self.head.k.operands[1].limit(1)
        yield 0, Dim("c", blocks), Dim("j", self.together, limit)
        if rest:
            yield blocks, Dim("c", 1), Dim("j", rest, limit)

    def each(self, lists: Sequence[NumberList] = ()) -> Iterator[tuple[Affine, Dim]]:
        """
        Yields the number of a block and the loop over its keys, in a loop over all blocks, or over
        those that `visible` lists.
        """
        k = self.head.k
        for part, (first, block, j) in enumerate(self._parts()):
            if lists:
                with k.repeat_listed(lists[part], 1) as (at,):
                    yield affine(at) + first, j
            else:
                with k.repeat(block):
                    yield affine(block) + first, j

    def visible(self, rows: Rows) -> Sequence[NumberList]:
        """
        Lists those blocks of which some row sees a key: half of them where positions see no later
        ones. A row without any visible key needs all blocks, since its result is NaN or the mean of
        all values.
        """
        head, k, row, element = self.head, self.head.k, rows.row, self.head.element
        count = -(-self.keys // self.together)
        masks, visible = k.scratch((row.size, count), element), k.scratch((count,), element)
        best = k.scratch((row.size,), element)[[row]]
        for first, block, j in self._parts():
            at = affine(block) + first
            (mask,) = head.mask(rows.place[0], at * self.together + j)
            largest = total(Combine.MAXIMUM, element, mask)
            k.map([row, block], masks[[row, at]], (), X, [j], largest)
        every = Dim("c", count)
        k.map([row], best, (), X, [every], total(Combine.MAXIMUM, element, masks[[row, every]]))
        hidden, one = least_finite(element) / 2, Expr.constant(1, element)
        sees = select(X <= hidden, select(Y <= hidden, one, 0), one)
        reads = masks[[row, every]], best
        some = total(Combine.MAXIMUM, element, *reads, value=sees)
        k.map([every], visible[[every]], (), X, [row], some)
        return [
            k.list_nonzeros(block, visible[[affine(block) + first]])
            for first, block, _ in self._parts()
        ]


class _Packed:
    """
    A head whose keys and values are copied first to panels, each of which vectors read in order.
    """

    def __init__(self, head: _Head):
        k, element = head.k, head.element
        self.head, self.k = head, k
        rows, inner = k.operands[0].shape[1::2]
        self.keys, self.columns = k.operands[2].shape[1::2]
        lanes = k.lanes(element)
        self.key_width = balanced_panel(k.machine, lanes, self.keys)
        self.width = balanced_panel(k.machine, lanes, self.columns)
        count = queries_together(rows)
        row_bytes = element_bytes(element) * self.width
        self.is_masked = len(k.operands) > 3
        self.limit = k.operands[1].limit(1)
        """The limit of keys. All keys are one block if there is one."""
        together = self.keys
        if self.limit is None:
            together = keys_together(
                k.machine, self.keys, row_bytes, self.key_width, self.is_masked
            )
        self.blocks = _Blocks(head, together)
        self.t = Dim("t", inner)
        self.key_panels = self._panels(self.keys, self.key_width, inner)
        self.value_panels = self._panels(self.columns, self.width, self.keys)
        self.query = k.scratch((count, inner), element)
        self.powers = k.scratch((count, together), element)
        self.sums = k.scratch((count, self.columns), element)
        self.peak, self.former, self.share = (k.scratch((count,), element) for _ in range(3))
        self._pack()

    def _panels(self, columns: int, width: int, inner: int) -> View:
        return self.k.scratch((-(-columns // width), inner, width), self.head.element)

    def _pack(self) -> None:
        """Copies the keys and values of a group of heads to panels."""
        k, t, of, j = self.k, self.t, self.head.of, Dim("j", self.keys, self.limit)
        for p, (lane,) in each_panel(k, self.keys, self.key_width, self.limit, opens=True):
            position = p * self.key_width + lane
            k.copy([t, lane], self.key_panels[[p, t, lane]], of(1, position, t))
        for p, (lane,) in each_panel(k, self.columns, self.width):
            column = p * self.width + lane
            k.copy([j, lane], self.value_panels[[p, j, lane]], of(2, j, column))

    def run(self) -> None:
        """Computes the rows of a head."""
        for rows in in_blocks(self.k, self.head.rows, self.query.shape[0]):
            self._add_rows(rows)

    def _add_rows(self, rows: Rows) -> None:
        """Computes some rows of the result."""
        k, (i,), row, t = self.k, rows.place, rows.row, self.t
        query = convert(X, self.head.element) * k.call.float("scale")
        k.map([row, t], self.query[[row, t]], [self.head.query(i, t)], query)
        if self.blocks.together == self.keys:
            self._whole(rows)
            return
        d, first = Dim("d", self.columns), least_finite(self.head.element)
        k.map([row], self.former[[row]], (), Expr.constant(first, self.head.element))
        k.fill(self.share, 0)
        k.fill(self.sums, 0)
        lists = self.blocks.visible(rows) if self.is_masked else ()
        for block, j in self.blocks.each(lists):
            self._add_block(rows, block, j)
        quotient = [self.sums[[row, d]], self.share[[row]]]
        k.finish([row, d], self.head.place(i, d), quotient, _kept(k, X / Y, Y > 0))

    def _whole(self, rows: Rows) -> None:
        """Computes the result where all keys are one block."""
        k, (i,), row, j = self.k, rows.place, rows.row, Dim("j", self.keys, self.limit)
        peak, share = self.peak[[row]], self.share[[row]]
        self._scores(rows, affine(0), self.keys)
        softmax_of_rows(k, row, j, None, self.powers[[row, j]], peak, share, _POWER)
        for p, (lane,) in each_panel(k, self.columns, self.width):
            place = self.head.place(i, p * self.width + lane)
            result, means = _kept(k, X * Y, Y < inf), self._means(row, j, p, lane, j)
            k.finish([row, lane], place, [share], result, [j], means)

    def _add_block(self, rows: Rows, block: Affine, j: Dim) -> None:
        """Adds what a block of keys gives, and scales what was summed to the largest score."""
        k, row = self.k, rows.row
        scores, peak, former = self.powers[[row, j]], self.peak[[row]], self.former[[row]]
        element, share = self.head.element, self.share[[row]]
        self._scores(rows, block, j.size)
        largest = total(Combine.LARGEST_NUMBER, element, scores)
        k.map([row], peak, [former], maximum(X, Y), [j], largest)
        k.update([row, j], scores, [peak], _POWER)
        k.update([row], former, [peak], _POWER)
        # the former peak has become the factor of what was summed
        added = multiply_add(Y, Z, X)
        k.update([row], share, [former], added, [j], total(Combine.ADD, element, scores))
        for p, (lane,) in each_panel(k, self.columns, self.width):
            at = self.sums[[row, p * self.width + lane]]
            means = self._means(row, j, p, lane, block * self.blocks.together + j)
            k.update([row, lane], at, [former], added, [j], means)
        k.copy([row], former, peak)

    def _scores(self, rows: Rows, block: Affine, keys: int) -> None:
        """Computes the scores of a block of keys."""
        k, (i,), row, t = self.k, rows.place, rows.row, self.t
        together = self.blocks.together
        for p, (lane,) in each_panel(k, keys, self.key_width, self.limit):
            column = p * self.key_width + lane
            position = block * together + column
            panel = block * (together // self.key_width) + p
            reads = self.query[[row, t]], self.key_panels[[panel, t, lane]]
            products = total(Combine.ADD, self.head.element, *reads)
            mask = self.head.mask(i, position)
            scores = self.powers[[row, column]]
            k.map([row, lane], scores, mask, X + Y if mask else X, [t], products)

    def _means(self, row: Dim, j: Dim, p: Affine, lane: Dim, position: Index) -> Reduction:
        reads = self.powers[[row, j]], self.value_panels[[p, position, lane]]
        return total(Combine.ADD, self.head.element, *reads)


def _kept(k: Kernel, mean: Expr, is_weighted: Expr) -> Expr:
    """Returns a mean, or zero if the node is safe and the sum of the weights is no number."""
    return select(is_weighted, mean, 0) if k.call.get("safe") else mean
