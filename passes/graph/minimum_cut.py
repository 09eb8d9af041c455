"""
The minimum cut of a graph, by Dinic's algorithm (1970): the cheapest choice of two labels for nodes
where neighbours with different labels cost something.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from itertools import pairwise
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class CutGraph(Generic[V]):
    """A directed graph from `source` to `sink` with capacities, which are integers."""

    def __init__(self, source: V, sink: V):
        self.source = source
        self.sink = sink
        self._residual: dict[V, dict[V, int]] = {source: {}, sink: {}}

    def add(self, start: V, end: V, capacity: int) -> None:
        """Adds the cost of a cut with `start` on the side of the source and `end` on the other."""
        edges = self._residual.setdefault(start, {})
        edges[end] = edges.get(end, 0) + capacity
        self._residual.setdefault(end, {}).setdefault(start, 0)

    def cut(self) -> tuple[int, set[V]]:
        """
        Returns the cost of the minimum cut and the smallest set of nodes on the side of the source.
        The graph holds what is left of the capacities afterwards.
        """
        cost = 0
        while self.sink in (levels := self._levels()):
            # edges that lead nowhere are left out once and for all in a phase
            left = {v: list(self._residual[v]) for v in levels}
            while path := self._path(levels, left):
                cost += self._push(path)
        return cost, set(levels)

    def _levels(self) -> dict[V, int]:
        """Returns the distances from the source of all nodes that can be reached from it."""
        levels, pending = {self.source: 0}, deque([self.source])
        while pending:
            v = pending.popleft()
            for w, capacity in self._residual[v].items():
                if capacity and w not in levels:
                    levels[w] = levels[v] + 1
                    pending.append(w)
        return levels

    def _path(self, levels: dict[V, int], left: dict[V, list[V]]) -> list[V]:
        """Returns a shortest path from the source to the sink; [] if there is none."""
        path = [self.source]
        while path and path[-1] != self.sink:
            v = path[-1]
            if not left[v]:
                path.pop()
                if path:
                    left[path[-1]].pop()
                continue
            w = left[v][-1]
            if self._residual[v][w] and levels.get(w) == levels[v] + 1:
                path.append(w)
            else:
                left[v].pop()
        return path

    def _push(self, path: list[V]) -> int:
        """Takes as much as possible from the capacities along a path; returns how much."""
        edges = list(pairwise(path))
        least = min(self._residual[v][w] for v, w in edges)
        for v, w in edges:
            self._residual[v][w] -= least
            self._residual[w][v] += least
        return least
