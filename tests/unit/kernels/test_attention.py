"""Attention agrees with the interpreter, on several machines."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp

from .test_operators import check, random

# images, query positions, key positions, heads, width, width of the value
CASES = [
    (1, 1, 7, 1, 4, 4),
    (2, 5, 9, 3, 8, 6),
    (1, 16, 16, 2, 32, 32),
    (1, 21, 40, 2, 5, 17),
    (2, 33, 19, 1, 20, 3),
    (1, 1, 100, 4, 16, 16),
    (1, 8, 1, 1, 1, 1),
]


def operands(case: tuple[int, ...], dtype: type) -> list[np.ndarray]:
    n, rows, columns, heads, width, out = case
    shapes = [(n, rows, heads, width), (n, columns, heads, width), (n, columns, heads, out)]
    return [random(i, *shape, dtype=dtype) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64], ids=str)
def test_attention(case: tuple[int, ...], dtype: type):
    check(AttentionOp, *operands(case, dtype), scale=0.4)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
@pytest.mark.parametrize("low", [-np.inf, -3e4, -2.0])
def test_masked_attention(case: tuple[int, ...], dtype: type, low: float):
    n, rows, columns, heads, *_ = case
    mask = random(4, n, heads, rows, columns, dtype=dtype)
    mask[np.random.default_rng(5).random(mask.shape) < 0.5] = dtype(low)
    mask[..., 0] = 0
    check(MaskedAttentionOp, *operands(case, dtype), mask, scale=0.4)
