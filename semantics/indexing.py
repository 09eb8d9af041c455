"""Operators for which indices say what they replace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..glow_dialects.glow.indexing import ScatterOp
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


@meaning(ScatterOp)
def scatter(call: Call, data: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
    """One update after the other; each result is rounded to the type of the elements."""
    result, wide = data.copy(), compute_dtype(call.element(0))
    combine = _COMBINE[call.get("reduction")]
    rows = np.where(indices < 0, indices + len(data), indices)
    for row, update in zip(np.clip(rows, 0, len(data) - 1), updates, strict=True):
        found = combine(convert(result[row], wide), convert(update, wide))
        result[row] = convert(np.asarray(found), result.dtype)
    return result
