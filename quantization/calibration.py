"""
Calibration: from a histogram to the range that a quantized type represents. Other numbers saturate.

A method gets the histogram of a value and the storage of its numbers, and returns a range. All of
them look at candidates of one form: numbers further from 0 than a threshold `t` saturate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Attribute

from ..errors import QuantizationError
from ..glow_dialects.integers import integer_range
from ..glow_dialects.quant import QuantizedType
from ..table import Table
from ..wording import counted
from .histogram import DEFAULT_BINS, Histogram
from .schemas import Range, choose, choose_per_axis, schema_of, storage_of

DEFAULT_PERCENTILE = 99.99
CANDIDATES = 256
"""
The number of thresholds that `entropy` and `mse` try, evenly spaced up to the largest absolute
number.
"""
_SPIKE = 2
"""
The number of bins beside 0 that exact zeros may be in after a histogram was spread over other bins.
"""
_HALF_WIDTH = 8
"""Storage wider than this has more levels than a histogram has bins."""


@dataclass(frozen=True)
class Target:
    """The storage of the numbers of a histogram."""

    schema: str = "asymmetric"
    storage: IntegerType = storage_of("i8")  # noqa: RUF009 (attributes are immutable)
    percentile: float = DEFAULT_PERCENTILE

    @property
    def levels(self) -> int:
        """The number of levels."""
        return 2**self.storage.width.data

    def folds(self, h: Histogram) -> bool:
        """Returns whether the range of this histogram will be symmetric around 0."""
        if self.schema == "asymmetric":
            return False
        return self.schema != "symmetric_uint8" or h.low < 0 or self.storage.width.data > 8


Method: TypeAlias = "Callable[[Histogram, Target], Range]"
METHODS: Table[str, Method] = Table("a method")
"""Methods of calibration by name."""


def method(name: str) -> Callable[[Method], Method]:
    """Registers a method of calibration under a name."""
    return METHODS.entry(name)


def calibrate(
    histogram: Histogram,
    method: str = "min-max",
    schema: str = "asymmetric",
    storage: str | IntegerType = "i8",
    percentile: float = DEFAULT_PERCENTILE,
    expressed: Attribute = f32,
) -> QuantizedType:
    """
    Returns the per-tensor type of a value from its profiled `histogram`.

    `method` is a key of METHODS, `schema` of SCHEMAS, `storage` of STORAGES. Raises
    QuantizationError for unknown names, and for a histogram in which no finite number was counted.
    """
    found = calibrated_range(histogram, method, schema, storage, percentile)
    return choose(found, schema, storage, expressed)


def calibrated_range(
    histogram: Histogram,
    method: str = "min-max",
    schema: str = "asymmetric",
    storage: str | IntegerType = "i8",
    percentile: float = DEFAULT_PERCENTILE,
) -> Range:
    """Returns the range that a method chooses, which contains 0. See `calibrate`."""
    expect_method(method)
    expect_percentile(percentile)
    schema_of(schema)
    histogram.expect_numbers()
    return METHODS[method](histogram, Target(schema, storage_of(storage), percentile)).with_zero()


def expect_method(name: str) -> None:
    """Raises QuantizationError if there is no such method of calibration."""
    if name not in METHODS:
        raise QuantizationError(f"expected a calibration of {', '.join(METHODS)}, found {name!r}")


def expect_percentile(value: float) -> None:
    """Raises QuantizationError unless more than half of the numbers stay within the threshold."""
    if not (isinstance(value, int | float) and 50 < value <= 100):
        raise QuantizationError(f"expected a percentile above 50 and up to 100, found {value!r}")


@method("min-max")
def min_max(h: Histogram, target: Target) -> Range:
    """
    Returns everything that occurred; nothing saturates. (Jacob et al., Quantization and Training of
    Neural Networks for Efficient Integer-Arithmetic-Only Inference, CVPR 2018, section 3.)
    """
    return Range(h.low, h.high)


@method("percentile")
def percentile(h: Histogram, target: Target) -> Range:
    """
    Returns the threshold below which `target.percentile` percent of the absolute numbers are (Wu et
    al., Integer Quantization for Deep Learning Inference: Principles and Empirical Evaluation,
    2020, section 5.2; McKinstry et al., Discovering Low-Precision Networks Close to Full-Precision
    Networks for Efficient Embedded Inference, 2019).

    Linear within a bin. Where all numbers are equal, they are kept.
    """
    if h.low == h.high:
        return Range(h.low, h.high)
    largest = max(-h.low, h.high)
    counts = _absolute(h, largest)
    sums = np.concatenate([[0], np.cumsum(counts)])
    wanted = sums[-1] * (target.percentile / 100)
    bin = int(np.searchsorted(sums, wanted, "left"))
    before = max(bin - 1, 0)
    part = (wanted - sums[before]) / max(sums[bin] - sums[before], 1)
    return _clipped(h, float((before + part) / len(counts) * largest))


@method("entropy")
def entropy(h: Histogram, target: Target) -> Range:
    """
    Returns the threshold whose quantized histogram loses least information, measured by the
    Kullback-Leibler divergence (Migacz, 8-bit Inference with TensorRT, GTC 2017).

    As in that work, the reference is the histogram up to the threshold, with all that saturates
    added to its outermost bins; the candidate is the same without that, its bins put together to as
    many levels as can be stored, each level spread evenly over its bins that are not empty. A range
    that will be symmetric is judged by absolute numbers, on half of the levels. CANDIDATES
    thresholds are tried, those with at least one bin for each level and more than half of the
    numbers (a single bin, with all others added to it, would lose nothing), and each lowered to
    where there are numbers next to it; among equals the largest wins. Zero is represented exactly,
    so the spike of zeros that `relu` makes is taken out first, as NVIDIA's pytorch-quantization
    does: it would be spread over a level, and thereby rule out all but the smallest thresholds.

    Storage of 16 bits and more has so many levels that there is no loss to weigh: then everything
    is kept, as by `min-max`. Raises QuantizationError if there are no more bins than levels
    otherwise.
    """
    if h.low == h.high or target.storage.width.data > _HALF_WIDTH:
        return Range(h.low, h.high)
    largest = max(-h.low, h.high)
    counts, zero, levels = _domain(h, target, largest)
    counts = _without_spike(counts, zero)
    if not counts.any():
        return Range(h.low, h.high)
    reach = max(zero, len(counts) - zero)
    if len(counts) <= levels:
        raise QuantizationError(
            f"calibration by entropy needs more bins than the {levels} levels of the storage, "
            f"found {h.bins}; profile with more bins"
        )
    best, least = reach, np.inf
    widths = _widths_at_numbers(counts, zero, reach)
    for k in range(CANDIDATES, 0, -1):
        width = int(widths[-(-reach * k // CANDIDATES)])
        first, last = max(zero - width, 0), min(zero + width, len(counts))
        if last - first < levels or 2 * counts[first:last].sum() <= counts.sum():
            break
        loss = divergence(counts, first, last, levels)
        if loss < least:
            best, least = width, loss
    return _clipped(h, largest * best / reach)


def _widths_at_numbers(counts: np.ndarray, zero: int, reach: int) -> np.ndarray:
    """
    Returns the largest usable width up to each width from 0 to `reach`, or 0. With a usable width,
    all numbers outside can be added to bins that are not empty. By chance, hardly any width above
    most numbers is such.
    """
    widths = np.arange(reach + 1)
    fits = np.ones(reach + 1, bool)
    for side in (counts[zero:], counts[:zero][::-1]):
        ends = np.flatnonzero(side) + 1
        fits &= np.isin(widths, ends) | (widths >= ends.max(initial=0))
    return np.maximum.accumulate(np.where(fits, widths, 0))


def divergence(counts: np.ndarray, first: int, last: int, levels: int) -> float:
    """
    Returns the Kullback-Leibler divergence of `counts[first:last]`, with the counts outside added
    to the outermost bins, from itself at `levels` levels; infinity if a bin that is not empty
    belongs to an empty level.
    """
    inside = counts[first:last]
    reference = inside.astype(np.float64)
    reference[0] += counts[:first].sum()
    reference[-1] += counts[last:].sum()
    level = np.arange(last - first) * levels // (last - first)
    occupied = reference > 0
    mass = np.bincount(level, weights=inside, minlength=levels)
    bins = np.bincount(level, weights=occupied, minlength=levels)
    candidate = mass[level[occupied]] / bins[level[occupied]]
    if not candidate.all():
        return float("inf")
    p = reference[occupied] / reference.sum()
    q = candidate / candidate.sum()
    return float((p * np.log(p / q)).sum())


@method("mse")
def mean_squared_error(h: Histogram, target: Target) -> Range:
    """
    Returns the range with the least mean squared error of quantization, rounding and saturation
    together (Sung, Shin and Hwang, Resiliency of Deep Neural Networks under Quantization, 2015;
    Banner et al., Post Training 4-bit Quantization of Convolutional Networks for Rapid-Deployment,
    NeurIPS 2019).

    The error is integrated exactly over the histogram as a density that is constant within bins,
    with the scale that the schema chooses. CANDIDATES thresholds are tried, then, if the range will
    not be symmetric, each bound by itself.
    """
    if h.low == h.high:
        return Range(h.low, h.high)
    steps = (np.arange(1, CANDIDATES + 1) / CANDIDATES).tolist()
    edges, largest = h.edges, max(-h.low, h.high)

    def best(ranges: list[Range]) -> Range:
        lows, highs = np.array([r.low for r in ranges]), np.array([r.high for r in ranges])
        storage, scales, points = schema_of(target.schema)(lows, highs, target.storage)
        bottom, top = integer_range(storage)
        losses = [
            squared_error(h.counts, edges, scale, bottom - point, top - point)
            for scale, point in zip(scales.tolist(), points.tolist(), strict=True)
        ]
        # among equals, the last: the largest
        return ranges[len(losses) - 1 - int(np.argmin(losses[::-1]))]

    found = best([_clipped(h, largest * s) for s in steps])
    if target.folds(h) or h.low >= 0 or h.high <= 0:
        return found
    found = best([*(Range(found.low, h.high * s) for s in steps), found])
    return best([*(Range(h.low * s, found.high) for s in steps), found])


def squared_error(
    counts: np.ndarray, edges: np.ndarray, scale: float, bottom: int, top: int
) -> float:
    """
    Returns the mean of `(x - x')**2` over the density of a histogram, where `x'` is the nearest
    multiple of `scale` from `bottom * scale` to `top * scale`: `counts` [B] numbers, evenly spread
    within each bin of `edges` [B + 1], B > 0, all bins wider than 0.
    """
    u = edges / scale
    nearest = np.clip(np.rint(u), bottom, top)
    # the antiderivative of (u - nearest)**2, continuous where the nearest number changes
    rest = u - nearest
    rounded = nearest / 12 + rest * rest * rest / 3
    means = np.diff(rounded) / np.diff(u)
    return float((means * counts).sum() / counts.sum() * scale**2)


def _absolute(h: Histogram, largest: float) -> np.ndarray:
    """Returns the histogram of absolute numbers from 0 to `largest`, in as many bins."""
    both = h.over(-largest, largest, 2 * h.bins)
    return both[h.bins :] + both[: h.bins][::-1]


def _domain(h: Histogram, target: Target, largest: float) -> tuple[np.ndarray, int, int]:
    """
    Returns the counts that compete, the index of the first bin above 0, and the number of levels.
    """
    if target.folds(h):
        return _absolute(h, largest), 0, target.levels // 2
    full = Range(h.low, h.high).with_zero()
    zero = round(h.bins * -full.low / (full.high - full.low))
    return h.over(full.low, full.high, h.bins), zero, target.levels


def _without_spike(counts: np.ndarray, zero: int) -> np.ndarray:
    """
    Returns the counts without the spike of exact zeros, which is in up to _SPIKE bins on each side
    of 0. These bins get at most the count of the next bin, which is on the other side if this side
    has no more.
    """
    result = counts.copy()
    sides = result[zero:], result[:zero][::-1]
    for side, other in (sides, sides[::-1]):
        beyond = [s[_SPIKE] for s in (side, other) if len(s) > _SPIKE]
        if beyond:
            np.minimum(side[:_SPIKE], beyond[0], out=side[:_SPIKE])
    return result


def _clipped(h: Histogram, threshold: float) -> Range:
    return Range(max(h.low, -threshold), min(h.high, threshold)).with_zero()


def calibrate_weights(
    array: np.ndarray,
    method: str = "min-max",
    schema: str = "symmetric",
    storage: str | IntegerType = "i8",
    axis: int | None = None,
    percentile: float = DEFAULT_PERCENTILE,
    expressed: Attribute = f32,
) -> QuantizedType:
    """
    Returns the type of constant weights, from the numbers themselves.

    `axis` None is per tensor; otherwise each index of that dimension has a scale of its own: output
    channels of convolutions (axis 0 of filters) and rows or columns of matrices. Channels of zeros
    get scale 1. Other arguments are those of `calibrate`; channels all have one storage, unsigned
    for `symmetric_uint8` only if no weight at all is negative.

    Raises QuantizationError for weights with NaN or infinity, and for an axis that is not there.
    """
    array = np.asarray(array)
    rows = _rows(array, axis)
    if not np.isfinite(rows.astype(np.float32)).all():
        raise QuantizationError("expected weights of finite numbers, found NaN or infinity")
    if method == "min-max":
        lows, highs = rows.min(axis=1).astype(np.float64), rows.max(axis=1).astype(np.float64)
    else:
        bins = min(DEFAULT_BINS, max(512, rows.shape[1] // 4))
        ranges = [
            calibrated_range(Histogram.of(r, bins), method, schema, storage, percentile)
            for r in rows
        ]
        lows, highs = np.array([r.low for r in ranges]), np.array([r.high for r in ranges])
    if axis is None:
        return choose(Range(float(lows[0]), float(highs[0])), schema, storage, expressed)
    return choose_per_axis(lows, highs, axis, schema, storage, expressed)


def calibrate_rows(
    table: np.ndarray, bits: int = 8, schema: str = "asymmetric", expressed: Attribute = f32
) -> QuantizedType:
    """
    Returns the type of an embedding table, or of the weights of a fully connected layer with
    outputs first, [rows, columns]: unsigned storage of 8 or 4 bits, one scale and zero point for
    each row, from the smallest to the largest number in it (Guan et al., Post-Training 4-bit
    Quantization on Embedding Tables, 2019). Raises QuantizationError as `calibrate_weights` does.
    """
    if bits not in (4, 8):
        raise QuantizationError(f"expected rows of 4 or 8 bits, found {bits}")
    return calibrate_weights(table, "min-max", schema, f"u{bits}", 0, expressed=expressed)


def _rows(array: np.ndarray, axis: int | None) -> np.ndarray:
    """Returns the array as a matrix with one row for each channel."""
    if not array.size:
        raise QuantizationError(f"expected weights with elements, found shape {array.shape}")
    if axis is None:
        return array.reshape(1, -1)
    if not 0 <= axis < array.ndim:
        raise QuantizationError(
            f"expected an axis of {counted(array.ndim, 'dimension')}, found {axis}"
        )
    return np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
