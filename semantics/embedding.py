"""Sums of rows of a table, for bags of indices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..glow_dialects.glow.embedding import EmbeddingBagOp, FusedEmbeddingBagOp
from ..glow_dialects.operator import Call
from .narrow_weights import unpacked
from .registry import meaning, wide


@meaning(EmbeddingBagOp)
def embedding_bag(
    call: Call, data: np.ndarray, indices: np.ndarray, weights: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    return _summed(wide(data), indices, wide(weights), offsets)


@meaning(FusedEmbeddingBagOp)
def fused_embedding_bag(
    call: Call, data: np.ndarray, indices: np.ndarray, weights: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    size = FusedEmbeddingBagOp.number_bytes(call)
    numbers = unpacked(np.ascontiguousarray(data[:, :size]), call.int("bits"))
    dtype = np.dtype("<f2" if call.get("half") else "<f4")
    ends = np.ascontiguousarray(data[:, size:]).view(dtype).astype(np.float32)
    rows = numbers.astype(np.float32) * ends[:, :1] + ends[:, 1:]
    return _summed(rows, indices, weights, offsets)


def _summed(
    rows: np.ndarray, indices: np.ndarray, weights: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    weights = np.broadcast_to(weights, indices.shape)
    result = np.zeros((len(offsets) - 1, rows.shape[1]), rows.dtype)
    for bag, (first, end) in enumerate(pairwise(np.clip(offsets, 0, len(indices)))):
        if first < end:
            chosen = _place(indices[first:end], len(rows))
            result[bag] = (rows[chosen] * weights[first:end, None]).sum(0)
    return result


def _place(indices: np.ndarray, size: int) -> np.ndarray:
    """Returns indices from the front, within `size` rows."""
    return np.clip(np.where(indices < 0, indices + size, indices), 0, size - 1)
