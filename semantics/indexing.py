"""Operators for which indices say what they replace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..glow_dialects.glow.indexing import CumProdOp, CumSumOp, ScatterOp
from ..glow_dialects.operator import Call
from .numpy_algebra import compute_dtype, convert
from .registry import meaning

_COMBINE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "none": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


@meaning(CumSumOp, CumProdOp)
def cumulative(call: Call, x: np.ndarray) -> np.ndarray:
    axis, wide = call.int("axis"), convert(x, compute_dtype(call.element(0)))
    ordered = np.flip(wide, axis) if call.get("reverse") else wide
    ufunc = np.add if call.operator is CumSumOp else np.multiply
    found = ufunc.accumulate(ordered, axis, dtype=wide.dtype)
    if call.get("exclusive"):
        first = np.full_like(found.take([0][: x.shape[axis]], axis), ufunc.identity)
        found = np.concatenate([first, found.take(range(x.shape[axis] - 1), axis)], axis)
    return convert(np.flip(found, axis) if call.get("reverse") else found, x.dtype)


@meaning(ScatterOp)
def scatter(call: Call, data: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
    """Returns one update after the other; each result is rounded to the type of the elements."""
    result, wide = data.copy(), compute_dtype(call.element(0))
    combine = _COMBINE[call.get("reduction")]
    rows = np.where(indices < 0, indices + len(data), indices)
    for row, update in zip(np.clip(rows, 0, len(data) - 1), updates, strict=True):
        found = combine(convert(result[row], wide), convert(update, wide))
        result[row] = convert(np.asarray(found), result.dtype)
    return result
