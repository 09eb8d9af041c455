"""Histograms of streams of numbers, whose range grows with the numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import QuantizationError

DEFAULT_BINS = 2048
"""
The default number of bins, as in TensorRT. Calibration by entropy needs many more bins than levels.
"""
_CHUNK = 1 << 16
"""Elements at a time, so that copies stay in the cache."""


@dataclass
class Histogram:
    """
    The counts of numbers in bins of equal width from the smallest to the largest number.

    As in Glow (`QuantizationProfile`), the range is always exactly that of the finite numbers so
    far. When it grows, the counts are spread over the new bins as if they were uniform within each
    old bin, in whole numbers whose sum stays the same. If all numbers are equal, all are in bin 0.
    """

    counts: np.ndarray = field(default_factory=lambda: np.zeros(DEFAULT_BINS, np.int64))
    """int64 [bins]."""
    low: float = np.inf
    """The smallest finite number; infinity if there is none."""
    high: float = -np.inf
    """The largest finite number; -infinity if there is none."""
    total: float = 0.0
    """The sum of the finite numbers."""
    nans: int = 0
    infinities: int = 0

    @classmethod
    def empty(cls, bins: int = DEFAULT_BINS) -> Histogram:
        """Raises QuantizationError for fewer than two bins."""
        if bins < 2:
            raise QuantizationError(f"expected at least 2 bins of a histogram, found {bins}")
        return cls(np.zeros(bins, np.int64))

    @classmethod
    def of(cls, array: np.ndarray, bins: int = DEFAULT_BINS) -> Histogram:
        """Returns the histogram of one array of numbers."""
        histogram = cls.empty(bins)
        histogram.add(array)
        return histogram

    @property
    def bins(self) -> int:
        return len(self.counts)

    @property
    def count(self) -> int:
        """The number of finite numbers."""
        return int(self.counts.sum())

    @property
    def edges(self) -> np.ndarray:
        """
        The bounds of the bins, f64 [bins + 1]. Raises QuantizationError if there are no numbers.
        """
        self.expect_numbers()
        return np.linspace(self.low, self.high, self.bins + 1)

    def expect_numbers(self) -> None:
        """Raises QuantizationError if no finite number was counted."""
        if self.low > self.high:
            raise QuantizationError(
                f"no finite numbers were counted ({self.nans} NaN, {self.infinities} infinite)"
            )

    def add(self, array: np.ndarray) -> None:
        """Counts the numbers of an array of any shape, of floats or integers."""
        flat = np.asarray(array).reshape(-1)
        if not flat.size:
            return
        if flat.dtype.kind not in "biu":
            flat = self._finite(flat)
        if not flat.size:
            return
        low, high = float(flat.min()), float(flat.max())
        self._grow(min(low, self.low), max(high, self.high))
        width = self.high / self.bins - self.low / self.bins
        for start in range(0, flat.size, _CHUNK):
            part = flat[start : start + _CHUNK].astype(np.float64)
            self.total += float(part.sum())
            self.counts += np.bincount(self._bin(part, width), minlength=self.bins)

    def _finite(self, flat: np.ndarray) -> np.ndarray:
        """Returns the finite elements; the others are counted."""
        if flat.dtype.itemsize == 2:  # f16 and bf16, in which sums and extrema are slow
            flat = flat.astype(np.float32)
        # one pass, and exact enough; a sum of finite numbers may overflow, so the check is needed
        # anyway
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(flat.sum(dtype=np.float64)):
                return flat
        finite = np.isfinite(flat)
        nans = int(np.isnan(flat).sum())
        self.nans += nans
        self.infinities += int(flat.size - finite.sum()) - nans
        return flat[finite]

    def _bin(self, numbers: np.ndarray, width: float) -> np.ndarray:
        if width <= 0:
            return np.zeros(numbers.shape, np.int64)
        # divided first: a range may be as large as twice the largest float
        with np.errstate(over="ignore"):
            index = (numbers / width - self.low / width).astype(np.int64)
        return np.clip(index, 0, self.bins - 1)

    def _grow(self, low: float, high: float) -> None:
        if (low, high) == (self.low, self.high):
            return
        if self.low <= self.high:
            self.counts = spread(self.counts, self.low, self.high, low, high, self.bins)
        self.low, self.high = low, high

    def over(self, low: float, high: float, bins: int) -> np.ndarray:
        """
        Returns the counts in `bins` bins of another range, which must contain this one, int64
        [bins]. Raises QuantizationError if nothing was counted.
        """
        self.expect_numbers()
        return spread(self.counts, self.low, self.high, low, high, bins)

    def merged(self, other: Histogram) -> Histogram:
        """
        Returns the histogram of both streams, up to the spreading within bins. It has as many bins
        as the finer of the two.
        """
        result = Histogram.empty(max(self.bins, other.bins))
        result.low, result.high = min(self.low, other.low), max(self.high, other.high)
        for part in (self, other):
            if part.low <= part.high:
                result.counts += part.over(result.low, result.high, result.bins)
            result.total += part.total
            result.nans += part.nans
            result.infinities += part.infinities
        return result


def spread(
    counts: np.ndarray, low: float, high: float, new_low: float, new_high: float, bins: int
) -> np.ndarray:
    """
    Counts in bins from `low` to `high`, redistributed to `bins` bins from `new_low` to `new_high`,
    which contains the old range. Whole numbers; the sum is the same.
    """
    total = int(counts.sum())
    if new_low >= new_high:
        result = np.zeros(bins, np.int64)
        result[0] = total
        return result
    width = new_high / bins - new_low / bins
    if low >= high:  # a single number
        result = np.zeros(bins, np.int64)
        result[min(int(low / width - new_low / width), bins - 1)] = total
        return result
    # in units of old bins, the bounds of the new ones; sums up to them, rounded, conserve the total
    step = (high / len(counts)) - (low / len(counts))
    bounds = (np.linspace(new_low / width, new_high / width, bins + 1) - low / width) * (
        width / step
    )
    sums = np.concatenate([[0], np.cumsum(counts)]).astype(np.float64)
    below = np.rint(np.interp(bounds, np.arange(len(sums)), sums)).astype(np.int64)
    below[0], below[-1] = 0, total
    return np.diff(below)
