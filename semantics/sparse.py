"""Products with vectors many of whose elements are zero."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow_cpu.sparse import SparseVectorMatMulOp
from ..glow_dialects.operator import Call
from .registry import meaning, wide


@meaning(SparseVectorMatMulOp)
def sparse_vector_matmul(call: Call, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    vector = wide(x.reshape(-1))
    (rows,) = vector.nonzero()
    return (vector[rows] @ wide(w[rows])).reshape(*x.shape[:-1], w.shape[1])
