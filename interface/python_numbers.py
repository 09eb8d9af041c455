"""Numbers of Python as inputs: they have no dtype."""

from __future__ import annotations

import numpy as np

from ..errors import InputError


def of_numbers(value: object, array: np.ndarray, name: str, dtype: np.dtype) -> np.ndarray:
    """
    Returns a number, or lists of numbers, as `dtype` if that keeps them as numbers: integers
    exactly, floats rounded to floats. Returns other values as `array`, which is what numpy makes of
    them. Raises InputError about the input `name` for integers out of range, and OverflowError for
    those that no float is near.
    """
    if not isinstance(value, list | tuple | int | float) or hasattr(value, "dtype"):
        return array
    if array.dtype.kind == "O" or (array.dtype.kind == "f" and dtype.kind in "iu"):
        # numpy makes these of integers that int64 does not have
        exact = np.asarray(value, dtype=object)
        if not all(isinstance(number, int) for number in exact.flat):
            return array
        array = exact if dtype.kind in "iu" else exact.astype(np.float64)
    if array.size and array.dtype.kind in "iuO" and dtype.kind in "iu":
        _expect_range(array, name, dtype)
    elif array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        return array
    return array.astype(dtype)


def _expect_range(array: np.ndarray, name: str, dtype: np.dtype) -> None:
    """Raises InputError unless all integers of an array are numbers of `dtype`."""
    bounds, least, most = np.iinfo(dtype), array.min(), array.max()
    if least < bounds.min or most > bounds.max:
        raise InputError(
            f"input {name!r}: expected integers of {bounds.min} to {bounds.max} for {dtype.name}, "
            f"found {least if least < bounds.min else most}"
        )
