"""
The division of the tiles of a nest between threads.

The loops over tiles of neighbouring dimensions form one range of units. Thread `t` of `n` has the
units `t * units / n` to `(t + 1) * units / n - 1`. Of much work, it leaves the end of its part to
any thread that is ready. All threads run the loops outside of these. If tiles of different sizes
have different code, the range is that of their elements, and a tile is part of the portion in which
it begins. Each thread visits its tiles in the order of the loops, because data that one loop brings
into the caches is for the next one. The time of the thread with the most work decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
Share = Callable[["int | SSAValue"], Portions]
"""Given a number of units, emits what gives this thread its portions of them."""


@dataclass(frozen=True)
class TileSpan:
    """The tiles of a dimension that have the same code: every `step` elements from `start`."""

    start: int
    stop: int
    """The end, relative to `start`; the last tile may begin before it and end after it."""
    step: int
    tile: range | None = None
    """
    For dimensions with parts, or whose tiles are spread: the elements of a tile, from its start.
    """
    clamp: int | None = None
    """The place to which the last tile is moved back, if it would end after the dimension."""
    revisited: int | None = None
    """The number of first elements of the only tile that were visited before, if that matters."""
    written_out: bool = False
    """Whether the code of all tiles is written out one after the other."""
    in_rows: bool = False
    """Whether places that a table lists are computed, as they lie in rows."""

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
    if schedule.lists_tiles(dim) and not nest.lists_rows(dim):
        starts = [(i, p.tile) for p in parts for i in range(p.start, p.stop, p.tile)]
        return [TileSpan(0, 1, 1, range(i, i + tile)) for i, tile in starts]
    if parts:
        in_rows = schedule.lists_tiles(dim)
        return [
            TileSpan(p.start, p.stop - p.start, p.tile, range(p.tile), in_rows=in_rows)
            for p in parts
        ]
    if schedule.spreads(dim):
        apart = dim.size // schedule.tiles(dim)
        return [TileSpan(0, apart, 1, range(0, dim.size, apart))]
    step = schedule.step(dim)
    full, last = dim.size // step * step, dim.size - step
    if full == dim.size:
        return [TileSpan(0, full, step, written_out=schedule.writes_out(dim))]
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
class TileOrder:
    """
    The tiles of nested loops, in the order in which one thread visits them. The place of a tile is
    the number of elements of the tiles before it.
    """

    loops: Sequence[Sequence[TileSpan]]

    @property
    def is_uniform(self) -> bool:
        """Whether all tiles have the same code."""
        return all(len(spans) == 1 for spans in self.loops)

    @property
    def tiles(self) -> int:
        return prod(sum(s.tiles for s in spans) for spans in self.loops)

    def elements(self, level: int = 0) -> int:
        """Returns the elements of all tiles of the loops from a level on."""
        return prod(sum(s.tiles * s.elements for s in spans) for spans in self.loops[level:])

    def begun(self, place: int, level: int = 0) -> int:
        """
        Returns the elements of the tiles, of the loops from a level on, that begin before a place.
        """
        if level == len(self.loops):
            return 1 if place > 0 else 0
        found, inner = 0, self.elements(level + 1)
        for span in self.loops[level]:
            tile = span.elements * inner
            tiles, rest = divmod(min(max(0, place), span.tiles * tile), tile)
            found += tiles * tile + span.elements * self.begun(-(-rest // span.elements), level + 1)
            place -= span.tiles * tile
        return found


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
    limited = [d.limit is not None for d in schedule.order]
    for first in range(len(spans)):
        outer = prod(d.size for d in schedule.order[:first])
        # in each iteration of an outer loop, tickets would cost more than they gain
        drawn = first == 0 and work >= TIMINGS.least_drawn_cycles and not limited[first]
        for last in range(first, len(spans)):
            if last > first and any(limited[first : last + 1]):
                break
            order = TileOrder(spans[first : last + 1])
            covered = prod(d.size for d in schedule.order[first : last + 1])
            # inner loops start anew in each outer iteration
            overhead = (_places(order, threads) + (first > 0)) * outer
            time = work * _most(order, threads) / covered + overhead * TIMINGS.unit_cycles
            # a call may have few rows
            if limited[first] or (drawn and not portions_of(order.tiles, threads)[1]):
                time += work * TIMINGS.interruption_share
            if time < least:
                best, least = Split(first, last, drawn), time
    return best


def _most(order: TileOrder, threads: int) -> int:
    """Returns the elements of the thread that has most of them."""
    if order.is_uniform:
        return -(-order.tiles // threads) * (order.elements() // order.tiles)
    total = order.elements()
    begun = [order.begun(t * total // threads) for t in range(threads + 1)]
    return max(end - start for start, end in pairwise(begun))


def _places(order: TileOrder, threads: int) -> int:
    """Returns how many places of tiles, or bounds of loops over them, a thread computes."""
    if order.is_uniform:
        return -(-order.tiles // threads) * (len(order.loops) - 1)
    entered, found = 1, 0
    for spans in order.loops:
        found += -(-entered // threads) * 2 * len(spans)
        entered *= sum(s.tiles for s in spans)
    return found


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
        repays = plan.units >= threads and steps >= TIMINGS.least_shared_amx_steps
        return Split(0, 0) if repays else None
    assert isinstance(schedule, VectorSchedule)
    spans = [spans_of(nest, schedule, d) for d in schedule.order]
    return choose_split(nest, schedule, spans, threads)
