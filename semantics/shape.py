"""Operators that move elements."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ..glow_dialects.operator import Call, shape_of
from .arrays import number
from .registry import meaning


@meaning(ReshapeOp)
def reshape(call: Call, x: np.ndarray) -> np.ndarray:
    return x.reshape(shape_of(call.results[0]))


@meaning(BroadcastOp)
def broadcast(call: Call, x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, shape_of(call.results[0]))


@meaning(TransposeOp)
def transpose(call: Call, x: np.ndarray) -> np.ndarray:
    return x.transpose(call.ints("permutation"))


@meaning(ConcatOp)
def concat(call: Call, *inputs: np.ndarray) -> np.ndarray:
    return np.concatenate(inputs, axis=call.int("axis"))


@meaning(SliceOp)
def slice_(call: Call, x: np.ndarray) -> np.ndarray:
    index = []
    for start, size, stride in zip(
        call.ints("starts"), call.ints("sizes"), call.ints("strides"), strict=True
    ):
        stop = start + size * stride
        # an end before index 0 can only be written as None, because -1 means the last element
        index.append(slice(start, stop if stop >= 0 else None, stride) if size else slice(0))
    return x[tuple(index)]


@meaning(PadOp)
def pad(call: Call, x: np.ndarray) -> np.ndarray:
    low, high = call.ints("low"), call.ints("high")
    shape = [a + s + b for a, s, b in zip(low, x.shape, high, strict=True)]
    padded = np.full(shape, number(call.get("value"), x.dtype), x.dtype)
    padded[tuple(slice(a, a + s) for a, s in zip(low, x.shape, strict=True))] = x
    return padded


@meaning(GatherOp)
def gather(call: Call, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
    axis = call.int("axis")
    size = data.shape[axis]
    counted = np.where(indices < 0, indices + size, indices)
    return data.take(np.clip(counted, 0, size - 1), axis=axis)
