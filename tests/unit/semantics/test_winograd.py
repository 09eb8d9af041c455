"""Winograd convolution equals correlation: exactly in rationals, and in numpy up to rounding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from glow.glow_dialects.glow_cpu.blocked import BlockedConvolutionOp
from glow.glow_dialects.glow_cpu.winograd import MOST_COEFFICIENTS, TILES, WinogradConvolutionOp
from glow.glow_dialects.operator import Call, with_shape
from glow.glow_dialects.python_values import Python, to_attribute
from glow.semantics import evaluate
from glow.semantics.blocked import pack_channels, pack_filter
from glow.semantics.cook_toom import (
    POINTS,
    Matrix,
    integer_transforms,
    transforms,
    winograd_transforms,
)
from glow.semantics.winograd import transform_filter
from glow.tests.support.seeds import numbered
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def times(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    return tuple(
        tuple(
            sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0))
            for column in columns
        )
        for row in a
    )


def transposed(a: Matrix) -> Matrix:
    return tuple(zip(*a, strict=True))


def random_matrix(rng: Random, rows: int, columns: int) -> Matrix:
    return tuple(
        tuple(Fraction(rng.randint(-99, 99), rng.randint(1, 9)) for _ in range(columns))
        for _ in range(rows)
    )


def correlation(d: Matrix, g: Matrix, m: int) -> Matrix:
    r = len(g)
    return tuple(
        tuple(
            sum((d[i + k][j + n] * g[k][n] for k in range(r) for n in range(r)), Fraction(0))
            for j in range(m)
        )
        for i in range(m)
    )


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.lists(st.fractions(-9, 9, max_denominator=8), min_size=7, max_size=7, unique=True),
    st.integers(0, 2**32),
)
def test_transforms_are_exact(m: int, r: int, points: list[Fraction], seed: int):
    """`A^T ((G g G^T) * (B^T d B)) A` is the correlation of d and g, whatever the points."""
    t = transforms(m, r, points[: m + r - 2])
    rng = Random(seed)
    d, g = random_matrix(rng, m + r - 1, m + r - 1), random_matrix(rng, r, r)
    u = times(times(t.filters, g), transposed(t.filters))
    v = times(times(t.inputs, d), transposed(t.inputs))
    products = tuple(
        tuple(x * y for x, y in zip(a, b, strict=True)) for a, b in zip(u, v, strict=True)
    )
    assert times(times(t.outputs, products), transposed(t.outputs)) == correlation(d, g, m)


@given(
    st.sampled_from(TILES),
    st.sampled_from(
        [(n, s) for s in (1, 2, 3) for n in range(s + (s > 1), s * MOST_COEFFICIENTS + 1)]
    ),
    st.integers(0, 2**32),
)
def test_integer_transforms(tile: int, window: tuple[int, int], seed: int):
    """
    The correlation of so many coefficients with each stride-th input is too large by the divisor;
    words hold what is multiplied.
    """
    coefficients, stride = window
    t, rng = integer_transforms(tile, coefficients, stride), Random(seed)
    inputs = len(t.inputs[0])
    g, d = random_matrix(rng, coefficients, 1), random_matrix(rng, inputs, 1)
    u, v = times(t.filters, g), times(t.inputs, d)
    products = tuple((x * y,) for (x,), (y,) in zip(u, v, strict=True))
    found = times(t.outputs, products)
    for i, (value,) in enumerate(found):
        want = sum(d[i * stride + k][0] * g[k][0] for k in range(coefficients))
        assert value == want * t.divisor
    for matrix, largest in ((t.inputs, 255), (t.filters, 128)):
        assert all(c.denominator == 1 for row in matrix for c in row)
        assert max(sum(map(abs, row)) for row in matrix) ** 2 * largest < 2**15


def test_textbook_matrices():
    t = transforms(2, 3, POINTS[3])
    assert [[int(c) for c in row] for row in t.inputs] == [
        [-1, 0, 1, 0],
        [0, 1, 1, 0],
        [0, -1, 1, 0],
        [0, -1, 0, 1],
    ]
    assert [[float(c) for c in row] for row in t.filters] == [
        [-1.0, 0.0, 0.0],
        [0.5, 0.5, 0.5],
        [0.5, -0.5, 0.5],
        [0.0, 0.0, 1.0],
    ]
    assert [[int(c) for c in row] for row in t.outputs] == [[1, 1, 1, 0], [0, 1, -1, 1]]


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("coefficients", range(1, MOST_COEFFICIENTS + 1))
def test_coefficients_of_kernels_are_exact_in_f32(tile: int, coefficients: int):
    t = winograd_transforms(tile, coefficients)
    for row in (*t.inputs, *t.outputs):
        assert all(Fraction(float(np.float32(float(c)))) == c for c in row)


def test_wrong_points():
    with pytest.raises(ValueError, match="expected 4 different points, found 3"):
        transforms(3, 3, [Fraction(i) for i in range(3)])
    with pytest.raises(ValueError, match="expected 2 different points, found 2"):
        transforms(2, 2, [Fraction(1), Fraction(1)])


def call(operator: type, operands: list[np.ndarray], **properties: Python) -> np.ndarray:
    types = tuple(with_shape(f32, a.shape) for a in operands)
    attributes = {name: to_attribute(value) for name, value in properties.items()}
    results = operator.infer(Call(operator, types, (), attributes))
    (result,) = evaluate(Call(operator, types, tuple(results), attributes), operands)
    return result


@pytest.mark.parametrize(("tile", "pool"), [(2, 1), (2, 2), (4, 1), (4, 2), (4, 4)])
@pytest.mark.parametrize("seed", range(6))
def test_same_as_direct_convolution(tile: int, pool: int, seed: int):
    rng = numbered(seed)
    images, inputs, outputs, rows, columns = (int(n) for n in rng.integers(pool, 20, 5))
    block = 2 ** int(rng.integers(0, 5))
    x, w, b = (
        rng.standard_normal(shape).astype(np.float32)
        for shape in (
            (images, inputs, rows + 2, columns + 2),
            (outputs, inputs, 3, 3),
            (1, outputs),
        )
    )
    x, w = pack_channels(x, block), pack_filter(w, block, block)
    (b,) = pack_channels(b, block)
    want = call(BlockedConvolutionOp, [x, w, b], strides=[1, 1], dilations=[1, 1], group=1)
    bound = 2e-5 * max(1, np.abs(want).max())
    u = transform_filter(w, tile)
    assert u.dtype == np.float32
    options: dict[str, Any] = {"group": 1, "kernel": [3, 3], "dilations": [1, 1]}
    options["strides"] = [1, 1]
    found = call(WinogradConvolutionOp, [x, u, b], tile=tile, pool=pool, **options)
    kept = [n // pool * pool for n in (rows, columns)]
    windows = want[:, :, : kept[0], : kept[1]].reshape(
        *want.shape[:2], kept[0] // pool, pool, kept[1] // pool, pool, block
    )
    want = windows.max((3, 5))
    np.testing.assert_allclose(found, want, rtol=0, atol=bound)


KERNELS = [
    *[(3, 5), (5, 5), (4, 7), (6, 3), (1, 3, 3), (3, 3, 3), (4, 3, 5)],
    *[(3,), (7,), (1, 3), (3, 1), (2, 5), (8, 2), (2, 1, 3), (1, 4, 2), (3, 1, 1), (4, 2, 1)],
]


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("kind", ["dense", "dilated", "strided"])
def test_all_kernels(tile: int, kernel: tuple[int, ...], kind: str, rng: np.random.Generator):
    images, inputs, outputs, *counts = (int(n) for n in rng.integers(1, 9, 3 + len(kernel)))
    block = 2 ** int(rng.integers(0, 4))
    dilations = [int(d) for d in rng.integers(1, 4 if kind == "dilated" else 2, len(kernel))]
    strides = [int(s) for s in rng.integers(1, 4 if kind == "strided" else 2, len(kernel))]
    longest = int(np.argmax(kernel))
    strides[longest] = min(strides[longest], kernel[longest] - 1)
    over = rng.integers(0, strides)
    window = zip(counts, kernel, dilations, strides, over, strict=True)
    sizes = [int((n - 1) * s + (k - 1) * d + 1 + o) for n, k, d, s, o in window]
    x, w, b = (
        rng.standard_normal(shape).astype(np.float32)
        for shape in ((images, inputs, *sizes), (outputs, inputs, *kernel), (1, outputs))
    )
    x, w = pack_channels(x, block), pack_filter(w, block, block)
    (b,) = pack_channels(b, block)
    options: dict[str, Any] = {"dilations": dilations, "strides": strides, "group": 1}
    want = call(BlockedConvolutionOp, [x, w, b], **options)
    u, options = transform_filter(w, tile, strides), {**options, "pool": 1, "kernel": list(kernel)}
    found = call(WinogradConvolutionOp, [x, u, b], tile=tile, **options)
    np.testing.assert_allclose(found, want, rtol=0, atol=4e-5 * max(1, np.abs(want).max()))
