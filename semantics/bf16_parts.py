"""
Numbers of f32 as sums of three numbers of bf16.

The significand of f32 has 24 bits, that of bf16 eight. Cutting off eight bits at a time therefore
leaves nothing, as long as the smallest part is not below the normal numbers.

Source: Henry, Tang and Heinecke, Leveraging the bfloat16 Artificial Intelligence Datatype For
Higher-Precision Computations, 2019.
"""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from ..glow_dialects.glow_cpu.winograd import PARTS

_WIDTH = 16
_HIGH = np.uint32(0xFFFF0000)
"""The bits of f32 that bf16 has."""


def part_bits(x: np.ndarray) -> Iterator[np.ndarray]:
    """Yields the parts of an f32 array, the largest first, as the bits of f32; their sum is `x`."""
    rest = np.ascontiguousarray(x, np.float32)
    for _ in range(PARTS):
        bits = rest.view(np.uint32) & _HIGH
        yield bits
        rest = rest - bits.view(np.float32)


def pairs_of_bf16(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Returns two arrays of the bits of f32, rounded to bf16, as bf16 [.., 2]."""
    words = (low >> _WIDTH) | high
    return words.astype("<u4", copy=False).view(ml_dtypes.bfloat16).reshape(*low.shape, 2)
