"""Parts of bf16: their sum is the number, and each holds eight bits of its significand."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
from glow.semantics.bf16_parts import part_bits
from glow.semantics.winograd import filter_in_parts
from hypothesis import given
from hypothesis import strategies as st

LEAST = 2.0**-100
"""The least number whose last part is a normal number."""


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_sum(numbers: list[float]):
    x = np.array([n for n in numbers if n == 0 or abs(n) >= LEAST], np.float32)
    bits = list(part_bits(x))
    assert len(bits) == 3
    wide = [b.view(np.float32).astype(np.float64) for b in bits]
    for part in wide:
        np.testing.assert_array_equal(part.astype(ml_dtypes.bfloat16).astype(np.float64), part)
    np.testing.assert_array_equal(sum(wide), x.astype(np.float64))
    for larger, smaller in itertools.pairwise(wide):
        assert np.all(np.abs(smaller) <= np.abs(larger) * 2.0**-7)


def test_filters_have_channels_in_pairs(rng: np.random.Generator):
    u = rng.standard_normal((16, 2, 40, 8)).astype(np.float32)
    w = filter_in_parts(u, 8)
    assert w.shape == (16, 2, 3, 3, 8, 8, 2)
    total = w.astype(np.float64).sum(3)
    for channel in range(40):
        block, lane = divmod(channel, 8)
        found = total[:, :, block // 2, lane, :, block % 2]
        np.testing.assert_array_equal(found, u[:, :, channel])
    assert not np.any(total[:, :, 2, :, :, 1])
