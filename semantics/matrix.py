"""Matrix products."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ..glow_dialects.glow_cpu.packed import PackedMatMulOp
from ..glow_dialects.operator import Call
from .registry import factors, meaning, summed, wide


@meaning(MatMulOp)
def matmul(call: Call, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = factors(call, a, b)
    if call.get("transpose_lhs"):
        a = a.swapaxes(-1, -2)
    if call.get("transpose_rhs"):
        b = b.swapaxes(-1, -2)
    return summed(call, np.matmul(a, b))


@meaning(FullyConnectedOp)
def fully_connected(call: Call, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    x, w = factors(call, x, w)
    return summed(call, x @ w.T, b)


@meaning(PackedMatMulOp)
def packed_matmul(call: Call, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    _, inner, _ = w.shape
    matrix = wide(w).transpose(1, 0, 2).reshape(inner, -1)[:, : call.int("columns")]
    return np.matmul(wide(x), matrix)
