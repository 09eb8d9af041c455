"""Decision trees as the operands of `glow.tree_ensemble`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....errors import ModelError
from ....glow_dialects.glow.trees import NODE
from .forest import NOTHING, Tests, depths_of

_MOST_WALKS = 6
"""Trees walk in at most this many groups, whose trees take equally many steps."""


@dataclass(frozen=True)
class Layout:
    nodes: np.ndarray
    roots: np.ndarray
    walks: list[int]


def lay_out(tests: Tests, roots: np.ndarray, shift: np.ndarray) -> Layout:
    """
    Returns the operands for trees that are combined in the order of their roots. The feature of
    each node is moved by `shift`.

    The nodes of a tree follow each other, from the root downwards, and children are neighbours. The
    trees are in the order in which they walk: that of the steps that they take.
    """
    depths, trees = depths_of(tests, roots)
    reached = depths != NOTHING
    steps = np.zeros(len(roots), np.int64)
    np.maximum.at(steps, trees[reached], depths[reached])
    order = np.argsort(steps, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    whole = np.dtype(f"i{tests.thresholds.dtype.itemsize}")
    places, length = _places(tests, depths, trees, rank, roots)
    if length > np.iinfo(whole).max:
        raise ModelError(f"expected fewer nodes than {np.iinfo(whole).max // NODE}")
    nodes = _nodes(tests, places, length, shift, whole)
    table = np.stack([places[np.asarray(roots)[order]], rank], axis=1).astype(whole)
    return Layout(nodes, table, _walks(steps[order]))


def _places(
    tests: Tests, depths: np.ndarray, trees: np.ndarray, rank: np.ndarray, roots: np.ndarray
) -> tuple[np.ndarray, int]:
    """Returns where nodes are: pairs of children, after a pair for the root of each tree."""
    pair = 2 * NODE
    parents = np.flatnonzero(tests.is_test & (depths != NOTHING))
    walked = rank[trees[parents]]
    parents = parents[np.lexsort((parents, depths[parents], walked))]
    walked = np.sort(walked)
    place = np.full(len(depths), NOTHING)
    pairs = (np.arange(len(parents)) + walked + 1) * pair
    place[tests.above[parents]] = pairs
    place[tests.at_most[parents]] = pairs + NODE
    before = np.searchsorted(walked, rank)
    place[roots] = (before + rank) * pair
    return place, (len(parents) + len(roots)) * pair


def _nodes(
    tests: Tests, places: np.ndarray, length: int, shift: np.ndarray, whole: np.dtype
) -> np.ndarray:
    dtype = tests.thresholds.dtype
    nodes = np.zeros((length // NODE, NODE), whole)
    nodes[:, 1] = np.array(np.nan, dtype).view(whole)
    nodes[:, 2] = np.arange(len(nodes)) * NODE
    used = np.flatnonzero(places != NOTHING)
    at = places[used] // NODE
    test, passing = tests.is_test[used], tests.passes_to[used] != NOTHING
    tested, tests_at = used[test], at[test]
    nodes[tests_at, 0] = tests.features[tested] + shift[tested]
    nodes[tests_at, 1] = np.ascontiguousarray(tests.thresholds[tested]).view(whole)
    nodes[tests_at, 2] = places[tests.above[tested]]
    nodes[at[passing], 2] = places[tests.passes_to[used[passing]]]
    leaf = ~test & ~passing
    nodes[at[leaf], 3] = tests.leaf_rows[used[leaf]]
    return nodes.reshape(-1)


def _walks(steps: np.ndarray) -> list[int]:
    """Returns groups of trees with ascending steps: pairs of how many trees, and their steps."""
    parts = [steps]
    if len(np.unique(steps)) > _MOST_WALKS:
        parts = np.array_split(steps, _MOST_WALKS)
        groups: Sequence[tuple[int, int]] = [(len(p), int(p.max())) for p in parts if len(p)]
    else:
        groups = [
            (int(n), int(s)) for s, n in zip(*np.unique(steps, return_counts=True), strict=True)
        ]
    return [number for group in groups for number in group]
