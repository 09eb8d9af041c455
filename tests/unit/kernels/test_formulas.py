"""The kernel of any formula agrees with the evaluator, at odd shapes, on several machines."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import pytest
from glow.glow_dialects.glow.generic import GenericOp
from glow.glow_dialects.glow.matrix import FullyConnectedOp
from glow.glow_dialects.integers import u64
from glow.glow_dialects.operator import with_shape
from glow.tests.support.operator_kernels import check
from numpy.random import Generator
from xdsl.dialects.builtin import f32

F32, F16, F64, I8, I32, I64 = np.float32, np.float16, np.float64, np.int8, np.int32, np.int64
Shapes = list[tuple[int, ...] | tuple[tuple[int, ...], Any]]

CASES: list[tuple[str, Shapes]] = [
    ("y[b, i] = sum(k) x[b, k] * w[i, k]", [(5, 33), (19, 33)]),
    ("y[i] = x[i] * 2 + 1", [(37,)]),
    ("y[j, i] = x[i, j]", [(19, 21)]),
    ("y[i, 0] = -x[i]", [((17,), I8)]),
    ("y[i] = sum(j) f32(x[i, j])", [((3, 35), I8)]),
    ("y[i] = sum(j) (x[i, j] - 1) ** 2 / (1 + abs(x[i, j]))", [(7, 41)]),
    ("y[i] = (max(j) x[i, j]) - (min(j) x[i, j]) + (sum(j) x[i, j]) / count(j)", [(7, 41)]),
    ("y[i] = prod(j) x[i, j]", [((5, 6), F64)]),
    # beyond the bounds
    ("y[i, c] = sum(t < 5) x[i + t - 2, c | outside: 0] * w[t, c] for i < 11", [(11, 20), (5, 20)]),
    ("y[i] = max(t < 4) x[2 * i + t - 1 | outside: -inf] for i < 9", [(17,)]),
    ("y[i] = sum(t < 3) x[i - 40 * t | outside: 3] for i < 50", [((50,), I32)]),
    ("y[i] = x[i * 5000 | outside: 0] for i < 9", [(7,)]),
    (
        "y[c, i, j] = sum(k < 7, l < 7) x[c, i + k - 3, j + l - 3 | outside: 0] * w[c, k, l] "
        "for i < 6, j < 6",
        [(401, 6, 6), (401, 7, 7)],
    ),
    # a step of the first loops has padded copies of its own
    ("y[c, i, j] = max(k < 3) x[c, i, j + k - 1 | outside: 0] for j < 31", [(5, 11, 31)]),
    (
        "y[a, b, i] = x[a, b, i - 1 | outside: 0] - 2 * x[b, a, i - 1 | outside: 0] for i < 301",
        [(3, 3, 301)],
    ),
    ("y[i, j] = x[i + j | outside: a[i]] for j < 20", [(13,), (13,)]),
    ("y[i] = sum(t < 9) x[clamp(i + t - 4, 0, 30)] for i < size(x, 0)", [(31,)]),
    # computed indices
    ("y[b, d] = sum(t) e[clamp(n[b, t], 0, size(e, 0) - 1), d]", [(7, 37), ((5, 9), I64)]),
    ("y[b, d] = sum(t) w[b, t] * e[clamp(n[b, t], 0, 6), d]", [(5, 9), (7, 37), ((5, 9), I32)]),
    ("y[b] = e[clamp(m[b], 0, 4), clamp(n[b], 0, 5)]", [(5, 6), ((29,), I32), ((29,), I64)]),
    ("y[i, j] = x[floor((i + 0.5) * 0.5), floor((j + 0.5) / 3)] for i < 12, j < 15", [(6, 5)]),
    ("y[i, j] = x[i // 3, j % 4] for i < 9, j < 11", [(3, 4)]),
    ("y[i] = x[n[i] | outside: -1]", [(6,), ((33,), I32)]),
    ("y[i] = x[size(x, 0) - 1 - i] for i < 23", [(23,)]),
    ("y[i] = x[n[clamp(m[i], 0, 8)] | outside: 0]", [(6,), ((9,), I32), ((20,), I64)]),
    # conditions, and indices as values
    ("y[i, j] = x[i, j] if j <= i and not j == 2 else 0", [(9, 20)]),
    ("y[i] = sum(j) (x[i, j] if abs(i - j) < 3 or j == 0 else 0)", [(17, 21)]),
    ("y[i] = x[i] * i + 0.5 * (i // 2)", [(19,)]),
    ("y[i] = x[i] + exp(-0.1 * i)", [(19,)]),
    ("y[i, j] = f32(i * 10 + j) for i < 3, j < 17", []),
    ("y[i] = max(x[i], 0) ** 2", [(40,)]),
    # several equations
    (
        "y[i, j] = e[i, j] / t[i] where e[i, j] = exp(x[i, j] - (max(k) x[i, k])); "
        "t[i] = sum(j) e[i, j]",
        [(5, 33)],
    ),
    (
        "y[i.., j] = (x[i.., j] - m[i..]) * w[j] where m[i..] = (sum(j) x[i.., j]) / count(j)",
        [(2, 3, 17), (17,)],
    ),
    ("y[i] = sum(j) x[j] * (sum(k) w[i, j, k] * v[k])", [(7,), (5, 7, 9), (9,)]),
    ("y[i] = (sum(j < 0) x[i, j]) + 1", [(5, 3)]),
    ("y[i] = x[i]", [((33,), F16)]),
    ("y[b, i] = sum(k) x[b, k] * w[i, k]", [((3, 20), F16), ((7, 20), F16)]),
]


def values(rng: Generator, shape: Any) -> np.ndarray:
    shape, dtype = shape if shape and isinstance(shape[0], tuple) else (shape, F32)
    if np.dtype(dtype).kind == "i":
        return rng.integers(-3, 12, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_kernels_of_formulas(case: tuple[str, Shapes], rng: Generator):
    formula, shapes = case
    check(GenericOp, *(values(rng, shape) for shape in shapes), formula=formula)


@pytest.mark.parametrize("terms", [511, 512, 513, 1030])
def test_sums_of_products_of_bytes_are_exact(terms: int):
    """Up to 512 terms, f32 holds each sum; the largest ones are sums of extreme numbers."""
    x = np.full((3, terms), 255, np.uint8)
    weights = np.full((5, terms), -128, np.int8)
    x[1, ::7], weights[2, ::3] = 254, 127
    check(FullyConnectedOp, x, weights, np.arange(5, dtype=np.int32), tolerance=0)


@pytest.mark.parametrize("index", ["n", "n + i", "n // 2", "n * n", "n * n // 4"])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.int64])
def test_indices_that_wrap_around(index: str, dtype: type, rng: Generator):
    """Indices are signed numbers of 64 bits; the large ones here are outside on either side."""
    x, most = rng.uniform(0, 1, 11).astype(F32), int(np.iinfo(dtype).max)
    n = np.array([5, most - 9, most // 2 + 5, 3, 0, most // 16, 2], dtype)
    places = eval(index, {"n": n.astype(I64), "i": np.arange(7)})
    inside = (places >= 0) & (places < 11)
    wanted = np.where(inside, x[np.where(inside, places, 0)], F32(-1))
    formula = f"y[i] = x[{index.replace('n', 'n[i]')} | outside: -1]"
    np.testing.assert_array_equal(glow.define("read", formula)(x, n), wanted)
    check(GenericOp, x, n, formula=formula, tolerance=0)


def test_an_index_that_wraps_around_has_no_least_value():
    for index in ("min(n[i], 10)", "min(n[i] + 1, 10)", "abs(min(n[i], 10))", "min(n[i] // 2, 10)"):
        read = glow.define("read", f"y[i] = x[{index}]")
        with pytest.raises(glow.GlowError, match="may be any number; clamp it"):
            read.result_type(with_shape(f32, (11,)), with_shape(u64, (7,)))
