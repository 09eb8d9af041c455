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
from ..threads.split import Share, TileSpan, UnitGroup, groups_of, weight_of
from .emit import Emitter

Loop = tuple[Dim, Sequence[TileSpan]]
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
            for span in spans:
                for number in self.emitter.loop(span.stop, span.step):
                    yield from self.tiles(position.at(dim, span, number), level + 1)

    def _divided(self, position: P, split: Split) -> Iterator[P]:
        """Yields the tiles of the loops of a split, as far as they are this thread's."""
        assert self.share is not None
        groups = groups_of([spans for _, spans in self.loops[split.first : split.last + 1]])
        if split.together:
            for first, end in self.share(weight_of(groups)):
                for group in groups:
                    units = self._units_below(first, group), self._units_below(end, group)
                    yield from self._units(position, split, group, *units)
            return
        for group in groups:
            for first, end in self.share(group.units):
                yield from self._units(position, split, group, first, end)

    def _units(
        self, position: P, split: Split, group: UnitGroup, first: SSAValue, end: SSAValue
    ) -> Iterator[P]:
        """Yields the tiles of units `first` to `end - 1` of a group."""
        sizes = [span.tiles for span in group.spans]
        for numbers in self.emitter.loop_units(sizes, first, end):
            at = position
            for i, (span, number) in enumerate(zip(group.spans, numbers, strict=True)):
                start = number if isinstance(number, int) else self._scaled(number, span.step)
                at = at.at(self.loops[split.first + i][0], span, start)
            yield from self.tiles(at, split.last + 1)

    def _units_below(self, weight: SSAValue, group: UnitGroup) -> SSAValue:
        """Returns `group.units_below(weight)`"""
        e, ahead = self.emitter, group.start - group.weight + 1
        reached = e.binary(arith.SubiOp, weight, e.index(ahead))
        reached = e.binary(arith.MaxSIOp, reached, e.index(0))
        units = e.binary(arith.DivUIOp, reached, e.index(group.weight))
        return e.binary(arith.MinSIOp, units, e.index(group.units))

    def _scaled(self, number: SSAValue, step: int) -> SSAValue:
        if step == 1:
            return number
        return self.emitter.binary(arith.MuliOp, number, self.emitter.index(step))
