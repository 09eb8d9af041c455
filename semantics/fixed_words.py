"""
Matrices of fixed-point numbers of 28 bits in words of 32; the format is that of
`glow.sparse_vector_words_matmul`.
"""

from __future__ import annotations

from math import frexp

import numpy as np

from ..glow_dialects.glow.sparse import GROUP_COLUMNS, SPARE_BITS, WORD_LANES, WORDS

_SPARE = (1 << SPARE_BITS) - 1


def scale_of(largest: float) -> float:
    """
    What an integer of the high bits of i32 stands for, where no number has a larger absolute value
    than `largest`: a power of two, so that numbers of f32 near the largest are exact.
    """
    return 2.0 ** (frexp(largest)[1] - 31)


def rounding_of(largest: float) -> float:
    """How far a number may be from what stands for it."""
    return scale_of(largest) * 2.0 ** (SPARE_BITS - 1)


def write_words(columns: np.ndarray, scale: float, words: np.ndarray) -> None:
    """
    Write some columns [K, n] of a matrix of f32, 1 <= n <= 128, as a group of words, i32
    [K, 7, 16]. `scale` and its inverse are normal numbers of f32.
    """
    inner, count = columns.shape
    inverse = np.float32(1 / (scale * (1 << SPARE_BITS)))
    numbers = np.zeros((inner, WORDS + 1, WORD_LANES), np.int32)
    # a power of two times a number is exact, and so are integers of up to 24 bits
    rounded = np.rint(columns * inverse).astype(np.int32)
    numbers.reshape(inner, GROUP_COLUMNS)[:, :count] = rounded << SPARE_BITS
    last = numbers[:, WORDS].view(np.uint32)
    for word in range(WORDS):
        part = last >> np.uint32(32 - SPARE_BITS * (word + 1)) & np.uint32(_SPARE)
        np.bitwise_or(numbers[:, word], part.view(np.int32), out=words[:, word])


def numbers_of(words: np.ndarray) -> np.ndarray:
    """
    The numbers [K, 128 G] in words [K, G, 7, 16], as integers of i32 whose low four bits are zero.
    """
    inner, groups, *_ = words.shape
    numbers = np.zeros((inner, groups, WORDS + 1, WORD_LANES), np.uint32)
    bits = words.view(np.uint32)
    numbers[:, :, :WORDS] = bits & np.uint32(0xFFFFFFFF - _SPARE)
    for word in range(WORDS):
        part = (bits[:, :, word] & np.uint32(_SPARE)) << np.uint32(32 - SPARE_BITS * (word + 1))
        numbers[:, :, WORDS] |= part
    return numbers.view(np.int32).reshape(inner, groups * GROUP_COLUMNS)
