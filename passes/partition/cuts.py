"""
Cuts a graph into consecutive pieces, one for each of several devices: of similar size in memory,
with few bytes that cross from one piece to another.

By dynamic programming over the places of cuts: the least bytes across the first cuts, if the last
of them is at a place, follow from those of one cut less. Which places the cut before can have is an
interval that moves on with the place, so a queue of minima (Lemire, "Streaming Maximum-Minimum
Filter", 2006) makes it linear in the number of units for each device.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf

from .choices import Choice, DeviceMemory, Filling, around_bytes, order_by_capability
from .placement import Problem

SLACKS = (1.1, 1.25, 1.5, 2.0, 4.0, inf)
"""
The sizes of pieces relative to the mean that are tried in order; the first possible one is taken.
"""


def balanced_cut(problem: Problem, memory: DeviceMemory) -> Choice | None:
    """
    Returns each unit on a device that can compute the fewest units (see `order_by_capability`), of
    those whose memory holds the unit alone. If several devices can compute that many, each gets a
    piece of the units in their order. A piece's size are the bytes of its constants and results.
    """
    order, filling = order_by_capability(problem), Filling(problem, memory)
    choice = [-1] * len(problem.costs)
    kinds: dict[tuple[int, ...], list[int]] = {}
    for unit in range(len(choice)):
        able = [d for d in problem.can(unit) if filling.holds(unit, d)]
        if not able:
            return None
        first = min(order(unit, d) for d in able)
        kind = tuple(d for d in able if order(unit, d) == first)
        if len(kind) == 1:
            choice[unit] = kind[0]
            filling.put(unit, kind[0])
        else:
            kinds.setdefault(kind, []).append(unit)
    for kind, units in kinds.items():
        cuts = _cut(problem, filling, kind, units)
        if cuts is None:
            return None
        for device, begin, end in zip(kind, [0, *cuts], [*cuts, len(units)], strict=True):
            for unit in units[begin:end]:
                choice[unit] = device
    return choice


def _cut(
    problem: Problem, filling: Filling, devices: Sequence[int], units: Sequence[int]
) -> list[int] | None:
    """
    Returns the beginnings of the pieces of all devices but the first; None if they do not fit.
    """
    sizes = [problem.weights[u] + _made(problem, u) for u in units]
    room = [filling.memory[d] - filling.weights[d] for d in devices]
    shares = room if max(room) < inf else [1.0] * len(devices)
    crossing = _crossing(problem, units)
    for slack in SLACKS:
        limits = [slack * sum(sizes) * share / max(1.0, sum(shares)) for share in shares]
        found = _best_cuts(
            crossing,
            [
                _Window(problem, units, sizes, limit, r)
                for limit, r in zip(limits, room, strict=True)
            ],
        )
        if found is not None:
            return found
    return None


def _made(problem: Problem, unit: int) -> int:
    return sum(problem.values[v].bytes for v in problem.makes[unit])


def _crossing(problem: Problem, units: Sequence[int]) -> list[int]:
    """
    Returns the bytes that cross each place between units: earlier units make them and later ones
    read them.
    """
    place = {unit: i for i, unit in enumerate(units)}
    change = [0] * (len(units) + 1)
    for i, unit in enumerate(units):
        for value in problem.makes[unit]:
            last = max((place.get(u, i) for u in problem.values[value].users), default=i)
            change[i + 1] += problem.values[value].bytes
            change[last + 1] -= problem.values[value].bytes
    total = 0
    found: list[int] = []
    for bytes_here in change:
        total += bytes_here
        found.append(total)
    return found


class _Window:
    """The place at which a piece that ends at a place may begin, for places in ascending order."""

    def __init__(
        self,
        problem: Problem,
        units: Sequence[int],
        sizes: Sequence[int],
        limit: float,
        room: float,
    ):
        self._weights = [problem.weights[u] for u in units]
        self._around = [around_bytes(problem, u) for u in units]
        self._sizes = sizes
        self._limit, self._room = limit, room
        self._begin = self._size = self._weight = 0
        self._maxima: deque[int] = deque()

    def begin(self, end: int) -> int:
        """Returns the first place where a piece may begin that ends before unit `end`."""
        if not end:
            return 0
        new = end - 1
        self._size += self._sizes[new]
        self._weight += self._weights[new]
        while self._maxima and self._around[self._maxima[-1]] <= self._around[new]:
            self._maxima.pop()
        self._maxima.append(new)
        while self._begin < end and not self._fits():
            self._size -= self._sizes[self._begin]
            self._weight -= self._weights[self._begin]
            if self._maxima[0] == self._begin:
                self._maxima.popleft()
            self._begin += 1
        return self._begin

    def _fits(self) -> bool:
        needed = self._weight + self._around[self._maxima[0]]
        return self._size <= self._limit and needed <= self._room


def _best_cuts(crossing: Sequence[int], windows: Sequence[_Window]) -> list[int] | None:
    """
    Returns the places of the cuts with the least bytes across; None if there are no such places.
    """
    count = len(crossing)
    cost = [0.0] + [inf] * (count - 1)  # of pieces that end at each place
    choices: list[list[int]] = []
    for window in windows:
        queue: deque[int] = deque()
        following = [inf] * count
        chosen = [0] * count
        for end in range(count):
            while queue and cost[queue[-1]] >= cost[end]:
                queue.pop()
            queue.append(end)
            begin = window.begin(end)
            while queue[0] < begin:
                queue.popleft()
            chosen[end] = queue[0]
            following[end] = cost[queue[0]]
        choices.append(chosen)
        # a cut at the last place cuts nothing
        cost = [c + (crossing[i] if i < count - 1 else 0) for i, c in enumerate(following)]
    if cost[-1] == inf:
        return None
    cuts = [count - 1]
    for chosen in reversed(choices[1:]):
        cuts.append(chosen[cuts[-1]])
    return cuts[:0:-1]
