"""Constants."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.constant import ConstantOp, SplatOp
from ..glow_dialects.operator import Call, element_of, shape_of
from .arrays import constant_array, number, numpy_dtype
from .registry import meaning


@meaning(ConstantOp)
def constant(call: Call) -> np.ndarray:
    return constant_array(call.properties["value"], call.results[0])  # pyright: ignore


@meaning(SplatOp)
def splat(call: Call) -> np.ndarray:
    (result,) = call.results
    return np.broadcast_to(
        number(call.get("value"), numpy_dtype(element_of(result))), shape_of(result)
    )
