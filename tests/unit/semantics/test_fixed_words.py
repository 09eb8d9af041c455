"""Fixed-point numbers in words: their format, and what rounding to them changes."""

from __future__ import annotations

import numpy as np
import pytest
from glow.semantics.fixed_words import numbers_of, rounding_of, scale_of, write_words
from hypothesis import given
from hypothesis import strategies as st


def bits(number: int) -> str:
    """The 28 bits of a two's complement."""
    return format(number & (1 << 28) - 1, "028b")


def test_places_of_bits(rng: np.random.Generator):
    """Each number of the first seven sixteens in a word of its own, the rest four bits a word."""
    numbers = rng.integers(-(1 << 23), 1 << 23, (3, 128))
    words = np.empty((3, 7, 16), np.int32)
    # an integer of the high 28 bits stands for 16 times the scale
    write_words(numbers.astype(np.float32), 1 / 16, words)
    for t, w, lane in np.ndindex(3, 7, 16):
        spare = bits(int(numbers[t, 112 + lane]))[4 * w : 4 * w + 4]
        assert format(int(words[t, w, lane]) & 0xFFFFFFFF, "032b") == (
            bits(int(numbers[t, 16 * w + lane])) + spare
        )


@given(st.integers(1, 128), st.integers(-40, 40), st.integers(0, 2**32 - 1))
def test_rounding(count: int, exponent: int, seed: int):
    """By half a step at most, and not at all where f32 has no finer steps; the rest is zero."""
    rng = np.random.default_rng(seed)
    matrix = (rng.standard_normal((5, count)) * 2.0**exponent).astype(np.float32)
    matrix[rng.random(matrix.shape) < 0.1] = 0
    matrix[0, 0] = -(2.0**exponent)
    largest = float(np.abs(matrix).max())
    words = np.empty((5, 1, 7, 16), np.int32)
    write_words(matrix, scale_of(largest), words[:, 0])
    found = numbers_of(words) * scale_of(largest)
    error = np.abs(found[:, :count] - matrix)
    assert error.max() <= rounding_of(largest)
    assert not error[np.abs(matrix) >= largest / 8].any()
    assert not found[:, count:].any()


@pytest.mark.parametrize("largest", [1.0, 0.75, 2.0**-50, 3.7e14])
def test_scale(largest: float):
    """A power of two, with which the largest number needs all bits but the sign."""
    numbers = largest / (16 * scale_of(largest))
    assert 2**26 <= numbers < 2**27
    assert rounding_of(largest) == 8 * scale_of(largest)
