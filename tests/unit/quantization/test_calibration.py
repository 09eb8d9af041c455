"""Calibration against searches by brute force over few bins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from glow.errors import QuantizationError
from glow.glow_dialects.integers import integer_range
from glow.glow_dialects.quant import QuantizedType
from glow.quantization import (
    METHODS,
    SCHEMAS,
    Histogram,
    Range,
    calibrate,
    calibrate_rows,
    calibrate_weights,
    calibrated_range,
    choose,
    dequantize_array,
    quantize_array,
)
from glow.quantization.calibration import divergence, squared_error


def kl_by_hand(counts: list[int], first: int, last: int, levels: int) -> float:
    """
    Computes Migacz's divergence in Python's loops: reference with outliers, candidate without.
    """
    p = [float(c) for c in counts[first:last]]
    p[0] += sum(counts[:first])
    p[-1] += sum(counts[last:])
    n = last - first
    q = [0.0] * n
    for level in range(levels):
        members = [j for j in range(n) if j * levels // n == level]
        mass = sum(counts[first + j] for j in members)
        occupied = [j for j in members if p[j] > 0]
        for j in occupied:
            q[j] = mass / len(occupied)
    if any(a > 0 and b == 0 for a, b in zip(p, q, strict=True)):
        return math.inf
    sp, sq = sum(p), sum(q)
    return sum(a / sp * math.log((a / sp) / (b / sq)) for a, b in zip(p, q, strict=True) if a > 0)


@pytest.mark.parametrize("bins", [17, 40, 63])
@pytest.mark.parametrize("levels", [4, 7, 16])
def test_divergence(rng: np.random.Generator, bins: int, levels: int) -> None:
    counts = rng.integers(0, 5, bins) * rng.integers(0, 30, bins)
    counts[rng.integers(bins)] += 1
    for _ in range(20):
        first, last = sorted(rng.choice(bins + 1, 2, replace=False).tolist())
        if not counts[first:last].sum():
            continue
        want = kl_by_hand(counts.tolist(), first, last, levels)
        assert divergence(counts, first, last, levels) == pytest.approx(want, rel=1e-9, abs=1e-12)


def without_spike(counts: list[int], zero: int) -> list[int]:
    """Limits the two bins on each side of 0, with exact zeros, to the count of the third."""
    result = list(counts)
    for i in range(2):
        if zero + 2 < len(counts):
            result[zero + i] = min(counts[zero + i], counts[zero + 2])
        if zero > 2:
            result[zero - 1 - i] = min(counts[zero - 1 - i], counts[zero - 3])
    return result


@pytest.mark.parametrize("schema", ["asymmetric", "symmetric", "symmetric_uint8", "power_of_two"])
@pytest.mark.parametrize("kind", ["both", "positive", "negative"])
def test_entropy_takes_the_threshold_of_least_divergence(
    rng: np.random.Generator, schema: str, kind: str
) -> None:
    x = rng.standard_cauchy(3001).clip(-60, 60)
    x = {"both": x, "positive": np.abs(x), "negative": -np.abs(x)}[kind]
    x = np.append(x, 0.0)
    bins = 64
    h = Histogram.of(x, bins)
    found = calibrated_range(h, "entropy", schema, "i4")
    largest = max(-h.low, h.high)
    folded = schema != "asymmetric" and not (schema == "symmetric_uint8" and kind == "positive")
    if folded:
        both = h.over(-largest, largest, 2 * bins)
        counts, zero, levels = (both[bins:] + both[:bins][::-1]).tolist(), 0, 8
    else:
        counts, levels = h.counts.tolist(), 16
        zero = round(bins * -h.low / (h.high - h.low))
    counts = without_spike(counts, zero)
    reach = max(zero, bins - zero)
    losses: dict[int, float] = {}
    for width in range(1, reach + 1):
        first, last = max(zero - width, 0), min(zero + width, bins)
        below, above = sum(counts[:first]), sum(counts[last:])
        onto_empty = (below and not counts[first]) or (above and not counts[last - 1])
        if last - first >= levels and not onto_empty:
            losses[width] = kl_by_hand(counts, first, last, levels)
    least = min(losses.values())
    best = max(w for w, loss in losses.items() if loss <= least + 1e-12)
    threshold = largest * best / reach
    assert found.high == pytest.approx(min(h.high, threshold) if kind != "negative" else 0.0)
    assert found.low == pytest.approx(max(h.low, -threshold) if kind != "positive" else 0.0)


def test_entropy_clips_outliers_and_keeps_uniform_numbers(rng: np.random.Generator) -> None:
    outlier = np.append(rng.standard_normal(100_000), 60.0)
    assert calibrated_range(Histogram.of(outlier), "entropy", "symmetric").high < 12
    uniform = Histogram.of(rng.uniform(-3, 3, 100_000))
    assert calibrated_range(uniform, "entropy", "symmetric").high > 2.8


@pytest.mark.parametrize("schema", sorted(SCHEMAS))
@pytest.mark.parametrize("leak", [0.0, 4e-4, 1e-3, 3e-3])
def test_entropy_does_not_mind_zeros(rng: np.random.Generator, schema: str, leak: float) -> None:
    """Also if no more than one or two bins are below 0: a bin is 0.002 wide."""
    x = np.abs(rng.standard_normal(100_000))
    x *= 4 / x.max()
    x[0] = -leak
    # any number of zeros that is more than what is in another bin means the same; without them,
    # counts of the first bins and so the best of similar thresholds may be others
    none, few, many = (
        calibrated_range(Histogram.of(np.append(x, np.zeros(n))), "entropy", schema).high
        for n in (0, 1000, 300_000)
    )
    assert many == pytest.approx(few)
    assert many == pytest.approx(none, rel=0.5)
    only = Histogram.of(np.append(np.zeros(1000), [1.0, 2.0]))
    assert calibrated_range(only, "entropy", schema).high > 0.9


@pytest.mark.parametrize("schema", sorted(SCHEMAS))
def test_entropy_keeps_most_of_few_numbers(rng: np.random.Generator, schema: str) -> None:
    """Some draw has a single number next to 0, so that one bin below its threshold is occupied."""
    for draw in range(60):
        x = rng.standard_normal(7 + draw)
        bins = 512
        found = calibrated_range(Histogram.of(x, bins), "entropy", schema, "i4")
        step = 2 * np.abs(x).max() / bins
        inside = (x >= found.low - step) & (x <= found.high + step)
        assert 2 * inside.sum() > inside.size


def test_entropy_needs_bins() -> None:
    h = Histogram.of(np.arange(50.0), 200)
    with pytest.raises(QuantizationError, match=r"more bins than the 256 levels .* found 200"):
        calibrated_range(h, "entropy", "asymmetric", "u8")
    assert calibrated_range(h, "entropy", "symmetric", "i8").high <= 49
    # 16 bits keep everything
    assert calibrated_range(h, "entropy", "asymmetric", "i16") == Range(0.0, 49.0)


def error_by_hand(x: np.ndarray, t: QuantizedType) -> float:
    (scale,), (point,) = t.scale_values(), t.zero_point_values()
    bottom, top = integer_range(t.storage)
    q = np.clip(np.rint(x / scale) + point, bottom, top)
    return float(np.mean(((q - point) * scale - x) ** 2))


@pytest.mark.parametrize("storage", ["i4", "i8", "u8", "i16"])
@pytest.mark.parametrize("schema", sorted(SCHEMAS))
def test_squared_error_is_the_integral(rng: np.random.Generator, schema: str, storage: str) -> None:
    edges = np.linspace(-1.7, 4.1, 14)
    counts = rng.integers(1, 100, 13)
    t = choose(Range(-0.9, 3.0), schema, storage)
    (scale,), (point,) = t.scale_values(), t.zero_point_values()
    bottom, top = integer_range(t.storage)
    # as many numbers in each bin, evenly spread, weighted by its count
    steps = (np.arange(20_000) + 0.5) / 20_000
    want = sum(
        c * error_by_hand(a + (b - a) * steps, t)
        for c, a, b in zip(counts.tolist(), edges[:-1], edges[1:], strict=True)
    )
    found = squared_error(counts, edges, scale, bottom - point, top - point)
    assert found == pytest.approx(want / counts.sum(), rel=1e-3)


@pytest.mark.parametrize("schema", sorted(SCHEMAS))
@pytest.mark.parametrize("storage", ["i4", "i8"])
def test_mse_is_no_worse_than_any_threshold(
    rng: np.random.Generator, schema: str, storage: str
) -> None:
    x = rng.standard_t(3, 20_001) + rng.uniform(-1, 1)
    h = Histogram.of(x)
    found = error_by_hand(x, calibrate(h, "mse", schema, storage))
    for part in np.linspace(0.05, 1, 60):
        t = part * max(-h.low, h.high)
        other = choose(Range(max(h.low, -t), min(h.high, t)), schema, storage)
        assert found <= error_by_hand(x, other) * 1.02 + 1e-9
    assert found <= error_by_hand(x, calibrate(h, "min-max", schema, storage)) * 1.001


@pytest.mark.parametrize("percent", [51.0, 90.0, 99.0, 99.9])
def test_percentile(rng: np.random.Generator, percent: float) -> None:
    x = rng.standard_normal(50_001)
    h = Histogram.of(x)
    want = np.percentile(np.abs(x), percent)
    found = calibrated_range(h, "percentile", percentile=percent)
    assert found.high == pytest.approx(want, abs=2 * (h.high - h.low) / h.bins)
    assert found.low == -found.high
    assert calibrated_range(h, "percentile", percentile=100) == Range(h.low, h.high)


@pytest.mark.parametrize("percent", [50.0, 0.0, 101.0, math.nan])
def test_wrong_percentiles(percent: float) -> None:
    h = Histogram.of(np.arange(3.0))
    with pytest.raises(QuantizationError, match="percentile above 50 and up to 100"):
        calibrate(h, "percentile", percentile=percent)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("schema", sorted(SCHEMAS))
@pytest.mark.parametrize("number", [0.0, 3.5, -0.25])
def test_constant_values_are_kept(method: str, schema: str, number: float) -> None:
    x = np.full((3, 7), number, np.float32)
    t = calibrate(Histogram.of(x), method, schema)
    assert t.scale_values()[0] > 0
    back = dequantize_array(quantize_array(x, t), t)
    assert np.abs(back - x).max() <= t.scale_values()[0] / 2
    if number == 0:
        assert t.scale_values() == (1.0,)
        assert (back == 0).all()


@pytest.mark.parametrize("method", sorted(METHODS))
def test_nothing_counted(method: str) -> None:
    h = Histogram.of(np.array([np.nan, np.inf, np.nan]))
    with pytest.raises(QuantizationError, match="no finite numbers were counted"):
        calibrate(h, method)


def test_unknown_names() -> None:
    h = Histogram.of(np.arange(3.0))
    with pytest.raises(QuantizationError, match=r"calibration of min-max, .*, found 'kl'"):
        calibrate(h, "kl")
    with pytest.raises(QuantizationError, match="expected a schema"):
        calibrate(h, "mse", "affine")
    with pytest.raises(QuantizationError, match="expected a storage"):
        calibrate(h, "mse", storage="f16")


@pytest.mark.parametrize("axis", [None, 0, 1, 3])
@pytest.mark.parametrize("schema", sorted(SCHEMAS))
def test_weights(rng: np.random.Generator, axis: int | None, schema: str) -> None:
    w = rng.standard_normal((5, 3, 1, 7)).astype(np.float32)
    w *= rng.uniform(0.01, 10, (5, 1, 1, 1)).astype(np.float32)
    t = calibrate_weights(w, schema=schema, axis=axis)
    back = dequantize_array(quantize_array(w, t), t)
    scales = np.array(t.scale_values())
    if axis is not None:
        assert len(scales) == w.shape[axis]
        scales = scales.reshape([-1 if i == axis else 1 for i in range(4)])
    assert (np.abs(back - w) <= scales * 0.5001 + 1e-6).all()


def test_channels_of_zeros(rng: np.random.Generator) -> None:
    w = rng.standard_normal((3, 11)).astype(np.float32)
    w[1] = 0
    t = calibrate_weights(w, axis=0)
    assert t.scale_values()[1] == 1.0
    assert (dequantize_array(quantize_array(w, t), t)[1] == 0).all()


@pytest.mark.parametrize("method", ["percentile", "entropy", "mse"])
def test_methods_for_weights(rng: np.random.Generator, method: str) -> None:
    """
    A channel's scale depends on its own numbers, and one outlier among many is clipped.

    Entropy needs so many: among 401 numbers, chance can make the largest threshold the best. Of
    4001, the divergence of that threshold exceeds the least one by ten standard deviations.
    """
    w = rng.standard_normal((3, 4001)).astype(np.float32)
    w[:, 0] = 10
    t = calibrate_weights(w, method, axis=0, percentile=99.0, storage="i4")
    assert (np.array(t.scale_values()) < 8.5 / 7).all()
    alone = [calibrate_weights(row, method, percentile=99.0, storage="i4") for row in w]
    assert t.scale_values() == tuple(a.scale_values()[0] for a in alone)


@pytest.mark.parametrize("bits", [4, 8])
def test_rows(rng: np.random.Generator, bits: int) -> None:
    table = (rng.standard_normal((13, 7)) + rng.uniform(-3, 3, (13, 1))).astype(np.float32)
    t = calibrate_rows(table, bits)
    assert str(t).startswith(f"!quant.uniform<u{bits}:f32:0, ")
    q = quantize_array(table, t)
    assert q.max() < 2**bits
    low, high = np.minimum(table.min(1), 0), np.maximum(table.max(1), 0)
    assert np.allclose(t.scale_values(), (high - low) / (2**bits - 1), rtol=1e-6)
    error = np.abs(dequantize_array(q, t) - table).max(1)
    assert (error <= np.array(t.scale_values()) * 1.001).all()


def test_wrong_weights() -> None:
    with pytest.raises(QuantizationError, match="weights of finite numbers"):
        calibrate_weights(np.array([1.0, np.inf]))
    with pytest.raises(QuantizationError, match="axis of 1 dimension, found 1"):
        calibrate_weights(np.array([1.0]), axis=1)
    with pytest.raises(QuantizationError, match=r"weights with elements, found shape \(0, 3\)"):
        calibrate_weights(np.empty((0, 3)))
    with pytest.raises(QuantizationError, match="4 or 8 bits, found 5"):
        calibrate_rows(np.ones((2, 2)), 5)
