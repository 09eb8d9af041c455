"""Histograms against counts of all numbers at once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from glow.errors import QuantizationError
from glow.quantization import Histogram
from glow.quantization.histogram import spread
from hypothesis import given
from hypothesis import strategies as st


def exact(numbers: np.ndarray, low: float, high: float, bins: int) -> np.ndarray:
    """Counts by definition, one number at a time."""
    counts = np.zeros(bins, np.int64)
    for x in numbers.ravel().astype(np.float64):
        counts[min(int((x - low) / (high - low) * bins), bins - 1)] += 1
    return counts


@pytest.mark.parametrize("shape", [(1,), (7, 13), (3, 1, 5, 11), (70001,)])
def test_one_array(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x = (rng.standard_normal(shape) * rng.uniform(0.01, 100)).astype(np.float32)
    h = Histogram.of(x, 37)
    assert (h.low, h.high, h.count) == (x.min(), x.max(), x.size)
    assert h.total == pytest.approx(x.astype(np.float64).sum(), rel=1e-9, abs=1e-9)
    if x.size > 1:
        # a number on the bound of two bins may be in either
        assert np.abs(h.counts - exact(x, h.low, h.high, 37)).sum() <= 4


def test_many_batches_are_close_to_one(rng: np.random.Generator) -> None:
    batches = [rng.standard_normal(4999) * rng.uniform(0.5, 2) for _ in range(7)]
    h = Histogram.empty(2048)
    for batch in batches:
        h.add(batch)
    together = np.concatenate(batches)
    assert (h.low, h.high, h.count) == (together.min(), together.max(), together.size)
    want = np.cumsum(exact(together, h.low, h.high, 2048))
    # each of the six growths moves what is in a bin by less than a bin
    found = np.cumsum(h.counts)
    assert (found[:-6] <= want[6:] + 6).all()
    assert (found[6:] >= want[:-6] - 6).all()


@given(
    st.lists(st.integers(0, 1000), min_size=2, max_size=30),
    st.floats(-100, 100),
    st.floats(1e-3, 100),
    st.floats(0, 1000),
    st.floats(0, 1000),
    st.integers(2, 50),
)
def test_spreading_keeps_the_sum_and_the_order(
    counts: list[int], low: float, width: float, left: float, right: float, bins: int
) -> None:
    old = np.array(counts)
    high = low + width
    new = spread(old, low, high, low - left, high + right, bins)
    assert new.dtype == np.int64
    assert new.sum() == old.sum()
    assert (new >= 0).all()
    # below each bound of new bins lies what lay there before, as if uniform in old bins
    edges = np.linspace(low - left, high + right, bins + 1)
    for i in range(1, bins):
        below = 0.0
        for j, c in enumerate(counts):
            a = low + width * j / len(counts)
            b = low + width * (j + 1) / len(counts)
            below += c * min(max((edges[i] - a) / (b - a), 0.0), 1.0)
        assert abs(new[:i].sum() - below) <= 0.5 + 1e-6 * (1 + sum(counts))


def test_a_range_that_does_not_grow_is_counted_exactly(rng: np.random.Generator) -> None:
    first = np.concatenate([[-5.0, 7.0], rng.uniform(-5, 7, 101)])
    second = rng.uniform(-5, 7, 103)
    h = Histogram.of(first, 64)
    h.add(second)
    both = np.concatenate([first, second])
    assert np.abs(h.counts - exact(both, -5, 7, 64)).sum() <= 4


def test_equal_numbers() -> None:
    h = Histogram.of(np.full((3, 5), 2.5, np.float32), 16)
    assert (h.low, h.high, h.counts[0], h.count) == (2.5, 2.5, 15, 15)
    h.add(np.array([0.0, 10.0]))
    assert h.counts[4] == 15  # 2.5 of 0 to 10 in 16 bins
    assert (h.counts[0], h.counts[-1], h.count) == (1, 1, 17)


def test_zeros() -> None:
    h = Histogram.of(np.zeros(9, np.float16), 16)
    assert (h.low, h.high, h.total, h.count) == (0, 0, 0, 9)


def test_nan_and_infinity_are_counted_apart(rng: np.random.Generator) -> None:
    x = rng.standard_normal(1000).astype(np.float32)
    x[[3, 5]] = np.nan
    x[7] = np.inf
    x[[11, 13, 17]] = -np.inf
    h = Histogram.of(x)
    finite = x[np.isfinite(x)]
    assert (h.nans, h.infinities, h.count) == (2, 4, 994)
    assert (h.low, h.high) == (finite.min(), finite.max())


def test_nothing_finite() -> None:
    h = Histogram.of(np.array([np.nan, np.inf]))
    assert (h.nans, h.infinities, h.count) == (1, 1, 0)
    with pytest.raises(QuantizationError, match=r"no finite numbers were counted \(1 NaN, 1 inf"):
        _ = h.edges
    h.add(np.empty((0, 3)))
    assert h.count == 0


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.uint8])
def test_other_dtypes(rng: np.random.Generator, dtype: type) -> None:
    x = rng.integers(-100 * (dtype is not np.uint8), 100, 1009).astype(dtype)
    assert (Histogram.of(x, 31).counts == Histogram.of(x.astype(np.float32), 31).counts).all()


def test_the_largest_floats() -> None:
    x = np.array([np.finfo(np.float64).min, 0, np.finfo(np.float64).max])
    h = Histogram.of(x, 3)
    assert h.counts.tolist() == [1, 1, 1]
    f = Histogram.of(np.array([-3e38, 3e38, 1.0], np.float32), 2)
    assert f.counts.tolist() == [1, 2]


def test_merging(rng: np.random.Generator) -> None:
    x, y = rng.standard_normal(2003), rng.standard_normal(997) * 3 + 1
    a, b = Histogram.of(x, 500), Histogram.of(y, 700)
    merged = a.merged(b)
    assert merged.bins == 700
    both = np.concatenate([x, y])
    assert (merged.low, merged.high, merged.count) == (both.min(), both.max(), 3000)
    assert merged.total == pytest.approx(both.sum())
    assert (merged.counts == b.merged(a).counts).all()
    want = np.cumsum(exact(both, merged.low, merged.high, 700))
    found = np.cumsum(merged.counts)
    assert (found[:-3] <= want[3:] + 2).all()
    assert (found[3:] >= want[:-3] - 2).all()


def test_merging_with_nothing(rng: np.random.Generator) -> None:
    a = Histogram.of(rng.standard_normal(101), 64)
    nothing = Histogram.of(np.array([np.nan]), 64)
    merged = nothing.merged(a)
    assert (merged.counts == a.counts).all()
    assert (merged.low, merged.high, merged.nans) == (a.low, a.high, 1)
    assert nothing.merged(nothing).nans == 2


@pytest.mark.parametrize("bins", [1, 0, -3])
def test_too_few_bins(bins: int) -> None:
    with pytest.raises(QuantizationError, match=f"at least 2 bins of a histogram, found {bins}"):
        Histogram.empty(bins)
