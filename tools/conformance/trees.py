"""Ensembles of decision trees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32, i64

from ...glow_dialects.glow.trees import NODE, TreeEnsembleOp
from .cases import Case, Draw, Row, cases

# rows, features, trees, levels, groups, numbers of a leaf
SIZES = ((1, 1, 1, 0, 1, 1), (1, 7, 67, 3, 1, 2), (71, 5, 6, 4, 3, 1), (131, 3, 11, 2, 1, 3))


@cases(TreeEnsembleOp, rows=[Row((f32, i32, i32, f32)), Row((f64, i64, i64, f64))])
def tree_ensemble(draw: Draw) -> Iterator[Case]:
    """Yields trees in which the last level has leaves, and some places that are out of range."""
    for rows, features, trees, levels, groups, width in draw.some(SIZES, 2):
        nodes, roots = _complete(draw, trees, levels, features)
        leaves = draw.array((5, width), draw.row.operand(3))
        yield draw.case(
            (rows, features),
            nodes.shape,
            roots.shape,
            leaves.shape,
            arrays={1: nodes, 2: roots, 3: leaves},
            constants=(1, 2, 3),
            walks=[trees, levels] if trees == 1 else [1, 0, trees - 1, levels],
            combine=draw.some(TreeEnsembleOp.COMBINES, 1)[0],
            groups=groups,
        )


def _complete(draw: Draw, trees: int, levels: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns complete trees with random tests, one after the other, and their roots."""
    rng, count = draw.rng, 1 << levels + 1
    whole = np.dtype(np.int32 if draw.row.operand(1) == i32 else np.int64)
    dtype = np.float32 if whole.itemsize == 4 else np.float64
    node = np.arange(count)
    nodes = np.zeros((trees, count, NODE), whole)
    nodes[..., 0] = rng.integers(-1, features + 1, (trees, count))
    thresholds = rng.standard_normal((trees, count)).astype(dtype)
    thresholds[:, count // 2 :] = np.nan
    nodes[..., 1] = thresholds.view(whole)
    first = np.arange(trees)[:, None] * count
    nodes[..., 2] = NODE * (first + np.where(node < count // 2, 2 * node, node))
    nodes[..., 3] = rng.integers(-1, 7, (trees, count))
    roots = np.stack([NODE * (first[:, 0] + 1), rng.permutation(trees)], axis=1)
    return nodes.reshape(-1), roots.astype(whole)
