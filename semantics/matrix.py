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


def unpacked(panels: np.ndarray, columns: int) -> np.ndarray:
    """Returns the matrix [K, columns] of panels [P, K, width]."""
    return panels.transpose(1, 0, 2).reshape(panels.shape[1], -1)[:, :columns]


@meaning(PackedMatMulOp)
def packed_matmul(call: Call, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.matmul(wide(x), unpacked(wide(w), call.int("columns")))
