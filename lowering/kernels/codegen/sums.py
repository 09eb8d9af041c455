"""The accumulators of a register tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....glow_dialects.glow_nest.nest import Reduction
from .memory import Point, offset_of


@dataclass(frozen=True)
class Sums:
    """The accumulators of the points of a tile, in the order of `own`."""

    points: Sequence[Point]
    own: Sequence[tuple[Point, Sequence[int]]]
    """Points with the numbers of the values that have an accumulator there."""
    places: Sequence[Sequence[int]]
    """For each value, the number of its accumulator at each point."""

    @property
    def count(self) -> int:
        return sum(len(numbers) for _, numbers in self.own)

    @staticmethod
    def of(reduction: Reduction, points: Sequence[Point], shared: bool) -> Sums:
        """
        Returns the accumulators of a reduction. If they are shared, points at which a value depends
        on the same elements have one accumulator for it.
        """
        reads = [reduction.read_by(value) for value in range(reduction.values)]
        found: dict[object, int] = {}
        own: list[tuple[Point, list[int]]] = []
        places: list[list[int]] = [[] for _ in reads]
        for number, point in enumerate(points):
            here: list[int] = []
            for value, accesses in enumerate(reads):
                read = tuple(offset_of(a, point) for a in accesses) if shared else number
                if (value, read) not in found:
                    found[value, read] = len(found)
                    here.append(value)
                places[value].append(found[value, read])
            if here:
                own.append((point, here))
        return Sums(points, own, places)
