"""
The division of the tiles of a nest between threads.

The loops over tiles of neighbouring dimensions form one range of units. Thread `t` of `n` has the
units `t * units / n` to `(t + 1) * units / n - 1`. Of much work, it leaves the end of its part to
any thread that is ready. All threads run the loops outside of these. If tiles of different sizes
have different code, either the units of each code are divided, or all of them as one range, in
which a unit counts as many as it has elements. The time of the thread with the most work decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.ir import SSAValue

from ....glow_dialects import costs
from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import AmxTile, Schedule, Split, VectorSchedule
from ....glow_dialects.timings import TIMINGS
from ..schedules.amx_tile import TilePlan

Portions = Iterator[tuple[SSAValue, SSAValue]]
"""The first unit of a portion that a thread does, and the first behind it."""
Share = Callable[[int], Portions]
"""Given a number of units, emits what gives this thread its portions of them."""


@dataclass(frozen=True)
class TileSpan:
    """The tiles of a dimension that have the same code: every `step` elements from `start`."""

    start: int
    stop: int
    """The end, relative to `start`; the last tile may begin before it and end after it."""
    step: int
    tile: range | None = None
    """For dimensions with parts: the elements of a tile, from its start."""
    clamp: int | None = None
    """The place to which the last tile is moved back, if it would end after the dimension."""
    revisited: int | None = None
    """The number of first elements of the only tile that were visited before, if that matters."""

    @property
    def tiles(self) -> int:
        return -(-self.stop // self.step)

    @property
    def elements(self) -> int:
        """The number of elements of a tile."""
        return self.step if self.tile is None else len(self.tile)


def spans_of(nest: Nest, schedule: VectorSchedule, dim: Dim) -> list[TileSpan]:
    """Returns the tiles of a parallel loop as spans, each with its own code."""
    parts = schedule.parts_of(dim)
    if schedule.lists_tiles(dim):
        starts = [(i, p.tile) for p in parts for i in range(p.start, p.stop, p.tile)]
        return [TileSpan(0, 1, 1, range(i, i + tile)) for i, tile in starts]
    if parts:
        return [TileSpan(p.start, p.stop - p.start, p.tile, range(p.tile)) for p in parts]
    step = schedule.step(dim)
    full, last = dim.size // step * step, dim.size - step
    if full == dim.size:
        return [TileSpan(0, full, step)]
    if nest.in_place and schedule.ends_smaller(dim):
        rest = dim.size - full
        return [TileSpan(0, full, step), TileSpan(full, rest, rest, range(rest))]
    if nest.reduction is not None:
        return [TileSpan(0, dim.size, step, clamp=last)]
    masked = nest.in_place and dim is schedule.vector
    return [
        TileSpan(0, full, step),
        TileSpan(last, step, step, revisited=full - last if masked else None),
    ]


@dataclass(frozen=True)
class UnitGroup:
    """Units that have the same code: one span of each loop of a split."""

    spans: tuple[TileSpan, ...]
    start: int
    """The weight of all groups before this one."""

    @property
    def units(self) -> int:
        return prod(s.tiles for s in self.spans)

    @property
    def weight(self) -> int:
        """The elements of a unit."""
        return prod(s.elements for s in self.spans)

    def units_below(self, weight: int) -> int:
        """
        Returns how many units start below a weight, counted from the start of the first group.
        """
        return min(max(0, weight - self.start + self.weight - 1) // self.weight, self.units)


def groups_of(spans: Sequence[Sequence[TileSpan]]) -> list[UnitGroup]:
    """Returns the groups of loops with these spans, in order."""
    groups, start = [], 0
    for combination in product(*spans):
        group = UnitGroup(combination, start)
        start += group.units * group.weight
        groups.append(group)
    return groups


def weight_of(groups: Sequence[UnitGroup]) -> int:
    return groups[-1].start + groups[-1].units * groups[-1].weight


def portions_of(units: int, threads: int) -> tuple[int, int]:
    """
    Returns the units of the large portion of each thread, and the number of small portions into
    which the rest of its part is cut, equal up to one unit; 0 if there are too few units.
    """
    large = int(units * TIMINGS.large_portion_share) // threads
    rest = -(-units // threads) - large
    return large, min(rest, TIMINGS.small_portions) if units >= 2 * threads else 0


def busy(units: int, threads: int) -> float:
    """Returns how many of the threads work on average until all units are done, as a fraction."""
    return units / (threads * -(-units // threads)) if units else 1.0


def is_balanced(units: int, threads: int) -> bool:
    return busy(units, threads) >= TIMINGS.balanced_share


def choose_split(
    nest: Nest, schedule: VectorSchedule, spans: Sequence[Sequence[TileSpan]], threads: int
) -> Split | None:
    """Returns the loops to divide; None if one thread does all. `spans` are those of each loop."""
    work = _cycles(nest, schedule)
    if work < TIMINGS.least_shared_cycles:
        return None
    best, least = None, work
    for first in range(len(spans)):
        for last in range(first, len(spans)):
            groups = groups_of(spans[first : last + 1])
            covered = prod(d.size for d in schedule.order[first : last + 1])
            outer = prod(d.size for d in schedule.order[:first])
            for together in (False, True) if len(groups) > 1 else (False,):
                share, units = _most(groups, threads, together)
                # to find the places of units; inner loops start anew in each outer iteration
                overhead = units * (last - first) + len(groups) * (together + (first > 0))
                time = work * share / covered + overhead * outer * TIMINGS.unit_cycles
                # in each iteration of an outer loop, tickets would cost more than they gain
                drawn = first == 0 and work >= TIMINGS.least_drawn_cycles
                split = Split(first, last, together, drawn)
                cut = together or all(portions_of(g.units, threads)[1] for g in groups)
                if drawn and not cut:
                    time += work * TIMINGS.interruption_share
                if time < least:
                    best, least = split, time
    return best


def _most(groups: Sequence[UnitGroup], threads: int, together: bool) -> tuple[int, int]:
    """Returns elements and units of the thread that has most of them."""
    if not together:
        most = [-(-g.units // threads) for g in groups]
        return sum(n * g.weight for n, g in zip(most, groups, strict=True)), sum(most)
    total, shares = weight_of(groups), []
    for t in range(threads):
        low, high = t * total // threads, (t + 1) * total // threads
        units = [g.units_below(high) - g.units_below(low) for g in groups]
        elements = sum(n * g.weight for n, g in zip(units, groups, strict=True))
        shares.append((elements, sum(units)))
    return max(shares)


def _cycles(nest: Nest, schedule: VectorSchedule) -> float:
    """Returns a rough estimate for the whole nest."""
    points = prod(d.size for d in nest.parallel)
    steps = prod(d.size for d in nest.reduced) if nest.reduction is not None else 0
    accesses = len(nest.operands) + len(nest.writes)
    return costs.nest(points, steps, nest.weight, accesses, schedule.lanes)


def split_of(nest: Nest, schedule: Schedule, threads: int) -> Split | None:
    """Returns how several threads divide a nest; None if one of them does it alone."""
    if isinstance(schedule, AmxTile):
        plan = TilePlan.of(nest, schedule)
        terms = prod(d.size for d in nest.reduced if d is not plan.roles.parts)
        steps = plan.units * (terms // plan.roles.quads)
        return (
            Split(0, 0)
            if plan.units >= threads and steps >= TIMINGS.least_shared_amx_steps
            else None
        )
    assert isinstance(schedule, VectorSchedule)
    spans = [spans_of(nest, schedule, d) for d in schedule.order]
    return choose_split(nest, schedule, spans, threads)
