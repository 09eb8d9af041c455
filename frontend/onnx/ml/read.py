"""Decision trees from the attributes of ONNX's operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import numpy_helper

from ....errors import ModelError
from ..node import OnnxNode
from .forest import LEQ, MODES, NOTHING, Forest


@dataclass(frozen=True)
class Weights:
    """The entries of leaves: each has a row of leaves, a target, and a number."""

    rows: np.ndarray
    targets: np.ndarray
    numbers: np.ndarray
    count: int
    """The number of rows."""


def numbers_of(node: OnnxNode, name: str, dtype: np.dtype) -> np.ndarray:
    """
    Returns a list of numbers, or the tensor that newer models may have as `name`_as_tensor; empty
    if there is neither.
    """
    for each in (f"{name}_as_tensor", name):
        value: Any = node.attr(each) if node.has(each) else None
        if value is not None:
            array = value if isinstance(value, list) else numpy_helper.to_array(value)
            return np.asarray(array, dtype).reshape(-1)
    return np.zeros(0, dtype)


def read_lists(node: OnnxNode, leaf: str, dtype: np.dtype) -> tuple[Forest, Weights]:
    """
    Returns the trees of TreeEnsembleClassifier and TreeEnsembleRegressor, whose nodes have the
    numbers of their tree and in it. `leaf` begins the names of what leaves give.
    """
    names = ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")
    trees, numbers, features, if_true, if_false = (_whole(node, f"nodes_{name}") for name in names)
    modes = np.array(node.attr("nodes_modes", []))
    thresholds = numbers_of(node, "nodes_values", dtype)
    missing = _whole(node, "nodes_missing_value_tracks_true")
    count = len(trees)
    if not count or any(len(a) != count for a in (numbers, features, if_true, if_false, modes)):
        raise ModelError("expected equally many, and some, numbers in the attributes nodes_*")
    thresholds = _padded(thresholds, count)
    find = _Numbers(trees, numbers)
    leaves = modes == "LEAF"
    if_true = np.where(leaves, NOTHING, find(trees, np.where(leaves, numbers, if_true)))
    if_false = np.where(leaves, NOTHING, find(trees, np.where(leaves, numbers, if_false)))
    _, roots = np.unique(trees, return_index=True)
    rows = np.cumsum(leaves) - 1
    ids = [_whole(node, f"{leaf}_{name}") for name in ("treeids", "nodeids", "ids")]
    weights = numbers_of(node, f"{leaf}_weights", dtype)
    if any(len(a) != len(weights) for a in ids):
        raise ModelError(f"expected equally many numbers in the attributes {leaf}_*")
    at = find(ids[0], ids[1])
    given = leaves[at]  # what is given at other nodes is never reached
    forest = Forest(
        *(np.sort(roots), modes, features, thresholds, if_true, if_false),
        _padded(missing, count) != 0,
        {},
        np.where(leaves, rows, 0),
    )
    found = Weights(rows[at][given], ids[2][given], weights[given], int(leaves.sum()))
    return forest, found


def read_arrays(node: OnnxNode, dtype: np.dtype) -> tuple[Forest, Weights]:
    """
    Returns the trees of TreeEnsemble, where leaves have numbers of their own. Each reference to a
    leaf becomes a node.
    """
    names = ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    features, if_true, if_false, true_leaf, false_leaf = (
        _whole(node, f"nodes_{name}") for name in names
    )
    codes = numpy_helper.to_array(node.attr("nodes_modes")).reshape(-1)
    splits = numpy_helper.to_array(node.attr("nodes_splits")).reshape(-1).astype(dtype)
    targets = _whole(node, "leaf_targetids")
    weights = numpy_helper.to_array(node.attr("leaf_weights")).reshape(-1).astype(dtype)
    inner = len(features)
    sizes = {len(a) for a in (if_true, if_false, true_leaf, false_leaf, codes, splits, features)}
    if len(sizes) > 1 or len(targets) != len(weights):
        raise ModelError("expected equally many numbers in the attributes nodes_*, and in leaf_*")
    if (codes >= len(MODES)).any():
        raise ModelError(f"expected nodes_modes up to {len(MODES) - 1}, found {codes.max()}")
    rows: list[int] = []

    def resolved(following: np.ndarray, is_leaf: np.ndarray) -> np.ndarray:
        result = following.copy()
        at = np.flatnonzero(is_leaf)
        limits = np.where(is_leaf != 0, len(weights), inner)
        if ((following < 0) | (following >= limits)).any():
            raise ModelError("expected numbers of nodes and leaves that there are")
        result[at] = inner + len(rows) + np.arange(len(at))
        rows.extend(following[at].tolist())
        return result

    after = [resolved(if_true, true_leaf), resolved(if_false, false_leaf)]
    none = np.full(len(rows), NOTHING)
    modes = np.array(MODES)[codes]
    roots = _whole(node, "tree_roots")
    if ((roots < 0) | (roots >= inner)).any():
        raise ModelError("expected tree_roots among the nodes")
    missing = _padded(_whole(node, "nodes_missing_value_tracks_true"), inner) != 0
    forest = Forest(
        roots,
        np.append(modes, np.full(len(rows), LEQ)),
        np.append(features, np.zeros(len(rows), np.int64)),
        np.append(splits, np.zeros(len(rows), dtype)),
        np.append(after[0], none),
        np.append(after[1], none),
        np.append(missing, np.zeros(len(rows), bool)),
        _members(node, np.flatnonzero(codes == MODES.index("BRANCH_MEMBER")), dtype),
        np.append(np.zeros(inner, np.int64), np.array(rows, np.int64)),
    )
    return forest, Weights(np.arange(len(weights)), targets, weights, len(weights))


def _members(node: OnnxNode, nodes: np.ndarray, dtype: np.dtype) -> dict[int, np.ndarray]:
    """Returns the set of each test of membership; NaN ends each set but perhaps the last."""
    if not len(nodes):
        return {}
    values = node.attr("membership_values")
    array = np.zeros(0, dtype)
    if values is not None:
        array = numpy_helper.to_array(values).reshape(-1).astype(dtype)
    ends = np.flatnonzero(np.isnan(array))
    sets = [part[part == part] for part in np.split(array, ends)]
    if len(sets) < len(nodes):
        raise ModelError(f"expected membership_values for {len(nodes)} tests, found {len(sets)}")
    return dict(zip(nodes.tolist(), sets, strict=False))


class _Numbers:
    """The nodes by their tree and number."""

    def __init__(self, trees: np.ndarray, numbers: np.ndarray):
        self._width = int(numbers.max()) + 1
        keys = trees * self._width + numbers
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]
        if min(int(trees.min()), int(numbers.min())) < 0 or (np.diff(self._sorted) == 0).any():
            raise ModelError("expected each number of a node once in its tree")

    def __call__(self, trees: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Returns the nodes. Raises ModelError if there are none."""
        keys = trees * self._width + numbers
        at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        wrong = (self._sorted[at] != keys) | (numbers < 0) | (numbers >= self._width)
        if wrong.any():
            tree, number = int(trees[wrong][0]), int(numbers[wrong][0])
            raise ModelError(f"expected node {number} in tree {tree}, found none")
        return self._order[at]


def _whole(node: OnnxNode, name: str) -> np.ndarray:
    return np.array(node.attr(name) or [], np.int64)


def _padded(array: np.ndarray, count: int) -> np.ndarray:
    """Returns an array with zeros where a list may end early."""
    if len(array) > count:
        raise ModelError(f"expected up to {count} numbers for as many nodes, found {len(array)}")
    return np.append(array, np.zeros(count - len(array), array.dtype))
