"""
Loops over rows whose number is known at run time only.

A loop runs over exactly its rows: over full tiles, and then over smaller ones, the last two of
which are about as large as each other. Where vectors run along rows, the last vector may go beyond
them, though not beyond the memory of the largest number. What it writes there is as meaningless as
before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ....glow_dialects.glow_nest.affine import Dim, Limit
from ....glow_dialects.glow_nest.schedule import RegisterTranspose, VectorSchedule
from ..threads.split import TileSpan
from .emit import Emitter

_MOST_BALANCED = 8
"""The largest tile of which there is code for each smaller size, for the last values of a loop."""


@dataclass(frozen=True)
class RowCount:
    """The number of rows of a call, and of those that are left in the block around a loop."""

    rows: SSAValue | None = None
    rest: SSAValue | None = None

    def of(self, dim: Dim, e: Emitter) -> SSAValue:
        """Returns how many values a limited loop has."""
        limit = dim.limit
        assert limit is not None
        found = self._after_start(limit, e)
        if limit.granule > 1:
            up = e.binary(arith.AddiOp, found, e.index(limit.granule - 1))
            # a division of index is unsigned
            up = e.binary(arith.MaxSIOp, up, e.index(0))
            found = e.binary(arith.DivUIOp, up, e.index(limit.granule))
        found = e.binary(arith.MaxSIOp, found, e.index(0))
        return e.binary(arith.MinSIOp, found, e.index(dim.size))

    def inside(self, dim: Dim, number: SSAValue | int, e: Emitter) -> RowCount:
        """Returns the same in a step of a loop, which may be a block of rows."""
        limit = dim.limit
        if limit is None or not limit.opens:
            return self
        before = e.binary(arith.MuliOp, e.index(number), e.index(limit.granule))
        return RowCount(self.rows, e.binary(arith.SubiOp, self._after_start(limit, e), before))

    def _after_start(self, limit: Limit, e: Emitter) -> SSAValue:
        found = self.rest if limit.of_rest else self.rows
        assert found is not None
        if limit.factor != 1:
            found = e.binary(arith.MuliOp, found, e.index(limit.factor))
        return e.binary(arith.SubiOp, found, e.index(limit.start)) if limit.start else found


@dataclass(frozen=True)
class LimitedSpans:
    """The tiles of a limited loop."""

    emitter: Emitter
    count: SSAValue
    """The number of values of the loop."""
    spans: Sequence[TileSpan]
    """The tiles of all values, if the last of them may go beyond the limit."""
    tile: int = 0
    """Otherwise the most values of a tile."""

    @staticmethod
    def of(
        schedule: VectorSchedule, dim: Dim, spans: Sequence[TileSpan], e: Emitter, count: SSAValue
    ) -> LimitedSpans:
        """Returns the tiles of a parallel loop of a nest, whose tiles `spans` would all be."""
        if goes_beyond(schedule, dim):
            return LimitedSpans(e, count, spans)
        parts = schedule.parts_of(dim)
        return LimitedSpans(e, count, (), max((p.tile for p in parts), default=schedule.step(dim)))

    @property
    def unit(self) -> int:
        """The values that threads do not divide."""
        return self.tile or self.spans[0].step

    def between(
        self, first: SSAValue | int, end: SSAValue
    ) -> Iterator[tuple[TileSpan, Iterator[SSAValue | int]]]:
        """Yields the tiles between two values, and loops over the starts of those alike."""
        e = self.emitter
        for span in self.spans:
            if span.start:  # one tile, which ends with the loop
                after = e.binary(arith.MaxSIOp, e.index(first), e.index(self.spans[0].stop))
                yield span, (0 for _ in e.loop_between(after, end, span.step))
            else:
                stop = e.binary(arith.MinSIOp, end, e.index(span.stop))
                yield span, e.loop_between(first, stop, span.step)
        tile = self.tile
        while tile > _MOST_BALANCED:
            full = e.round_down(self._from(first, end), tile)
            stop = e.binary(arith.AddiOp, e.index(first), full)
            yield TileSpan(0, tile, tile, range(tile)), e.loop_between(first, stop, tile)
            first, tile = stop, tile // 2
        if tile > 1:
            yield from self._balanced(first, self._from(first, end), tile)
        elif tile:
            yield TileSpan(0, 1, 1), e.loop_between(first, end, 1)

    def _from(self, first: SSAValue | int, end: SSAValue) -> SSAValue:
        """Returns how many values there are between two."""
        e = self.emitter
        length = e.binary(arith.SubiOp, end, e.index(first))
        return e.binary(arith.MaxSIOp, length, e.index(0))

    def _balanced(
        self, first: SSAValue | int, length: SSAValue, most: int
    ) -> Iterator[tuple[TileSpan, Iterator[SSAValue | int]]]:
        """
        Yields the fewest tiles of at most `most` values. If full tiles leave a rest, the last two
        tiles are about as large as each other, because small tiles wait for their sums.
        """
        e = self.emitter
        full = e.round_down(length, most)
        rest = e.binary(arith.SubiOp, length, full)
        # a full tile becomes part of the rest, if there are both
        has_rest = e.compare("slt", e.index(0), rest)
        given = e.select(has_rest, e.binary(arith.MinSIOp, full, e.index(most)), e.index(0))
        rest = e.binary(arith.AddiOp, rest, given)
        half = e.binary(arith.DivUIOp, e.binary(arith.AddiOp, rest, e.index(1)), e.index(2))
        fits = e.compare("sle", rest, e.index(most))
        larger = e.select(fits, rest, half)
        smaller = e.binary(arith.SubiOp, rest, larger)
        full = e.binary(arith.SubiOp, full, given)
        for size in range(most, 0, -1):
            none, tile = e.index(0), e.index(size)
            stop = e.index(first)
            for part in (larger, smaller):
                is_size = e.compare("eq", part, tile)
                stop = e.binary(arith.AddiOp, stop, e.select(is_size, tile, none))
            if size == most:
                stop = e.binary(arith.AddiOp, stop, full)
            yield TileSpan(0, size, size, range(size)), e.loop_between(first, stop, size)
            first = stop


def goes_beyond(schedule: VectorSchedule, dim: Dim) -> bool:
    """Returns whether the last tile of a limited loop may go beyond its limit."""
    if isinstance(schedule, RegisterTranspose) and dim is schedule.turned:
        return True
    return dim in (schedule.vector, schedule.finishing.vector)
