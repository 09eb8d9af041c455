"""Sums of rows of a table, for bags of indices."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.embedding import EmbeddingBagOp, FusedEmbeddingBagOp
from ..glow_dialects.operator import Call
from .narrow_weights import unpacked
from .registry import meaning, wide


@meaning(EmbeddingBagOp)
def embedding_bag(
    call: Call, data: np.ndarray, indices: np.ndarray, weights: np.ndarray, bags: np.ndarray
) -> np.ndarray:
    return _summed(call, wide(data), indices, wide(weights), bags)


@meaning(FusedEmbeddingBagOp)
def fused_embedding_bag(
    call: Call, data: np.ndarray, indices: np.ndarray, weights: np.ndarray, bags: np.ndarray
) -> np.ndarray:
    size = FusedEmbeddingBagOp.number_bytes(call)
    numbers = unpacked(np.ascontiguousarray(data[:, :size]), call.int("bits"))
    dtype = np.dtype("<f2" if call.get("half") else "<f4")
    ends = np.ascontiguousarray(data[:, size:]).view(dtype).astype(np.float32)
    rows = numbers.astype(np.float32) * ends[:, :1] + ends[:, 1:]
    return _summed(call, rows, indices, weights, bags)


def _summed(
    call: Call, rows: np.ndarray, indices: np.ndarray, weights: np.ndarray, bags: np.ndarray
) -> np.ndarray:
    result = np.zeros((call.int("count"), rows.shape[1]), rows.dtype)
    if len(indices):
        chosen = rows[_place(indices, len(rows))] * weights[:, None]
        np.add.at(result, _place(bags, len(result)), chosen)
    return result


def _place(indices: np.ndarray, size: int) -> np.ndarray:
    """Returns indices from the front, within `size` rows."""
    return np.clip(np.where(indices < 0, indices + size, indices), 0, size - 1)
