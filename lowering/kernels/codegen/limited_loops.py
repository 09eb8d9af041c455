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

from xdsl.ir import SSAValue

from ....glow_dialects.glow_nest.affine import Dim, Limit
from ....glow_dialects.glow_nest.schedule import RegisterTranspose, VectorSchedule
from ..threads.split import TileSpan
from .emit import Emitter, IndexLike

LoopOverTiles = tuple[TileSpan, Iterator[IndexLike]]
"""Tiles that have the same code, and a loop over where they start."""
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
        found = e.larger(self._after_start(limit, e), 0)
        return e.smaller(e.quotient_up(found, limit.granule), dim.size)

    def inside(self, dim: Dim, number: IndexLike, e: Emitter) -> RowCount:
        """Returns the same in a step of a loop, which may be a block of rows."""
        limit = dim.limit
        if limit is None or not limit.opens:
            return self
        return RowCount(
            self.rows, e.minus(self._after_start(limit, e), e.times(number, limit.granule))
        )

    def _after_start(self, limit: Limit, e: Emitter) -> SSAValue:
        found = self.rest if limit.of_rest else self.rows
        assert found is not None
        return e.minus(e.times(found, limit.factor), limit.start)


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
        turned = schedule.turned if isinstance(schedule, RegisterTranspose) else None
        if dim in (schedule.vector, schedule.finishing.vector, turned):
            return LimitedSpans(e, count, spans)
        parts = schedule.parts_of(dim)
        return LimitedSpans(e, count, (), max((p.tile for p in parts), default=schedule.step(dim)))

    @property
    def unit(self) -> int:
        """The values that threads do not divide."""
        return self.tile or self.spans[0].step

    def between(self, first: IndexLike, end: SSAValue) -> Iterator[LoopOverTiles]:
        """Yields the tiles between two values, and loops over the starts of those alike."""
        e = self.emitter
        for span in self.spans:
            if span.start:  # one tile, which ends with the loop
                after = e.larger(first, self.spans[0].stop)
                yield span, (0 for _ in e.loop_between(after, end, span.step))
            else:
                stop = e.smaller(end, span.stop)
                yield span, e.loop_between(first, stop, span.step)
        tile = self.tile
        while tile > _MOST_BALANCED:
            full = e.round_down(self._from(first, end), tile)
            stop = e.plus(first, full)
            yield TileSpan(0, tile, tile, range(tile)), e.loop_between(first, stop, tile)
            first, tile = stop, tile // 2
        if tile > 1:
            yield from self._balanced(first, self._from(first, end), tile)
        elif tile:
            yield TileSpan(0, 1, 1), e.loop_between(first, end, 1)

    def _from(self, first: IndexLike, end: SSAValue) -> SSAValue:
        """Returns how many values there are between two."""
        return self.emitter.larger(self.emitter.minus(end, first), 0)

    def _balanced(self, first: IndexLike, length: SSAValue, most: int) -> Iterator[LoopOverTiles]:
        """
        Yields the fewest tiles of at most `most` values. If full tiles leave a rest, the last two
        tiles are about as large as each other, because small tiles wait for their sums.
        """
        e = self.emitter
        full = e.round_down(length, most)
        rest = e.minus(length, full)
        # a full tile becomes part of the rest, if there are both
        has_rest = e.compare("slt", e.index(0), rest)
        given = e.select(has_rest, e.smaller(full, most), e.index(0))
        rest = e.plus(rest, given)
        half = e.quotient_up(rest, 2)
        fits = e.compare("sle", rest, e.index(most))
        larger = e.select(fits, rest, half)
        smaller = e.minus(rest, larger)
        full = e.minus(full, given)
        for size in range(most, 0, -1):
            none, tile = e.index(0), e.index(size)
            stop = e.plus(first, full if size == most else 0)
            for part in (larger, smaller):
                is_size = e.compare("eq", part, tile)
                stop = e.plus(stop, e.select(is_size, tile, none))
            yield TileSpan(0, size, size, range(size)), e.loop_between(first, stop, size)
            first = stop
