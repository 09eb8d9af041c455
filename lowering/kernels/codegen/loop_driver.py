"""
The loops over the tiles of a nest, whatever is done with a tile.

The driver emits the loops of a schedule in their order: over the whole dimension, over parts with
code of their own, over tiles of which the last is moved back, in chunks, and over the units that
are a thread's. It gives where each tile is, and its caller emits the tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TypeVar

from xdsl.ir import SSAValue

from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.schedule import Split
from ..threads.split import Share, TileOrder, TileSpan
from .emit import Emitter
from .limited_loops import LimitedSpans, LoopOverTiles, RowCount
from .memory import Bound
from .tile import Tile

Loop = tuple[Dim, Sequence[TileSpan] | LimitedSpans]
"""A loop variable, and its tiles, apart by their code."""


P = TypeVar("P", Bound, Tile)
"""The place of a tile, as far as the loops around it determine it."""


def whole(dims: Sequence[Dim]) -> list[Loop]:
    """Loops over all elements of dimensions."""
    return [(d, [TileSpan(0, d.size, 1)]) for d in dims]


def limited(dims: Sequence[Dim], count: RowCount, emitter: Emitter) -> list[Loop]:
    """Loops over the elements of dimensions, as far as their limits permit."""
    return [
        (d, spans) if d.limit is None else (d, LimitedSpans(emitter, count.of(d, emitter), (), 1))
        for d, spans in whole(dims)
    ]


@dataclass(frozen=True)
class LoopDriver:
    """Emits loops; with a split, only what `share` says is this thread's of the loops it names."""

    emitter: Emitter
    loops: Sequence[Loop]
    split: Split | None = None
    share: Share | None = None

    def tiles(self, position: P, level: int = 0) -> Iterator[P]:
        """
        Yields the places of tiles of the loops from a level on, each of which has its own code.
        """
        if self.split is not None and level == self.split.first:
            yield from self._divided(position, self.split)
        elif level == len(self.loops):
            yield position
        else:
            spans = self.loops[level][1]
            if isinstance(spans, LimitedSpans):
                yield from self._visited(position, level, spans.between(0, spans.count))
            else:
                loop = self.emitter.loop
                loops = ((span, loop(span.stop, span.step, span.written_out)) for span in spans)
                yield from self._visited(position, level, loops)

    def _visited(self, position: P, level: int, loops: Iterator[LoopOverTiles]) -> Iterator[P]:
        """Yields the places of tiles inside of loops over those of one dimension."""
        for span, numbers in loops:
            for number in numbers:
                placed = position.at(self.loops[level][0], span, number)
                yield from self.tiles(placed, level + 1)

    def _divided(self, position: P, split: Split) -> Iterator[P]:
        """Yields the tiles of the loops of a split, as far as they are this thread's."""
        assert self.share is not None
        spans = [of for _, of in self.loops[split.first : split.last + 1]]
        order = TileOrder([of for of in spans if not isinstance(of, LimitedSpans)])
        if isinstance(rows := spans[0], LimitedSpans) and len(spans) == 1:
            e, unit = self.emitter, rows.unit
            for bounds in self.share(e.quotient_up(rows.count, unit)):
                first, end = (e.times(number, unit) for number in bounds)
                loops = rows.between(first, e.smaller(end, rows.count))
                yield from self._visited(position, split.first, loops)
        elif order.is_uniform:
            yield from self._divided_units(position, split, self.share)
        else:
            for bounds in self.share(order.elements()):
                yield from self._between(position, split, order, 0, bounds)

    def _divided_units(self, position: P, split: Split, share: Share) -> Iterator[P]:
        """
        Yields the tiles of loops that have one span each, or a limit but no tiles, as far as they
        are this thread's.
        """
        e, loops = self.emitter, self.loops[split.first : split.last + 1]
        sizes = [s.count if isinstance(s, LimitedSpans) else s[0].tiles for _, s in loops]
        known = [size for size in sizes if isinstance(size, int)]
        units = prod(known) if len(known) == len(sizes) else reduce(e.times, sizes)
        for first, end in share(units):
            for unit in e.loop_between(first, end, 1):
                at, numbers = position, e.digits(unit, sizes)
                for (dim, spans), number in zip(loops, numbers, strict=True):
                    span = TileSpan(0, 1, 1) if isinstance(spans, LimitedSpans) else spans[0]
                    start = number if isinstance(number, int) else e.times(number, span.step)
                    at = at.at(dim, span, start)
                yield from self.tiles(at, split.last + 1)

    def _between(
        self, position: P, split: Split, order: TileOrder, level: int, bounds: Sequence[SSAValue]
    ) -> Iterator[P]:
        """
        Yields the places of tiles that begin between two places of the loops from a level on.
        """
        e, inner, start = self.emitter, order.elements(level + 1), 0
        innermost = split.first + level == split.last
        for span in order.loops[level]:
            tile = span.elements * inner
            # of an outer tile, the first inner ones may be before the first bound
            first = self._quotient(bounds[0], start, tile, up=innermost)
            end = self._quotient(bounds[1], start, tile, up=True)
            limits = [e.smaller(n, span.tiles) for n in (first, end)]
            for found in e.loop_between(limits[0], limits[1], 1):
                at = 0 if span.tiles == 1 else e.times(found, span.step)
                placed = position.at(self.loops[split.first + level][0], span, at)
                if innermost:
                    yield from self.tiles(placed, split.last + 1)
                    continue
                before = e.times(found, tile)
                rests = [e.minus(bound, before) for bound in bounds]
                inside = [self._quotient(rest, start, span.elements, up=True) for rest in rests]
                yield from self._between(placed, split, order, level + 1, inside)
            start += span.tiles * tile

    def _quotient(self, value: SSAValue, start: int, divisor: int, up: bool) -> SSAValue:
        """Returns `(value - start) / divisor`, rounded up or down; 0 for values below `start`."""
        e = self.emitter
        ahead = e.larger(e.minus(value, start), 0)
        return e.quotient_up(ahead, divisor) if up else e.quotient(ahead, divisor)
