"""Matrix products with packed weights agree with the interpreter, on several machines."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow.matrix import PackedMatMulOp
from glow.passes.pack_weights import packed, panel_width

from .test_operators import check, random

# leading dimensions of the left operand, inner, columns, lanes, vectors
CASES = [
    ((8,), 5, 48, 16, 3),
    ((17,), 33, 100, 16, 3),
    ((2, 9), 7, 50, 16, 3),
    ((3, 2, 5), 20, 5, 4, 3),
    ((1,), 40, 300, 16, 8),
    ((), 21, 37, 8, 2),
    ((1,), 3, 1, 16, 3),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64], ids=str)
def test_packed_matmul(case: tuple, dtype: type):
    rows, inner, columns, lanes, vectors = case
    x, matrix = random(1, *rows, inner, dtype=dtype), random(2, inner, columns, dtype=dtype)
    weights = packed(matrix, panel_width(columns, lanes, vectors))
    check(PackedMatMulOp, x, weights, columns=columns, tolerance=2e-5)
