"""Lists of chosen elements, and the boxes that non-maximum suppression leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf

from xdsl.dialects.builtin import f32, i8, i32, i64

from ....glow_dialects.glow.elementwise import X, Y, Z
from ....glow_dialects.glow.selection import NonMaxSuppressionOp, NonzeroPlacesOp
from ....glow_dialects.glow_nest.affine import Access, Dim, View
from ....glow_dialects.glow_nest.nest import Combine, NumberList
from ....glow_dialects.scalar import Expr, arguments, convert, equal, maximum, minimum, select
from ..registry import Kernel, kernel, total
from ..schedules.blocking import candidates_compared
from .lists import flag, list_blocks, whole_numbers

_BLOCK = 64
"""Candidates that are looked at together, in vectors."""
_PARTS = 5
"""The corners of a box, and its area."""
_GONE = Expr.constant(-inf, f32)
"""The score of a candidate that was looked at."""
_NONE, _ONE = Expr.constant(0, i32), Expr.constant(1, i32)


@kernel(NonzeroPlacesOp)
def nonzero_places(k: Kernel) -> None:
    (x,) = k.operands
    n = Dim("n", x.shape[0])
    if not n.size:
        return
    order, listing = whole_numbers(k, n.size), k.list_nonzeros(n, x[[n]])
    # what lies behind the list in memory is anything
    reads = [listing.place, order[[n]], listing.count]
    k.finish([n], [n], reads, convert(select(Y < Z, X, Expr.constant(0, i32)), i64))


@kernel(NonMaxSuppressionOp)
def non_max_suppression(k: Kernel) -> None:
    """
    Looks at the candidates of a class from the best one on, and chooses those that overlap none
    that was chosen before.

    Candidates lie one after the other in blocks. The largest score of each block is kept, so that
    the best candidate is found in two short steps. Where many of them overlap a chosen one, it
    takes less time to compare all at once.
    """
    images, classes, boxes = k.operands[1].shape
    most = k.result.shape[2]
    k.fill(k.result, -1)
    if not boxes or not most:
        return
    order = whole_numbers(k, -(-boxes // _BLOCK) * _BLOCK)
    b, c = Dim("b", images), Dim("c", classes)
    with k.repeat(b, c):
        candidates = _Candidates(k, order, boxes)
        found = candidates.collect(b, c)
        chosen = _Chosen(k, order, most)
        with k.repeat_listed(found, 1):
            going = select(X > _GONE, select(Y < most, _ONE, _NONE), _NONE)
            with _only_if(k, order, [candidates.best[()], chosen.count[()]], going):
                candidates.take(chosen.box)
                overlaps = chosen.overlaps(k.operands[2])
                with _only_if(k, order, [overlaps], _ONE - X):
                    chosen.add([b, c], candidates.number())
                with chosen.if_many_overlap(overlaps, found.count) as box:
                    candidates.remove_overlapping(box, k.operands[2])


def _corners(box: Sequence[Expr], center: bool) -> Sequence[Expr]:
    """Returns `y0, x0, y1, x1` and the area of a box."""
    first, second, third, fourth = box
    if center:
        sides = (second, fourth * 0.5), (first, third * 0.5)
        ends = [*(at - half for at, half in sides), *(at + half for at, half in sides)]
    else:
        pairs = (first, third), (second, fourth)
        ends = [f(*pair) for f in (minimum, maximum) for pair in pairs]
    return [*ends, (ends[2] - ends[0]) * (ends[3] - ends[1])]


@contextmanager
def _only_if(k: Kernel, order: View, reads: Sequence[Access], count: Expr) -> Iterator[None]:
    """Runs the steps that are added inside if `count`, of some reads, is 1, and not if it is 0."""
    one, times = Dim("one", 1), k.scratch((), i32)
    k.map((), times[()], reads, count)
    with k.repeat_listed(NumberList(one, order[[one]], times[()]), 1):
        yield


class _Candidates:
    """The candidates of a class, in blocks."""

    def __init__(self, k: Kernel, order: View, boxes: int):
        """`order` has a whole number for each place in the blocks."""
        self.k, self.order = k, order
        self.j = Dim("j", _BLOCK)
        """The place in a block."""
        self.blocks = -(-boxes // _BLOCK)
        room = self.blocks * _BLOCK
        self.numbers = k.scratch((room,), i32)
        """The boxes that they are."""
        self.scores = k.scratch((room,), f32)
        """Their scores until they are looked at."""
        self.corners = k.scratch((_PARTS, room), f32)
        self.largest = k.scratch((self.blocks,), f32)
        """The largest score of each block."""
        self.best, self.block, self.place = (k.scratch((), t) for t in (f32, i32, i32))
        """The best score, its block, and its place in all blocks."""

    def collect(self, b: Dim, c: Dim) -> NumberList:
        """Lists the candidates of a class of an image, and copies what is known of them."""
        k, boxes, scores, _, threshold = self.k, *self.k.operands
        count = scores.shape[2]
        n, mask = Dim("n", count), k.scratch((count,), i8)
        k.map([n], mask[[n]], [scores[[b, c, n]], threshold[[0]]], flag(X > Y))
        listing = k.list_nonzeros(n, mask[[n]], self.numbers)
        self.used = list_blocks(k, listing, self.blocks, self.j.size, self.order)
        k.fill(self.largest, -inf)
        with k.repeat_listed(self.used, 1) as (block,):
            place = block * self.j.size + self.j
            number = self.numbers[[place]]
            given = [scores.chosen([b, c, number]), self.order[[place]]]
            value = select(Y < Z, X, _GONE)
            k.map([self.j], self.scores[[place]], [*given, listing.count], value)
            box = [boxes.chosen([b, number, i]) for i in range(4)]
            values = _corners(arguments(4), bool(k.call.get("center")))
            writes = [self.corners[[i, place]] for i in range(_PARTS)]
            k.map_all([self.j], writes, box, values)
            self._note_largest(self.largest[[block]], self.scores[[place]])
        self._find_best()
        return listing

    def take(self, box: View) -> None:
        """Copies the box of the best candidate, which is none any more."""
        k, j, block, taken = self.k, self.j, self.block[()], self.place[()]
        blocks = View.dense(self.scores.buffer, (self.blocks, j.size))
        reads = blocks.chosen([block, j]), self.best[()], self.order[[j]]
        own = total(Combine.MINIMUM, i32, *reads, value=self._place_if_best())
        k.map((), self.place[()], [self.block[()]], Y * j.size + X, [j], own)
        for i in range(_PARTS):
            k.copy((), box[[i]], self.corners.chosen([i, taken]))
        k.map((), self.scores.chosen([taken]), (), _GONE)
        self._note_largest(self.largest.chosen([block]), reads[0])
        self._find_best()

    def remove_overlapping(self, box: Sequence[Access], threshold: View) -> None:
        """Removes the candidates that overlap a box."""
        k = self.k
        with k.repeat_listed(self.used, 1) as (block,):
            place = block * self.j.size + self.j
            reads = [*(self.corners[[i, place]] for i in range(_PARTS)), *box, threshold[[0]]]
            score = self.scores[[place]]
            kept = select(_overlap(), _GONE, Expr.argument(len(reads)))
            k.map_all([self.j], [score], [*reads, score], [kept], in_place=True)
            self._note_largest(self.largest[[block]], score)
        self._find_best()

    def number(self) -> Access:
        """Returns the number of the box that was taken last."""
        return self.numbers.chosen([self.place[()]])

    def _find_best(self) -> None:
        """Finds the largest score, and the first block that has it."""
        k, p = self.k, Dim("p", self.blocks)
        best = total(Combine.MAXIMUM, f32, self.largest[[p]])
        k.map((), self.best[()], (), X, [p], best)
        reads = self.largest[[p]], self.best[()], self.order[[p]]
        first = total(Combine.MINIMUM, i32, *reads, value=self._place_if_best())
        k.map((), self.block[()], (), X, [p], first)

    def _place_if_best(self) -> Expr:
        return select(equal(X, Y), Z, Expr.constant(self.scores.shape[0], i32))

    def _note_largest(self, target: Access, score: Access) -> None:
        self.k.map((), target, (), X, [self.j], total(Combine.MAXIMUM, f32, score))


class _Chosen:
    """The boxes that are chosen, in blocks of a vector."""

    def __init__(self, k: Kernel, order: View, most: int):
        self.k, self.order = k, order
        self.lanes = k.lanes(f32)
        self.blocks = -(-most // self.lanes)
        self.count, self.used = k.scratch((), i32), k.scratch((), i32)
        """The number of boxes, and of their blocks."""
        self.compared, self.overlapping = k.scratch((), i32), k.scratch((), i32)
        """
        The number of boxes with which all candidates were compared, and how many candidates were
        looked at since then that overlap another one.
        """
        self.corners = k.scratch((_PARTS, self.blocks * self.lanes), f32)
        """The corners and areas of boxes; an area of 0 where there is none."""
        self.box = k.scratch((_PARTS,), f32)
        """The box that is looked at."""
        for counter in (self.count, self.used, self.compared, self.overlapping):
            k.fill(counter, 0)
        k.fill(self.corners, 0)

    def overlaps(self, threshold: View) -> Access:
        """Returns 1 if the box overlaps one that is chosen by more than the threshold, else 0."""
        k, found = self.k, self.k.scratch((), i32)
        block, j = Dim("block", self.blocks), Dim("j", self.lanes)
        k.fill(found, 0)
        used = NumberList(block, self.order[[block]], self.used[()])
        with k.repeat_listed(used, 1) as (each,):
            place = each * self.lanes + j
            reads = [self.corners[[i, place]] for i in range(_PARTS)]
            reads += [self.box[[i]] for i in range(_PARTS)]
            value = select(_overlap(), _ONE, _NONE)
            most = total(Combine.MAXIMUM, i32, *reads, threshold[[0]], value=value)
            k.update((), found[()], (), maximum(X, Y), [j], most)
        return found[()]

    @contextmanager
    def if_many_overlap(self, overlaps: Access, candidates: Access) -> Iterator[Sequence[Access]]:
        """
        Runs steps for each chosen box with which not all candidates were compared, if enough were
        looked at in vain to repay comparing all of them. Yields the box.
        """
        k, most = self.k, self.corners.shape[1]
        k.map((), self.overlapping[()], [self.overlapping[()], overlaps], X + Y)
        box, new = Dim("box", most), k.scratch((most,), i32)
        times = k.scratch((), i32)
        k.map((), times[()], [self.count[()], self.compared[()]], X - Y)
        vain, boxes, all_candidates = (convert(e, f32) for e in (X, Y, Z))
        reads = self.overlapping[()], times[()], candidates
        repays = vain * candidates_compared(self.lanes) > boxes * all_candidates
        with _only_if(k, self.order, reads, select(repays, _ONE, _NONE)):
            k.map([box], new[[box]], [self.order[[box]], self.compared[()]], X + Y)
            with k.repeat_listed(NumberList(box, new[[box]], times[()]), 1) as (each,):
                yield [self.corners[[i, each]] for i in range(_PARTS)]
            k.copy((), self.compared[()], self.count[()])
            k.fill(self.overlapping, 0)

    def add(self, row: Sequence[Dim], number: Access) -> None:
        """Stores the box, and its number in a row of the result."""
        k, last = self.k, self.count[()]
        k.map((), k.result.chosen([*row, last]), [number], convert(X, i64))
        for i in range(_PARTS):
            k.copy((), self.corners.chosen([i, last]), self.box[[i]])
        k.update((), self.count[()], (), X + 1)
        full = X + (self.lanes - 1)
        k.map((), self.used[()], [self.count[()]], full >> (self.lanes.bit_length() - 1))


def _overlap() -> Expr:
    """
    Returns whether the intersection of boxes is more than a part of their union, from the corners
    and the area of one box, those of the other one, and the least part.
    """
    *parts, threshold = arguments(2 * _PARTS + 1)
    a, b = parts[:_PARTS], parts[_PARTS:]
    zero = Expr.constant(0.0, f32)
    height, width = (
        maximum(minimum(a[d + 2], b[d + 2]) - maximum(a[d], b[d]), zero) for d in range(2)
    )
    shared = height * width
    more = shared / (a[4] + b[4] - shared) > threshold
    return more & (a[4] > zero) & (b[4] > zero)
