"""Operators that look for elements, and updates by indices: kernels, and numpy as their oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from glow.glow_dialects.glow import indexing as g
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow.embedding import EmbeddingBagOp, FusedEmbeddingBagOp
from glow.tests.support.operator_kernels import check
from glow.tests.support.oracle import run_node

SHAPES = [((1,), 0), ((37,), 0), ((5, 19), 1), ((3, 11, 4), 1)]


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Returns few different numbers, so that some are equal."""
    return rng.integers(-3, 4, shape).astype(dtype)


def both(operator: type[Node], *arrays: np.ndarray, **properties: Any) -> np.ndarray:
    """Returns the interpreter's result, after the comparison of the kernel with it."""
    check(operator, *arrays, **properties)
    return run_node(operator, *arrays, **properties)


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int8], ids=str)
def test_extremes(rng: np.random.Generator, shape: tuple, axis: int, dtype: Any):
    x = drawn(rng, shape, dtype)
    largest = both(g.ArgMaxOp, x, axis=axis)
    np.testing.assert_array_equal(largest, x.argmax(axis))
    last = both(g.ArgMinOp, x, axis=axis, last=True)
    end = x.shape[axis] - 1
    np.testing.assert_array_equal(last, end - np.flip(x, axis).argmin(axis))


def test_the_extreme_is_the_first_nan():
    x = np.array([[1, np.nan, 3, np.nan], [np.inf, 1, 2, 3]], np.float32)
    for operator, second in ((g.ArgMaxOp, 0), (g.ArgMinOp, 1)):
        assert both(operator, x, axis=1).tolist() == [1, second]


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8], ids=str)
def test_top(rng: np.random.Generator, shape: tuple, axis: int, smallest: bool, dtype: Any):
    x = np.abs(drawn(rng, shape, dtype))
    k = (shape[axis] + 1) // 2
    order = np.argsort(x if smallest else -x.astype(float), axis, kind="stable")
    found = both(g.TopIndicesOp, x, axis=axis, k=k, smallest=smallest)
    np.testing.assert_array_equal(found, order.take(range(k), axis))


def test_nan_is_larger_than_all_numbers():
    x = np.array([1, np.nan, np.inf, np.nan, -2], np.float32)
    assert both(g.TopIndicesOp, x, axis=0, k=5).tolist() == [1, 3, 2, 0, 4]
    assert both(g.TopIndicesOp, x, axis=0, k=5, smallest=True).tolist() == [4, 0, 2, 1, 3]


@pytest.mark.parametrize(
    ("dtype", "size", "k"),
    [
        *((np.float32, 107, 5), (np.float16, 131, 107), (np.float64, 59, 3), (np.int64, 71, 71)),
        *((np.uint32, 257, 1), (np.uint64, 67, 13), (np.int8, 53, 9)),
        # of these, elements that may be among the largest ones are looked for first
        *((np.float32, 1031, 5), (np.float64, 601, 7), (np.uint8, 659, 1), (np.int32, 2003, 131)),
    ],
    ids=str,
)
def test_top_of_many(rng: np.random.Generator, dtype: Any, size: int, k: int):
    x = rng.integers(-9, 9, (2, size, 3)).astype(dtype)
    if x.dtype.kind == "f":
        x[rng.integers(0, 5, x.shape) == 0] = np.nan
        x[rng.integers(0, 5, x.shape) == 0] = -0.0
    if x.dtype.kind in "iu":
        x[0, :2, 0] = np.iinfo(dtype).min, np.iinfo(dtype).max
    for smallest in (False, True):
        both(g.TopIndicesOp, x, axis=1, k=k, smallest=smallest)
    wanted = np.argsort(x, 1, kind="stable")[:, :k]
    np.testing.assert_array_equal(run_node(g.TopIndicesOp, x, axis=1, k=k, smallest=True), wanted)


@pytest.mark.parametrize("shape", [(1, 1500), (37, 61), (5, 67, 2)], ids=str)
def test_top_of_equal_elements(rng: np.random.Generator, shape: tuple):
    """Where most elements are as large as the last one that is kept, the first ones are."""
    x = rng.integers(1, 3, shape).astype(np.float32)
    wanted = np.argsort(-x, 1, kind="stable")[:, :50]
    np.testing.assert_array_equal(both(g.TopIndicesOp, x, axis=1, k=50), wanted)


@pytest.mark.parametrize("order", [1, -1], ids=["ascending", "descending"])
def test_top_of_ordered_elements(rng: np.random.Generator, order: int):
    """The largest elements may all lie in a few columns."""
    x = np.sort(rng.normal(size=(1, 3001)), 1)[:, ::order].astype(np.float32)
    x = np.ascontiguousarray(x.reshape(1, -1, 1))
    wanted = np.argsort(-x, 1, kind="stable")[:, :77]
    np.testing.assert_array_equal(both(g.TopIndicesOp, x, axis=1, k=77), wanted)


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative(
    rng: np.random.Generator, shape: tuple, axis: int, exclusive: bool, reverse: bool
):
    x = rng.uniform(-1.5, 1.5, shape).astype(np.float32)
    turned = np.flip(x, axis) if reverse else x
    operators = [(g.CumSumOp, np.cumsum, 0), (g.CumProdOp, np.cumprod, 1)]
    for operator, reference, identity in operators:
        wanted = reference(turned, axis)
        if exclusive:
            first = np.full_like(wanted.take([0], axis), identity)
            last = range(shape[axis] - 1)
            wanted = np.concatenate([first, wanted.take(last, axis)], axis)
        wanted = np.flip(wanted, axis) if reverse else wanted
        found = both(operator, x, axis=axis, exclusive=exclusive, reverse=reverse)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
@pytest.mark.parametrize("count", [7, 67])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8], ids=str)
def test_gather_elements(rng: np.random.Generator, shape: tuple, axis: int, count: int, dtype: Any):
    x = rng.integers(-99, 99, shape).astype(dtype)
    size = shape[axis]
    wanted = [count if d == axis else s for d, s in enumerate(shape)]
    for dtype in (np.int32, np.int64):
        # beyond both ends: clamped
        indices = rng.integers(-2 * size, 2 * size, wanted).astype(dtype)
        inside = np.clip(np.where(indices < 0, indices + size, indices), 0, size - 1)
        found = both(g.GatherElementsOp, x, indices, axis=axis)
        np.testing.assert_array_equal(found, np.take_along_axis(x, inside, axis))


@pytest.mark.parametrize("columns", [1, 37])
@pytest.mark.parametrize("reduction", g.REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float16, np.int8], ids=str)
def test_scatter(rng: np.random.Generator, columns: int, reduction: str, dtype: Any):
    """Several updates of one row, in order, and rows beyond both ends, which are clamped."""
    rows, count = 5, 11
    data, updates = drawn(rng, (rows, columns), dtype), drawn(rng, (count, columns), dtype)
    indices = rng.integers(-2 * rows, 2 * rows, count)
    wanted = data.copy()
    ufunc = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    for row, update in zip(indices, updates, strict=True):
        place = min(max(row + rows if row < 0 else row, 0), rows - 1)
        combine = ufunc.get(reduction)
        wanted[place] = update if combine is None else combine(wanted[place], update)
    found = both(g.ScatterOp, data, indices, updates, reduction=reduction)
    np.testing.assert_array_equal(found, wanted)


def test_scatter_of_nothing(rng: np.random.Generator):
    data = rng.standard_normal((3, 4)).astype(np.float32)
    found = both(g.ScatterOp, data, np.zeros(0, np.int64), np.zeros((0, 4), np.float32))
    np.testing.assert_array_equal(found, data)


def test_rows_of_bags_count_from_the_end(rng: np.random.Generator):
    """Rows of bags beyond both ends are clamped, and so are offsets; one bag ends before it is."""
    data = rng.standard_normal((7, 5)).astype(np.float32)
    indices, bags = np.array([-1, 3, -7, 9, -20]), np.array([-2, 2, 4, 3, 9])
    weights = rng.standard_normal(5).astype(np.float32)
    found = both(EmbeddingBagOp, data, indices, weights, bags)
    wanted = np.zeros((4, 5))
    rows = data[[6, 3, 0, 6, 0]].astype(np.float64) * weights[:, None]
    for bag, part in ((0, rows[:2]), (1, rows[2:4]), (3, rows[3:])):
        wanted[bag] = part.sum(0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    fused = rng.integers(0, 120, (7, 12)).astype(np.uint8)
    both(FusedEmbeddingBagOp, fused, indices, weights, bags, bits=4, half=True)
