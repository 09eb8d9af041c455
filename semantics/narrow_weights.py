"""Products with weights of a few bits."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.narrow_weights import BlockQuantizedMatMulOp
from ..glow_dialects.glow_cpu.narrow_weights import PackedBlockQuantizedMatMulOp
from ..glow_dialects.operator import Call
from .registry import meaning, wide


def unpacked(words: np.ndarray, bits: int) -> np.ndarray:
    """Returns the numbers of `bits` bits in words [..., n], the lowest bits first, as [..., m]."""
    places = np.arange(0, words.dtype.itemsize * 8, bits, dtype=words.dtype)
    numbers = (words[..., None] >> places) & words.dtype.type(2**bits - 1)
    return numbers.reshape(*words.shape[:-1], -1)


@meaning(BlockQuantizedMatMulOp)
def matmul(
    call: Call, x: np.ndarray, words: np.ndarray, scales: np.ndarray, zeros: np.ndarray
) -> np.ndarray:
    numbers = unpacked(words, call.int("bits")).astype(np.float32)
    real = (numbers - wide(zeros)[..., None]) * wide(scales)[..., None]
    matrix = real.reshape(len(words), -1)[:, : x.shape[-1]]
    return np.matmul(wide(x), matrix.T)


@meaning(PackedBlockQuantizedMatMulOp)
def packed_matmul(
    call: Call, x: np.ndarray, words: np.ndarray, scales: np.ndarray, zeros: np.ndarray
) -> np.ndarray:
    numbers = unpacked(words.transpose(0, 3, 1, 2), call.int("bits")).astype(np.float32)
    by_column = [wide(a).swapaxes(1, 2)[..., None] for a in (scales, zeros)]
    real = (numbers - by_column[1]) * by_column[0]
    matrix = real.reshape(-1, x.shape[-1])[: call.int("columns")]
    return np.matmul(wide(x), matrix.T)
