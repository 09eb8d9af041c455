"""Ensembles of decision trees: kernels, and numpy as their oracle."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import pytest
from glow.glow_dialects.glow.trees import NODE, TreeEnsembleOp
from glow.tests.support.operator_kernels import check
from glow.tests.support.oracle import run_node


def stumps(
    features: np.ndarray, thresholds: np.ndarray, dtype: type
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns trees of one test each: the operands but the features."""
    whole = np.dtype(f"i{np.dtype(dtype).itemsize}")
    count = len(features)
    nodes = np.zeros((count, 4, NODE), whole)
    nodes[:, :, 1] = np.array(np.nan, dtype).view(whole)
    places = NODE * np.arange(4 * count).reshape(count, 4)
    nodes[:, :, 2] = places
    nodes[:, 0, 0], nodes[:, 0, 1] = features, thresholds.astype(dtype).view(whole)
    nodes[:, 0, 2] = places[:, 2]
    nodes[:, 2, 3], nodes[:, 3, 3] = 2 * np.arange(count), 2 * np.arange(count) + 1
    leaves = np.stack([np.zeros(count), 1 << np.arange(count)], axis=1).reshape(-1, 1)
    roots = np.stack([places[:, 0], np.arange(count)], axis=1).astype(whole)
    return nodes.reshape(-1), roots, leaves.astype(dtype)


@pytest.mark.parametrize("rows", [1, 3, 67])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_tree_adds_a_bit(rng: np.random.Generator, rows: int, dtype: type) -> None:
    features, thresholds = rng.integers(0, 5, 11), rng.standard_normal(11).astype(dtype)
    x = rng.standard_normal((rows, 5)).astype(dtype)
    x[:, 1] = thresholds[0]
    x[0, 0] = np.nan
    operands = x, *stumps(features, thresholds, dtype)
    check(TreeEnsembleOp, *operands, walks=[11, 1])
    found = run_node(TreeEnsembleOp, *operands, walks=[11, 1])
    bits = x[:, features] <= thresholds
    np.testing.assert_array_equal(found[:, 0], bits @ (1 << np.arange(11)))


def test_places_out_of_range_are_clamped(rng: np.random.Generator) -> None:
    nodes = rng.integers(-(1 << 31), 1 << 31, 64).astype(np.int32)
    roots = rng.integers(-9, 99, (7, 2)).astype(np.int32)
    leaves = rng.standard_normal((3, 2)).astype(np.float32)
    x = rng.standard_normal((9, 4)).astype(np.float32)
    check(TreeEnsembleOp, x, nodes, roots, leaves, walks=[2, 1, 5, 7], combine="max")


NETWORK = """
func.func @main(%x: tensor<{count}x5xf32> {{glow.name = "x"}}) -> (tensor<{count}x1xf32> {{glow.name = "y"}}) {{
  %n = glow.constant dense<{nodes}> : tensor<{size}xi32>
  %r = glow.constant dense<{roots}> : tensor<{trees}x2xi32>
  %l = glow.constant dense<{leaves}> : tensor<{rows}x1xf32>
  %y = glow.tree_ensemble %x, %n, %r, %l walks [{trees}, 1] : (tensor<{count}x5xf32>, tensor<{size}xi32>, tensor<{trees}x2xi32>, tensor<{rows}x1xf32>) -> tensor<{count}x1xf32>
  func.return %y : tensor<{count}x1xf32>
}}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("count", "threads"), [(131, 1), (131, 2), (131, 3), (7, 3), (9, 4), (17, 8), (4223, 1)]
)
def test_threads_share_rows_and_each_has_its_walks(
    rng: np.random.Generator, tmp_path: Path, count: int, threads: int
) -> None:
    """
    The rows that are left over are another loop, after which the same scratch is read. They are
    fewer than the scratch has room for.
    """
    trees = 20
    features, thresholds = rng.integers(0, 5, trees), rng.standard_normal(trees)
    nodes, roots, leaves = stumps(features, thresholds, np.float32)
    path = tmp_path / "trees.mlir"
    path.write_text(
        NETWORK.format(
            nodes=nodes.tolist(),
            size=len(nodes),
            roots=roots.tolist(),
            trees=trees,
            leaves=leaves.tolist(),
            rows=len(leaves),
            count=count,
        )
    )
    x = rng.standard_normal((count, 5)).astype(np.float32)
    expected = (x[:, features] <= thresholds.astype(np.float32)) @ (1 << np.arange(trees))
    found = glow.compile(path, threads=threads)(x)
    np.testing.assert_array_equal(np.asarray(found).reshape(-1), expected)
