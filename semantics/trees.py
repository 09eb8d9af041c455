"""Ensembles of decision trees."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.trees import NODE, TreeEnsembleOp
from ..glow_dialects.operator import Call
from .registry import meaning

_COMBINE = {"sum": np.add, "min": np.minimum, "max": np.maximum}


@meaning(TreeEnsembleOp)
def tree_ensemble(
    call: Call, x: np.ndarray, nodes: np.ndarray, roots: np.ndarray, leaves: np.ndarray
) -> np.ndarray:
    """Walks through all trees in each row, and combines what they give in the order of trees."""
    walks, groups = call.ints("walks"), call.int("groups")
    places, first = [], 0
    for trees, steps in zip(walks[::2], walks[1::2], strict=True):
        found = np.broadcast_to(roots[first : first + trees, 0], (len(x), trees))
        places.append(_walk(x, nodes, found, steps))
        first += trees
    last = nodes[_clamped(np.concatenate(places, axis=1), len(nodes) - NODE) + 3]
    order = _clamped(roots[:, 1], len(roots) - 1)
    given = leaves[_clamped(last, len(leaves) - 1)][:, order]
    grouped = given.reshape(len(x), len(roots) // groups, groups * leaves.shape[1])
    combine = _COMBINE[call.get("combine")]
    result = np.zeros(grouped[:, 0].shape, x.dtype)
    for i in range(grouped.shape[1]):
        result = combine(result, grouped[:, i]) if i or combine is np.add else grouped[:, i]
    return result


def _walk(x: np.ndarray, nodes: np.ndarray, places: np.ndarray, steps: int) -> np.ndarray:
    rows = np.arange(len(x))[:, None]
    for _ in range(steps):
        at = _clamped(places, len(nodes) - NODE)
        threshold = np.ascontiguousarray(nodes[at + 1]).view(x.dtype)
        value = x[rows, _clamped(nodes[at], x.shape[1] - 1)]
        places = nodes[at + 2] + NODE * (value <= threshold)
    return places


def _clamped(indices: np.ndarray, last: int) -> np.ndarray:
    """Returns indices as numbers without a sign, as far as they are at most `last`."""
    unsigned = np.ascontiguousarray(indices).view(f"u{indices.itemsize}")
    return np.minimum(unsigned, last).astype(np.int64)
