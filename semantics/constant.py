"""Constants."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.constant import ConstantOp, SizesOp, SplatOp
from ..glow_dialects.operator import Call, element_of, shape_of
from .arrays import constant_array, number, numpy_dtype
from .registry import meaning


@meaning(ConstantOp)
def constant(call: Call) -> np.ndarray:
    return constant_array(call.properties["value"], call.results[0])  # pyright: ignore


@meaning(SizesOp)
def sizes(call: Call) -> np.ndarray:
    """Returns sizes, none of which depends on symbols any more."""
    (result,) = call.results
    dtype = numpy_dtype(element_of(result))
    return np.array(call.ints("values"), dtype).reshape(shape_of(result))


@meaning(SplatOp)
def splat(call: Call) -> np.ndarray:
    (result,) = call.results
    return np.broadcast_to(
        number(call.get("value"), numpy_dtype(element_of(result))), shape_of(result)
    )
