"""
The loops over the tiles of a nest, whatever is done with a tile.

The driver emits the loops of a schedule in their order: over the whole dimension, over parts with
code of their own, over tiles of which the last is moved back, in chunks, and over the units that
are a thread's. It gives where each tile is, and its caller emits the tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.schedule import Split
from ..threads.split import Share, TileOrder, TileSpan
from .emit import Emitter
from .limited_loops import LimitedSpans, RowCount

Loop = tuple[Dim, Sequence[TileSpan] | LimitedSpans]
"""A loop variable, and its tiles, apart by their code."""


class Position(Protocol):
    """The place of a tile, as far as the loops around it determine it."""

    def at(self, dim: Dim, span: TileSpan, number: SSAValue | int) -> Self:
        """Returns the tile that begins `number` elements behind the start of a span of a loop."""
        ...


P = TypeVar("P", bound=Position)


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
            dim, spans = self.loops[level]
            if isinstance(spans, LimitedSpans):
                yield from self._limited(position, level, 0, spans.count)
                return
            for span in spans:
                for number in self.emitter.loop(span.stop, span.step):
                    yield from self.tiles(position.at(dim, span, number), level + 1)

    def _limited(
        self, position: P, level: int, first: SSAValue | int, end: SSAValue
    ) -> Iterator[P]:
        """Yields the places of tiles between two values of a limited loop."""
        dim, spans = self.loops[level]
        assert isinstance(spans, LimitedSpans)
        for span, numbers in spans.between(first, end):
            for number in numbers:
                yield from self.tiles(position.at(dim, span, number), level + 1)

    def _divided(self, position: P, split: Split) -> Iterator[P]:
        """Yields the tiles of the loops of a split, as far as they are this thread's."""
        assert self.share is not None
        loops = self.loops[split.first : split.last + 1]
        static = [spans for _, spans in loops if not isinstance(spans, LimitedSpans)]
        if len(static) < len(loops):
            yield from self._divided_rows(position, split)
            return
        order = TileOrder(static)
        for first, end in self.share(order.units):
            if order.is_uniform:
                yield from self._units(position, split, order, first, end)
            else:
                yield from self._between(position, split, order, 0, (first, end))

    def _divided_rows(self, position: P, split: Split) -> Iterator[P]:
        """
        Yields the tiles of one limited loop, or of several loops without tiles, as far as they are
        this thread's.
        """
        e, loops = self.emitter, self.loops[split.first : split.last + 1]
        assert self.share is not None
        if len(loops) == 1:
            ((_, spans),) = loops
            assert isinstance(spans, LimitedSpans)
            unit = spans.unit
            more = e.binary(arith.AddiOp, spans.count, e.index(unit - 1))
            for bounds in self.share(e.binary(arith.DivUIOp, more, e.index(unit))):
                first, end = (self._scaled(number, unit) for number in bounds)
                end = e.binary(arith.MinSIOp, end, spans.count)
                yield from self._limited(position, split.first, first, end)
            return
        sizes = [s.count if isinstance(s, LimitedSpans) else s[0].tiles for _, s in loops]
        units = e.index(1)
        for size in sizes:
            units = e.binary(arith.MuliOp, units, e.index(size))
        for first, end in self.share(units):
            for numbers in e.loop_units(sizes, first, end):
                at = position
                for (dim, _), number in zip(loops, numbers, strict=True):
                    at = at.at(dim, TileSpan(0, 1, 1), number)
                yield from self.tiles(at, split.last + 1)

    def _units(
        self, position: P, split: Split, order: TileOrder, first: SSAValue, end: SSAValue
    ) -> Iterator[P]:
        """Yields the places of tiles `first` to `end - 1` of loops that have one span each."""
        spans = [span for (span,) in order.loops]
        for numbers in self.emitter.loop_units([s.tiles for s in spans], first, end):
            at = position
            for i, (span, number) in enumerate(zip(spans, numbers, strict=True)):
                start = number if isinstance(number, int) else self._scaled(number, span.step)
                at = at.at(self.loops[split.first + i][0], span, start)
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
            count = e.index(span.tiles)
            limits = [e.binary(arith.MinSIOp, n, count) for n in (first, end)]
            for found in e.loop_between(limits[0], limits[1], 1):
                number = 0 if span.tiles == 1 else found
                at = number if isinstance(number, int) else self._scaled(number, span.step)
                placed = position.at(self.loops[split.first + level][0], span, at)
                if innermost:
                    yield from self.tiles(placed, split.last + 1)
                    continue
                before = self._scaled(found, tile)
                rests = [e.binary(arith.SubiOp, bound, before) for bound in bounds]
                inside = [self._quotient(rest, start, span.elements, up=True) for rest in rests]
                yield from self._between(placed, split, order, level + 1, inside)
            start += span.tiles * tile

    def _quotient(self, value: SSAValue, start: int, divisor: int, up: bool) -> SSAValue:
        """Returns `(value - start) / divisor`, rounded up or down; 0 for values below `start`."""
        e = self.emitter
        ahead = e.binary(arith.SubiOp, value, e.index(start - (divisor - 1 if up else 0)))
        return e.binary(arith.DivUIOp, e.binary(arith.MaxSIOp, ahead, e.index(0)), e.index(divisor))

    def _scaled(self, number: SSAValue, step: int) -> SSAValue:
        if step == 1:
            return number
        return self.emitter.binary(arith.MuliOp, number, self.emitter.index(step))
