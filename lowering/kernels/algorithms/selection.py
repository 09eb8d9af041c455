"""Lists of chosen elements, and the boxes that non-maximum suppression leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf

from xdsl.dialects.builtin import f32, i8, i32, i64

from ....glow_dialects.glow.elementwise import X, Y, Z
from ....glow_dialects.glow.selection import NonMaxSuppressionOp, NonzeroPlacesOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Indirect, View
from ....glow_dialects.glow_nest.nest import Combine, Reduction
from ....glow_dialects.scalar import (
    Expr,
    arguments,
    convert,
    equal,
    maximum,
    minimum,
    select,
)
from ..registry import Kernel, kernel, total
from .lists import flag, list_blocks
from .whole_numbers import whole_numbers

_BLOCK = 64
"""Candidates that are looked at together, in vectors."""
_GONE = Expr.constant(-inf, f32)
"""The score of a candidate that is chosen or removed."""


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
    Chooses the best candidate of a class, as often as there is one, and removes what it overlaps.

    Candidates lie one after the other in blocks, and only blocks with candidates are visited.
    """
    images, classes, boxes = k.operands[1].shape
    k.fill(k.result, -1)
    if not boxes or not k.result.shape[2]:
        return
    order = whole_numbers(k, -(-boxes // _BLOCK) * _BLOCK)
    b, c = Dim("b", images), Dim("c", classes)
    corners = k.scratch((5, boxes), f32)
    with k.repeat(b):
        _store_corners(k, k.operands[0], b, corners)
        with k.repeat(c):
            candidates = _Candidates(k, order)
            candidates.collect(k.operands[1], [b, c], corners)
            m = Dim("m", k.result.shape[2])
            with k.repeat(m), candidates.if_any():
                candidates.choose([b, c, m])


def _store_corners(k: Kernel, boxes: View, b: Dim, corners: View) -> None:
    """Computes `y0, x0, y1, x1` and the area of each box of an image."""
    n = Dim("n", corners.shape[1])
    given = [boxes[[b, n, i]] for i in range(4)]
    first, second, third, fourth = arguments(4)
    if k.call.get("center"):
        sides = (second, fourth * 0.5), (first, third * 0.5)
        ends = [*(at - half for at, half in sides), *(at + half for at, half in sides)]
    else:
        pairs = (first, third), (second, fourth)
        ends = [f(*pair) for f in (minimum, maximum) for pair in pairs]
    for i, end in enumerate([*ends, (ends[2] - ends[0]) * (ends[3] - ends[1])]):
        k.map([n], corners[[i, n]], given, end)


class _Candidates:
    """The candidates of a class, in blocks, with the steps that work on all of them."""

    def __init__(self, k: Kernel, order: View):
        """`order` has a whole number for each place in the blocks."""
        self.k, self.order = k, order
        self.j = Dim("j", _BLOCK)
        """The place in a block."""
        (room,) = order.shape
        self.blocks = room // _BLOCK
        self.numbers = k.scratch((room,), i32)
        """The boxes that they are."""
        self.scores = k.scratch((room,), f32)
        """Their scores while they are neither chosen nor removed."""
        self.corners = k.scratch((5, room), f32)
        self.best, self.place = k.scratch((), f32), k.scratch((), i32)
        self.box = k.scratch((5,), f32)

    def collect(self, scores: View, row: Sequence[Dim], corners: View) -> None:
        """Lists the candidates and copies what is known of them."""
        k, boxes = self.k, scores.shape[2]
        n, mask = Dim("n", boxes), k.scratch((boxes,), i8)
        k.map([n], mask[[n]], [scores[[*row, n]], k.operands[3][[0]]], flag(X > Y))
        listing = k.list_nonzeros(n, mask[[n]], self.numbers)
        self.used = list_blocks(k, listing, self.blocks, self.j.size, self.order)
        k.fill(self.best, -inf)
        with self._each_block() as place:
            box = Indirect(self.numbers[[place]], boxes, scores.strides[2])
            given = [replace(scores[[*row, 0]], indirect=box), self.order[[place]], listing.count]
            k.map([self.j], self.scores[[place]], given, select(Y < Z, X, _GONE))
            for i in range(5):
                there = replace(corners[[i, 0]], indirect=replace(box, stride=1))
                k.copy([self.j], self.corners[[i, place]], there)
            self._note_best(place)

    @contextmanager
    def if_any(self) -> Iterator[None]:
        """Runs the steps that are added inside only while a candidate is left."""
        k, one = self.k, Dim("one", 1)
        going = k.scratch((1,), i8)
        k.map((), going[[0]], [self.best[()]], flag(X > _GONE))
        with k.repeat_listed(k.list_nonzeros(one, going[[one]]), 1):
            yield

    def choose(self, target: Sequence[Dim]) -> None:
        """Stores the number of the best candidate, and removes it and what overlaps it."""
        k, room = self.k, self.order.shape[0]
        first = self.place[()]
        k.fill(self.place, room)
        with self._each_block() as place:
            reads = (self.scores[[place]], self.best[()], self.order[[place]])
            same = select(equal(X, Y), Z, Expr.constant(room, i32))
            found = total(Combine.MINIMUM, i32, *reads, value=same)
            self._accumulate(first, found, minimum(X, Y))
        there = Indirect(first, room, 1)
        k.finish((), target, [replace(self.numbers[[0]], indirect=there)], convert(X, i64))
        for i in range(5):
            k.copy((), self.box[[i]], replace(self.corners[[i, 0]], indirect=there))
        k.fill(self.best, -inf)
        with self._each_block() as place:
            self._remove(place)
            self._note_best(place)

    def _remove(self, place: Affine) -> None:
        """Removes the candidates of a block that overlap the chosen one, and that one itself."""
        k = self.k
        reads = [self.order[[place]], self.place[()], k.operands[2][[0]]]
        reads += [self.corners[[i, place]] for i in range(5)]
        reads += [self.box[[i]] for i in range(5)]
        old, own, chosen, iou, *rest = arguments(1 + len(reads))
        a, b = rest[:5], rest[5:]
        zero = Expr.constant(0.0, f32)
        height, width = (
            maximum(minimum(a[d + 2], b[d + 2]) - maximum(a[d], b[d]), zero) for d in range(2)
        )
        shared = height * width
        gone = shared / (a[4] + b[4] - shared) > iou
        for condition in (a[4] > zero, b[4] > zero):
            gone = gone & condition
        gone = gone | equal(own, chosen)
        k.update([self.j], self.scores[[place]], reads, select(gone, _GONE, old))

    @contextmanager
    def _each_block(self) -> Iterator[Affine]:
        """Runs steps for each block with candidates. Yields the places in it."""
        with self.k.repeat_listed(self.used, 1) as (block,):
            yield block * self.j.size + self.j

    def _note_best(self, place: Affine) -> None:
        largest = total(Combine.MAXIMUM, f32, self.scores[[place]])
        self._accumulate(self.best[()], largest, maximum(X, Y))

    def _accumulate(self, target: Access, found: Reduction, value: Expr) -> None:
        """Combines what is found in a block with what was found in those before."""
        self.k.update((), target, (), value, [self.j], found)
