"""
Decision trees as ONNX describes them, and as binary trees with one kind of test.

Every test becomes one or several tests whether a feature is at most a threshold. `x < t` is `x <=
t'` with the next number below `t`, `x > t` is the opposite of `x <= t`, and a test for members of a
set is a search in sorted bounds. A NaN fails a test, unless the node asks for the feature with
negative infinity in the place of NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....errors import ModelError

NOTHING = -1
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = (
    *("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"),
    "BRANCH_MEMBER",
)
MODES = (LEQ, LT, GTE, GT, EQ, NEQ, MEMBER)
"""In the order of their numbers in TreeEnsemble."""


@dataclass(frozen=True)
class Forest:
    """Trees as ONNX describes them. A node is a number, at which arrays have what it is."""

    roots: np.ndarray
    modes: np.ndarray
    """Names of tests; anything for leaves."""
    features: np.ndarray
    thresholds: np.ndarray
    if_true: np.ndarray
    """Nodes that follow; NOTHING for leaves."""
    if_false: np.ndarray
    nan_is_true: np.ndarray
    members: dict[int, np.ndarray]
    """The sets of tests of membership, by node."""
    leaf_rows: np.ndarray
    """Which row of weights a leaf gives; 0 for others."""


@dataclass(frozen=True)
class Tests:
    """Trees whose nodes all test whether a feature is at most a threshold."""

    features: np.ndarray
    thresholds: np.ndarray
    at_most: np.ndarray
    """Nodes that follow if the test holds; NOTHING for leaves, and nodes that pass on."""
    above: np.ndarray
    low_nan: np.ndarray
    """Whether NaN counts as negative infinity, so that the test holds."""
    passes_to: np.ndarray
    """The node that takes the place of one; NOTHING for others."""
    leaf_rows: np.ndarray

    @property
    def is_test(self) -> np.ndarray:
        return self.at_most != NOTHING


def as_tests(forest: Forest) -> Tests:
    """Returns trees of one kind of test. Raises ModelError for unknown tests."""
    leaf = forest.if_true == NOTHING
    modes, thresholds = forest.modes.copy(), forest.thresholds.copy()
    unknown = sorted(set(modes[~leaf].tolist()) - set(MODES))
    if unknown:
        raise ModelError(f"expected tests of {', '.join(MODES)}, found {', '.join(unknown)}")
    strict = ((modes == LT) | (modes == GTE)) & ~leaf
    lowest = strict & np.isneginf(thresholds)
    # no number is below negative infinity
    thresholds[strict] = np.nextafter(thresholds[strict], thresholds.dtype.type(-np.inf))
    thresholds[lowest] = np.inf
    modes[lowest] = np.where(modes[lowest] == LT, GT, LEQ)
    opposite = (modes == GT) | (modes == GTE)
    tests = Tests(
        forest.features,
        thresholds,
        np.where(opposite, forest.if_false, forest.if_true),
        np.where(opposite, forest.if_true, forest.if_false),
        (forest.nan_is_true != opposite) & ~leaf,
        np.full(len(leaf), NOTHING),
        forest.leaf_rows,
    )
    sets = np.flatnonzero(np.isin(modes, (EQ, NEQ, MEMBER)) & ~leaf)
    return _Searches(forest, tests).expanded(sets) if len(sets) else tests


class _Searches:
    """Replaces tests of equality and membership by searches."""

    def __init__(self, forest: Forest, tests: Tests):
        self._forest = forest
        self._tests = tests
        self._new: list[tuple[int, float, int, int, int]] = []
        """Feature, threshold, the two nodes that follow, and the node that is passed on to."""
        self._changed: dict[int, tuple[int, float, int, int, int]] = {}
        self._owned: set[int] = set()

    def expanded(self, nodes: np.ndarray) -> Tests:
        for node in nodes.tolist():
            self._expand(node)
        tests, count = self._tests, len(self._new)
        columns = [tests.features, tests.thresholds, tests.at_most, tests.above, tests.passes_to]
        added = list(zip(*self._new, strict=True)) or [()] * len(columns)
        whole = [np.append(c, np.array(a, c.dtype)) for c, a in zip(columns, added, strict=True)]
        for node, values in self._changed.items():
            for column, value in zip(whole, values, strict=True):
                column[node] = value
        features, thresholds, at_most, above, passes_to = whole
        low_nan = np.append(tests.low_nan, np.zeros(count, bool))
        low_nan[nodes] = False
        rows = np.append(tests.leaf_rows, np.zeros(count, tests.leaf_rows.dtype))
        return Tests(features, thresholds, at_most, above, low_nan, passes_to, rows)

    def _expand(self, node: int) -> None:
        forest = self._forest
        inside, outside = int(forest.if_true[node]), int(forest.if_false[node])
        mode, feature = forest.modes[node], int(forest.features[node])
        members = forest.members[node] if mode == MEMBER else forest.thresholds[node : node + 1]
        if mode == NEQ:
            inside, outside = outside, inside
        members = np.unique(members[members == members])
        if not len(members):
            self._changed[node] = feature, np.nan, inside, outside, NOTHING
            return
        below = np.nextafter(members, members.dtype.type(-np.inf))
        bounds = np.stack([below, members], axis=1).reshape(-1)
        search = self._search(feature, bounds, 0, len(bounds), inside, outside)
        if mode != NEQ and forest.nan_is_true[node]:
            self._new.append(search)
            number = self._number(len(self._new) - 1)
            search = feature, np.inf, number, self._pass_to(inside), NOTHING
        self._changed[node] = search

    def _search(
        self, feature: int, bounds: np.ndarray, first: int, end: int, inside: int, outside: int
    ) -> tuple[int, float, int, int, int]:
        """Returns the node that finds the part between bounds that a number is in."""
        if first == end:
            return 0, np.nan, NOTHING, NOTHING, inside if first % 2 else outside
        middle = (first + end) // 2
        following = []
        for part in ((first, middle), (middle + 1, end)):
            found = self._search(feature, bounds, *part, inside, outside)
            target = found[-1]
            if target != NOTHING and target not in self._owned:
                self._owned.add(target)
                following.append(target)
                continue
            self._new.append(found)
            following.append(self._number(len(self._new) - 1))
        return feature, float(bounds[middle]), following[0], following[1], NOTHING

    def _pass_to(self, target: int) -> int:
        if target not in self._owned:
            self._owned.add(target)
            return target
        self._new.append((0, np.nan, NOTHING, NOTHING, target))
        return self._number(len(self._new) - 1)

    def _number(self, new: int) -> int:
        return len(self._tests.features) + new


def depths_of(tests: Tests, roots: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Returns how many steps lead to each node at most, and the number of its tree; NOTHING for nodes
    without a way to them. Raises ModelError for nodes with two parents, and for cycles.
    """
    count = len(tests.features)
    parents = np.bincount(
        np.concatenate([tests.at_most[tests.is_test], tests.above[tests.is_test], roots]),
        minlength=count,
    )
    if (parents > 1).any():
        raise ModelError("expected trees, found a node that follows two others")
    depths, trees = np.full(count, NOTHING), np.full(count, NOTHING)
    frontier = np.asarray(roots)
    trees[frontier] = np.arange(len(frontier))
    for depth in range(count + 1):
        if not len(frontier):
            return depths, trees
        depths[frontier] = depth
        found = []
        for following in (tests.at_most, tests.above, tests.passes_to):
            at = frontier[following[frontier] != NOTHING]
            trees[following[at]] = trees[at]
            found.append(following[at])
        frontier = np.unique(np.concatenate(found))
    raise ModelError("expected trees, found a cycle of nodes")


def with_dtype(forest: Forest, dtype: np.dtype) -> Forest:
    """Returns the same with thresholds and members of a type."""
    members = {node: found.astype(dtype) for node, found in forest.members.items()}
    return replace(forest, thresholds=forest.thresholds.astype(dtype), members=members)
