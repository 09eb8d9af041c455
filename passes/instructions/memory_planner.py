"""
Static allocation of one arena: offsets for buffers whose lifetimes are known.

The problem is two-dimensional packing: each buffer is a rectangle of fixed width (its lifetime)
that may be moved up and down (its offset). It is NP-hard, but greedy placement comes close: take
the buffers in some order and put each into a gap between those already placed whose lifetimes meet
its own. Several orders are tried, among them "greedy by size" and "greedy by breadth" of Pisarchyk
and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), with two ways to choose
the gap. If the best result is above the lower bound, buffers at the top are moved to the front of
the order and placing is repeated for as long as that helps.

The lower bound is the largest sum, over time, of the sizes of the buffers alive. Pairs of buffers
alive at once are found by one sweep over time; all later work is proportional to their number.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WORK = 400_000
"""The number of pairs of buffers to compare, over all orders tried."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes that is alive at the times `start` to `end`, both included."""

    start: int
    end: int
    size: int


@dataclass(frozen=True)
class Plan:
    """The offset of each buffer, in bytes, and how large the arena must be."""

    offsets: tuple[int, ...]
    size: int


def align(size: int, alignment: int) -> int:
    """Returns the next multiple of `alignment`."""
    return -(-size // alignment) * alignment


def _live_bytes(lifetimes: Sequence[Lifetime]) -> list[tuple[int, int]]:
    """Returns the time of each start of a lifetime, and the bytes alive at that time."""
    events = [(b.start, 0, b.size) for b in lifetimes]
    events += [(b.end, 1, -b.size) for b in lifetimes]
    live = 0
    found: list[tuple[int, int]] = []
    for time, ending, change in sorted(events):
        live += change
        if not ending:
            found.append((time, live))
    return found


def lower_bound(lifetimes: Sequence[Lifetime]) -> int:
    """Returns the maximum over time of the bytes alive; no arena can be smaller."""
    return max((live for _, live in _live_bytes(lifetimes)), default=0)


def check_no_overlap(
    lifetimes: Sequence[Lifetime], offsets: Sequence[int]
) -> tuple[int, int] | None:
    """
    Returns two buffers that are alive at the same time at overlapping offsets, or None if there are
    none.

    A sweep over time keeps the buffers alive sorted by offset. As long as these are disjoint, a new
    buffer can only meet its two neighbours, so the check costs `n log n` (and list insertions).
    """
    events = [(b.start, 1, i) for i, b in enumerate(lifetimes) if b.size]
    events += [(b.end + 1, 0, i) for i, b in enumerate(lifetimes) if b.size]
    alive: list[tuple[int, int]] = []
    for _, starting, i in sorted(events):
        entry = (offsets[i], i)
        at = bisect_left(alive, entry)
        if not starting:
            del alive[at]
            continue
        for offset, other in alive[max(0, at - 1) : at + 1]:
            if offset < offsets[i] + lifetimes[i].size and offsets[i] < (
                offset + lifetimes[other].size
            ):
                return other, i
        insort(alive, entry)
    return None


def _neighbours(lifetimes: Sequence[Lifetime]) -> list[list[int]]:
    """Returns the buffers that live at the same time as each buffer."""
    found: list[list[int]] = [[] for _ in lifetimes]
    alive: list[int] = []
    for i in sorted(range(len(lifetimes)), key=lambda i: lifetimes[i].start):
        start = lifetimes[i].start
        alive = [j for j in alive if lifetimes[j].end >= start]
        for j in alive:
            found[j].append(i)
        found[i] += alive
        alive.append(i)
    return found


def gap(taken: Sequence[tuple[int, int]], size: int, best: bool) -> int:
    """
    Returns the offset of the first gap of at least `size` bytes or, if `best`, of the smallest one.
    """
    end = 0
    choice: tuple[int, int] | None = None
    for low, high in taken:
        room = low - end
        if room >= size:
            if not best:
                return end
            if choice is None or room < choice[0]:
                choice = room, end
        end = max(end, high)
    return end if choice is None else choice[1]


def _pack(
    order: Sequence[int], sizes: Sequence[int], neighbours: Sequence[list[int]], best: bool
) -> Plan:
    """Places the buffers in the given order."""
    offsets = [-1] * len(sizes)
    top = 0
    for i in order:
        if sizes[i] == 0:
            offsets[i] = 0
            continue
        taken = sorted(
            (offsets[j], offsets[j] + sizes[j]) for j in neighbours[i] if offsets[j] >= 0
        )
        offsets[i] = gap(taken, sizes[i], best)
        top = max(top, offsets[i] + sizes[i])
    return Plan(tuple(offsets), top)


def _by_breadth(lifetimes: Sequence[Lifetime], neighbours: Sequence[list[int]]) -> list[int]:
    """Returns the buffers of the busiest time first, the larger ones before the smaller."""
    live = {time: size for time, size in _live_bytes(lifetimes)}

    def busiest(i: int) -> int:
        times = [lifetimes[i].start, *(lifetimes[j].start for j in neighbours[i])]
        return max(live[t] for t in times if lifetimes[i].start <= t <= lifetimes[i].end)

    return sorted(range(len(lifetimes)), key=lambda i: (-busiest(i), -lifetimes[i].size))


def _orders(
    lifetimes: Sequence[Lifetime], neighbours: Sequence[list[int]]
) -> Iterator[Sequence[int]]:
    """Orders worth trying, the most successful first."""
    everything = range(len(lifetimes))

    def length(i: int) -> int:
        return lifetimes[i].end - lifetimes[i].start + 1

    yield sorted(everything, key=lambda i: (-lifetimes[i].size, -length(i)))
    yield _by_breadth(lifetimes, neighbours)
    yield sorted(everything, key=lambda i: -lifetimes[i].size * length(i))
    yield sorted(everything, key=lambda i: (-length(i), -lifetimes[i].size))
    yield sorted(everything, key=lambda i: (lifetimes[i].start, -lifetimes[i].size))
    yield sorted(everything, key=lambda i: (-lifetimes[i].end, -lifetimes[i].size))


def _raise_top(order: Sequence[int], plan: Plan, sizes: Sequence[int]) -> list[int]:
    """Returns the order with the buffers that reach the top of the arena in front."""
    top = {i for i in order if plan.offsets[i] + sizes[i] == plan.size}
    return [i for i in order if i in top] + [i for i in order if i not in top]


def plan_arena(lifetimes: Sequence[Lifetime], alignment: int = 64) -> Plan:
    """
    Returns offsets that are multiples of `alignment` for all buffers, such that no two that are
    alive at the same time overlap.
    """
    sizes = [align(b.size, alignment) for b in lifetimes]
    padded = [Lifetime(b.start, b.end, s) for b, s in zip(lifetimes, sizes, strict=True)]
    goal = lower_bound(padded)
    neighbours = _neighbours(padded)
    work = len(sizes) + sum(map(len, neighbours))
    budget = WORK
    best: tuple[Plan, Sequence[int], bool] | None = None
    for order in _orders(padded, neighbours):
        for best_fit in (True, False):
            plan = _pack(order, sizes, neighbours, best_fit)
            if best is None or plan.size < best[0].size:
                best = plan, order, best_fit
            budget -= work
            if best[0].size == goal or budget < 0:
                return best[0]
    assert best is not None
    plan, order, best_fit = best
    while budget >= 0 and plan.size > goal:
        order = _raise_top(order, plan, sizes)
        tried = _pack(order, sizes, neighbours, best_fit)
        budget -= work
        if tried.size > plan.size:
            break
        plan = tried
    return plan
