"""Loops over the groups of pixels whose accumulators are in tile registers together."""

from __future__ import annotations

from collections.abc import Sequence

from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.schedule import TileGroup
from ..schedules.amx_tile import TilePlan


class GroupLoops:
    """Groups of one kind, and the loops over them."""

    def __init__(self, group: TileGroup, plan: TilePlan, others: Sequence[Dim]):
        self.group = group
        ahead = [Dim(name, count) for name, count in zip(("rows", "tiles"), group.counts)]
        self.dims = (*others, *ahead)
        self.first = {
            dim: number * extent + start
            for dim, number, extent, start in zip(
                plan.line, ahead, group.extent, group.start, strict=True
            )
        }
        """The first point of a group."""

    def blocks(self, most: int) -> Sequence[Dim]:
        """
        The outer loops, which cut the pixels into about `most` blocks of groups, or more. A loop
        over groups may become two.
        """
        count = 1
        for position, dim in enumerate(self.dims):
            if count >= most:
                return self.dims[:position]
            wanted = -(-most // count)
            if dim.size > wanted and any(dim in first.terms for first in self.first.values()):
                self._cut(position, min(d for d in _divisors(dim.size) if d >= wanted))
                return self.dims[: position + 1]
            count *= dim.size
        return self.dims

    def _cut(self, position: int, blocks: int) -> None:
        """Replace a loop over groups by one over blocks and one over the groups of a block."""
        old = self.dims[position]
        block, group = Dim("block", blocks), Dim(old.name, old.size // blocks)
        change = {old: block * group.size + group}
        self.dims = (*self.dims[:position], block, group, *self.dims[position + 1 :])
        self.first = {dim: place.at(change) for dim, place in self.first.items()}


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]
