"""Ensembles of decision trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp, DivOp
from ....glow_dialects.glow.logic import EqualOp, SelectOp
from ....glow_dialects.glow.trees import TreeEnsembleOp
from ....semantics import numpy_dtype
from ..builder import GraphBuilder, element, shape
from ..ml.forest import NOTHING, Forest, Tests, as_tests, depths_of, with_dtype
from ..ml.layout import lay_out
from ..ml.read import Weights, numbers_of, read_arrays, read_lists
from ..ml.scores import (
    TRANSFORMS,
    as_f32,
    chosen_label,
    class_labels,
    features_of,
    label_above,
    transformed,
    two_columns,
)
from ..node import ML, OnnxNode, converter
from ..problems import Unsupported

_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""In the order of their numbers in TreeEnsemble."""
_COMBINE = {"AVERAGE": "sum", "SUM": "sum", "MIN": "min", "MAX": "max"}
_IDENTITY = {"sum": 0.0, "min": np.inf, "max": -np.inf}


@converter("TreeEnsembleRegressor", domain=ML)
def regressor(node: OnnxNode) -> SSAValue:
    build, x = node.build, features_of(node)
    forest, weights = read_lists(node, "target", numpy_dtype(element(x)))
    targets = node.attr("n_targets", 1)
    scores = _Ensemble(build, x, forest, weights).scores(targets, node.attr("aggregate_function"))
    scores = _with_base(node, scores)
    return as_f32(build, transformed(build, scores, node.attr("post_transform")))


@converter("TreeEnsemble", domain=ML)
def ensemble(node: OnnxNode) -> SSAValue:
    build, x = node.build, features_of(node)
    forest, weights = read_arrays(node, numpy_dtype(element(x)))
    aggregate = _named(_AGGREGATES, node.attr("aggregate_function"), "aggregate_function")
    transform = _named(TRANSFORMS, node.attr("post_transform"), "post_transform")
    scores = _Ensemble(build, x, forest, weights).scores(node.attr("n_targets", 1), aggregate)
    return build.cast(transformed(build, scores, transform), element(node.input(0)))


@converter("TreeEnsembleClassifier", domain=ML)
def classifier(node: OnnxNode) -> list[SSAValue]:
    """
    Returns labels and scores. Two classes with weights of the first alone share one score, that of
    the second class.
    """
    build, x = node.build, features_of(node)
    forest, weights = read_lists(node, "class", numpy_dtype(element(x)))
    labels, transform = class_labels(node, "classlabels_int64s", 0), node.attr("post_transform")
    trees = _Ensemble(build, x, forest, weights)
    if len(labels) == 2 and not weights.targets.any():
        return _binary(node, labels, _with_base(node, trees.scores(1, "SUM")), weights, transform)
    scores = _with_base(node, trees.scores(len(labels), "SUM"))
    label = chosen_label(node, labels, scores)
    return [label, as_f32(build, transformed(build, scores, transform))]


def _binary(
    node: OnnxNode, labels: list[int], score: SSAValue, weights: Weights, transform: str
) -> list[SSAValue]:
    """Returns what onnxruntime does: weights that are not negative count as probabilities."""
    build, of_probability = node.build, bool((weights.numbers >= 0).all())
    if transform == "PROBIT":
        raise Unsupported("post_transform PROBIT of two classes with one score")
    label = label_above(node, labels, score, 0.5 if of_probability else 0.0)
    if transform == "LOGISTIC":
        scores = transformed(build, two_columns(build, score, False), transform)
    else:
        scores = two_columns(build, score, of_probability)
    return [label, as_f32(build, scores)]


def _named(names: tuple[str, ...], number: int, what: str) -> str:
    if not 0 <= number < len(names):
        raise ModelError(f"expected {what} in 0 to {len(names) - 1}, found {number}")
    return names[number]


def _with_base(node: OnnxNode, scores: SSAValue) -> SSAValue:
    """Returns scores with what they start from: a number for each column, or for all."""
    build = node.build
    base = numbers_of(node, "base_values", numpy_dtype(element(scores)))
    if not base.any():
        return scores
    if len(base) not in (1, shape(scores)[1]):
        raise ModelError(f"expected base_values for {shape(scores)[1]} scores, found {len(base)}")
    return build.elementwise(AddOp, scores, build.constant(base.reshape(1, -1)))


@dataclass(frozen=True)
class _Ensemble:
    """Trees, and the features that they test."""

    build: GraphBuilder
    x: SSAValue
    forest: Forest
    weights: Weights

    def scores(self, columns: int, aggregate: str) -> SSAValue:
        """Returns the aggregate of what trees give for each column."""
        if aggregate not in _COMBINE:
            raise ModelError(f"expected aggregate_function in {_AGGREGATES}, found {aggregate!r}")
        targets = self.weights.targets
        if ((targets < 0) | (targets >= columns)).any():
            raise ModelError(f"expected targets in 0 to {columns - 1}")
        build, combine = self.build, _COMBINE[aggregate]
        x, shift = self._tested(tests := self._tests())
        trees = _grouped(tests, self.forest.roots, self.weights, columns, _IDENTITY[combine])
        layout = lay_out(trees.tests, trees.roots, np.append(shift, np.zeros(trees.added, int)))
        operands = (layout.nodes, layout.roots, trees.leaves)
        scores = build.op(
            TreeEnsembleOp,
            x,
            *(build.constant(o) for o in operands),
            walks=layout.walks,
            combine=combine,
            groups=trees.groups,
        )
        if aggregate == "AVERAGE":
            # as onnxruntime does: a product would round differently
            return build.with_number(DivOp, scores, len(self.forest.roots))
        if combine == "sum":
            return scores
        none = build.op(EqualOp, scores, build.splat_like(_IDENTITY[combine], scores))
        return build.op(SelectOp, none, build.splat_like(0, scores), scores)

    def _tests(self) -> Tests:
        dtype = numpy_dtype(element(self.x))
        tests = as_tests(with_dtype(self.forest, dtype))
        used = tests.features[tests.is_test]
        if len(used) and not 0 <= used.min() <= used.max() < shape(self.x)[1]:
            raise ModelError(f"expected tests of the {shape(self.x)[1]} features of {self.x.type}")
        return tests

    def _tested(self, tests: Tests) -> tuple[SSAValue, np.ndarray]:
        """
        Returns the features as tests need them, and how far behind those of the input they are: if
        NaN passes some tests, there is a copy with negative infinity in its place.
        """
        build, x, low = self.build, self.x, tests.low_nan & tests.is_test
        nowhere = np.zeros(len(low), np.int64)
        if not low.any():
            return x, nowhere
        is_number = build.op(EqualOp, x, x)
        replaced = build.op(SelectOp, is_number, x, build.splat_like(-np.inf, x))
        if low[tests.is_test].all():
            return replaced, nowhere
        return build.concat([x, replaced], 1), np.where(low, shape(x)[1], 0)


@dataclass(frozen=True)
class _Grouped:
    """Trees in the order in which they are combined, and the rows of numbers that they give."""

    tests: Tests
    roots: np.ndarray
    leaves: np.ndarray
    groups: int
    added: int
    """Nodes that were added."""


def _grouped(
    tests: Tests, roots: np.ndarray, weights: Weights, columns: int, identity: float
) -> _Grouped:
    """
    Returns trees whose leaves have a number for each column. If each tree is for one column, they
    have one number: groups of equally many trees, some of which change nothing, are for a column.
    """
    dtype = weights.numbers.dtype
    target = _target_of_trees(tests, roots, weights) if columns > 1 else None
    width = columns if target is None else 1
    leaves = np.full((weights.count + 1, width), identity, dtype)
    columns_of = weights.targets if width > 1 else np.zeros_like(weights.targets)
    at = weights.rows, columns_of
    leaves[at] = 0
    np.add.at(leaves, at, weights.numbers)
    if target is None:
        return _Grouped(tests, roots, leaves, 1, 0)
    members = [roots[target == column] for column in range(columns)]
    rounds = max(map(len, members))
    idle = rounds * columns - len(roots)
    count = len(tests.features)
    order = np.full((rounds, columns), NOTHING)
    for column, own in enumerate(members):
        order[: len(own), column] = own
    order[order == NOTHING] = count + np.arange(idle)
    return _Grouped(
        _with_leaves(tests, idle, weights.count), order.reshape(-1), leaves, columns, idle
    )


def _target_of_trees(tests: Tests, roots: np.ndarray, weights: Weights) -> np.ndarray | None:
    """Returns the only column that each tree is for; None if some are for several."""
    _, trees = depths_of(tests, roots)
    leaf = np.flatnonzero(~tests.is_test & (tests.passes_to == NOTHING) & (trees != NOTHING))
    tree_of_row = np.full(weights.count, NOTHING)
    tree_of_row[tests.leaf_rows[leaf]] = trees[leaf]
    tree = tree_of_row[weights.rows]
    used = tree != NOTHING
    low = np.full(len(roots), np.iinfo(np.int64).max)
    high = np.full(len(roots), NOTHING)
    np.minimum.at(low, tree[used], weights.targets[used])
    np.maximum.at(high, tree[used], weights.targets[used])
    if (low < high).any():
        return None
    return np.maximum(high, 0)


def _with_leaves(tests: Tests, count: int, row: int) -> Tests:
    """Returns tests with further leaves, which give a row."""
    added: dict[str, Any] = {
        "features": 0, "thresholds": np.nan, "at_most": NOTHING, "above": NOTHING,
        "low_nan": False, "passes_to": NOTHING, "leaf_rows": row,
    }  # fmt: skip
    columns = {name: getattr(tests, name) for name in added}
    return Tests(**{n: np.append(c, np.full(count, added[n], c.dtype)) for n, c in columns.items()})
