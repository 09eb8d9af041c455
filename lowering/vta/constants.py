"""Constants that are the same for all pixels."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...glow_dialects.glow.quantization import StorageCastOp
from ...glow_dialects.glow.shape import BroadcastOp, ReshapeOp
from ...glow_dialects.operator import shape_of
from ...semantics.arrays import constant_of


def channel_numbers(value: SSAValue) -> int | np.ndarray | None:
    """A constant that is the same everywhere, or int64[C] if it depends on the channel alone."""
    array = _constant(value)
    if array is None:
        return None
    rank = len(shape_of(value.type))
    full = array.reshape((1,) * (rank - array.ndim) + array.shape)
    channels = shape_of(value.type)[1] if rank > 1 else 1
    if any(size != 1 for axis, size in enumerate(full.shape) if axis != 1):
        if (full != full.flat[0]).any():
            return None
        return int(full.flat[0])
    numbers = np.broadcast_to(full.reshape(-1).astype(np.int64), channels)
    return int(numbers[0]) if (numbers == numbers[0]).all() else np.array(numbers)


def _constant(value: SSAValue) -> np.ndarray | None:
    """The elements of a constant before they are broadcast."""
    op = value.owner
    if isinstance(op, BroadcastOp | StorageCastOp):
        return _constant(op.operands[0])
    if isinstance(op, ReshapeOp):
        inner = _constant(op.input)
        return None if inner is None else _reshaped(inner, op)
    return constant_of(value)


def _reshaped(array: np.ndarray, op: ReshapeOp) -> np.ndarray:
    if array.shape != shape_of(op.input.type):
        array = np.broadcast_to(array, shape_of(op.input.type))
    return array.reshape(shape_of(op.result.type))
