"""Products with vectors many of whose elements are zero."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.sparse import SparseVectorMatMulOp, SparseVectorWordsMatMulOp
from ..glow_dialects.operator import Call
from .fixed_words import numbers_of
from .registry import meaning, wide


@meaning(SparseVectorMatMulOp)
def sparse_vector_matmul(call: Call, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    vector = wide(x.reshape(-1))
    (rows,) = vector.nonzero()
    return (vector[rows] @ wide(w[rows])).reshape(*x.shape[:-1], w.shape[1])


@meaning(SparseVectorWordsMatMulOp)
def sparse_vector_words_matmul(call: Call, x: np.ndarray, words: np.ndarray) -> np.ndarray:
    vector = x.reshape(-1).astype(np.float64)
    (rows,) = vector.nonzero()
    matrix = numbers_of(words[rows])[:, : call.int("columns")].astype(np.float64)
    sums = vector[rows] @ matrix * call.float("scale")
    return sums.astype(np.float32).reshape(*x.shape[:-1], -1)
