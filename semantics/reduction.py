"""Reductions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..glow_dialects.glow.reduction import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
)
from ..glow_dialects.operator import Call
from .arrays import highest, lowest
from .registry import meaning, wide


def _reduce(
    call: Call, x: np.ndarray, reduce: Callable[..., np.ndarray], initial: float
) -> np.ndarray:
    x = wide(x)
    found = reduce(
        x, axis=call.ints("axes"), keepdims=call.get("keep_dims"), dtype=x.dtype, initial=initial
    )
    return np.asarray(found)


@meaning(ReduceSumOp)
def reduce_sum(call: Call, x: np.ndarray) -> np.ndarray:
    return _reduce(call, x, np.add.reduce, 0)


@meaning(ReduceMeanOp)
def reduce_mean(call: Call, x: np.ndarray) -> np.ndarray:
    count = np.prod([x.shape[a] for a in call.ints("axes")], dtype=np.int64)
    total = _reduce(call, x, np.add.reduce, 0)
    return total / total.dtype.type(count)


@meaning(ReduceProdOp)
def reduce_prod(call: Call, x: np.ndarray) -> np.ndarray:
    return _reduce(call, x, np.multiply.reduce, 1)


@meaning(ReduceMaxOp)
def reduce_max(call: Call, x: np.ndarray) -> np.ndarray:
    return _reduce(call, x, np.maximum.reduce, lowest(wide(x).dtype))


@meaning(ReduceMinOp)
def reduce_min(call: Call, x: np.ndarray) -> np.ndarray:
    return _reduce(call, x, np.minimum.reduce, highest(wide(x).dtype))
