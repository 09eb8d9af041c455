"""The range of indices that a network takes or computes, and the check of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import IndexRangeError, InputError

_FEW = 32
"""Up to so many numbers, Python finds the extremes in less time than two calls of numpy take."""


@dataclass(frozen=True)
class IndexRange:
    """The range that indices in an input, or indices that a network computes, may have."""

    low: tuple[int, ...]
    """The smallest one: of all, or for each place along the last dimension."""
    high: tuple[int, ...]
    """The largest one."""
    user: str
    """The operator and the node that take them."""
    total: int | None = None
    """Their sum, if they are lengths of parts of something."""
    ascending: bool = False
    """Whether none is smaller than the one before it."""
    what: str = "indices"
    """The name of the numbers, in the plural."""

    def problem(self, array: np.ndarray) -> str | None:
        """Returns what is wrong with the indices in an array, as `expected ..., found ...`."""
        if not self._holds(array):
            outside = (array < np.array(self.low)) | (array > np.array(self.high))
            place = tuple(int(i) for i in np.argwhere(outside)[0])
            along = place[-1] if len(self.low) > 1 else 0
            return (
                f"expected {self.what} in {self.low[along]} to {self.high[along]}, "
                f"found {array[place]} at {list(place)}"
            )
        if self.total is not None and array.sum() != self.total:
            return f"expected lengths with the sum {self.total}, found {array.sum()}"
        if self.ascending and (falls := np.flatnonzero(np.diff(array) < 0)).size:
            first = int(falls[0])
            return (
                f"expected offsets that do not decrease, "
                f"found {array[first + 1]} behind {array[first]} at [{first + 1}]"
            )
        return None

    def _holds(self, array: np.ndarray) -> bool:
        """Returns whether all numbers are in the range; it reads them without a copy."""
        if not array.size or _lies_within(array.reshape(-1), max(self.low), min(self.high)):
            return True
        if len(self.low) == 1:
            return False
        along = range(len(self.low))
        return all(_lies_within(array[..., i], self.low[i], self.high[i]) for i in along)

    def expect(self, array: np.ndarray, name: str) -> None:
        """Raises InputError unless all indices of the input `name` are in the range."""
        problem = self.problem(array)
        if problem is not None:
            raise InputError(f"input {name!r}: {self.user}: {problem}")

    def expect_extremes(self, extremes: np.ndarray) -> None:
        """
        Raises IndexRangeError unless computed indices are in the range. `extremes` are their
        largest ones, then those of `-1 - index`: of all, or for each place along their last
        dimension.
        """
        found = extremes.tolist()  # numbers of numpy take several times as long to compare
        for low, high, largest, inverted in zip(self.low, self.high, *found, strict=True):
            smallest = -1 - inverted
            if smallest < low or largest > high:
                raise IndexRangeError(
                    f"{self.user}: expected {self.what} in {low} to {high}, found "
                    f"{smallest if smallest < low else largest}, which the network computes"
                )


def _lies_within(array: np.ndarray, low: int, high: int) -> bool:
    """Returns whether all numbers of an array are in a range. It is fastest for flat arrays."""
    if array.size <= _FEW and array.ndim == 1:
        numbers = array.tolist()
        return low <= min(numbers) and max(numbers) <= high
    # negative numbers are large ones without a sign; most indices are none, and one pass suffices
    if low <= 0 and np.maximum.reduce(array.view(f"u{array.itemsize}"), None) <= high:
        return True
    return bool(low <= np.minimum.reduce(array, None) and np.maximum.reduce(array, None) <= high)
