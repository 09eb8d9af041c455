"""The smallest and the largest of numbers and of sizes that depend on symbols."""

from __future__ import annotations

from functools import reduce
from math import inf
from typing import Any

from .extents import Extent, bounds


def least(*sizes: float | Extent) -> Any:
    """Returns the smallest of numbers. Raises UndecidedSizeError if ranges leave it open."""
    return reduce(lambda a, b: a if _is_least(a, b) else b, sizes)


def greatest(*sizes: float | Extent) -> Any:
    """Returns the largest of numbers. Raises UndecidedSizeError if ranges leave it open."""
    return reduce(lambda a, b: b if _is_least(a, b) else a, sizes)


def _is_least(a: float | Extent, b: float | Extent) -> bool:
    """Returns whether the first number is the smaller one; either if they may be equal."""
    for number, is_first in ((a, False), (b, True)):
        if isinstance(number, float) and abs(number) == inf:
            return (number > 0) == is_first
    if bounds(a - b)[0] >= 0:  # pyright: ignore
        return False
    return a <= b
