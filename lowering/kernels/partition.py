"""
How the tiles of a nest are divided between threads.

The loops over tiles of neighbouring dimensions are taken together as one range of units, of which
thread `t` of `n` gets `t * units / n` to `(t + 1) * units / n - 1`. Loops outside of these are run
by all threads. The choice is by the time of the thread that has most to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from .nest import Nest
from .schedule import Schedule

_LEAST_CYCLES = 2000
"""Less work than this takes one thread no longer than it takes several to share it."""
_UNIT_CYCLES = 8
"""To find the place of a unit in each further loop."""
_BALANCED = 0.85
"""How busy threads are, on average, where whole iterations of a sequence are worth dividing."""


@dataclass(frozen=True)
class Span:
    """Tiles of a dimension that have the same code: every `step` elements from `start`."""

    start: int
    stop: int
    """Relative to `start`; the last tile may begin before and end behind it."""
    step: int
    tile: range | None = None
    """For dimensions with parts: the elements of a tile, from where it is."""
    clamp: int | None = None
    """Where the last tile is moved back to, if it would end behind the dimension."""
    stale: int | None = None
    """How many of the first elements of the only tile were visited before, if that matters."""

    @property
    def tiles(self) -> int:
        return -(-self.stop // self.step)


@dataclass(frozen=True)
class Split:
    """Loops `first` to `last` of a schedule's order are divided between threads."""

    first: int
    last: int


def busy(units: int, threads: int) -> float:
    """How many of the threads work, on average, until all units are done, as a fraction."""
    return units / (threads * -(-units // threads)) if units else 1.0


def is_balanced(units: int, threads: int) -> bool:
    return busy(units, threads) >= _BALANCED


def choose_split(
    nest: Nest, schedule: Schedule, spans: Sequence[Sequence[Span]], threads: int
) -> Split | None:
    """
    Which loops to divide; None if one thread is to do it all. `spans` are those of each loop, none
    for loops that cannot be divided.
    """
    work = _cycles(nest, schedule)
    if work < _LEAST_CYCLES:
        return None
    best, least = None, work
    for first in range(len(spans)):
        for last in range(first, len(spans)):
            if not spans[last]:
                break
            time = _time(nest, schedule, spans, Split(first, last), threads, work)
            if time < least:
                best, least = Split(first, last), time
    return best


def _time(
    nest: Nest,
    schedule: Schedule,
    spans: Sequence[Sequence[Span]],
    split: Split,
    threads: int,
    work: float,
) -> float:
    """Cycles of the thread that has most to do."""
    divided = schedule.order[split.first : split.last + 1]
    share, units = 0.0, 0
    for combination in product(*spans[split.first : split.last + 1]):
        most = -(-prod(s.tiles for s in combination) // threads)
        share += most * prod(s.step for s in combination)
        units += most
    outer = prod(d.size for d in schedule.order[: split.first])
    overhead = units * outer * _UNIT_CYCLES * (split.last - split.first)
    # inner loops that are divided are entered from the beginning each time
    overhead += outer * _UNIT_CYCLES if split.first else 0
    return work * share / prod(d.size for d in divided) + overhead


def _cycles(nest: Nest, schedule: Schedule) -> float:
    """A rough estimate for the whole nest."""
    points = prod(d.size for d in nest.parallel)
    steps = prod(d.size for d in nest.reduced) if nest.reduction is not None else 0
    operations = steps + nest.weight + len(nest.operands) + len(nest.writes)
    return points * operations / schedule.lanes
