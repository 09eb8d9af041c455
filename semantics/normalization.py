"""Normalisation and softmax."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.normalization import (
    BatchNormOp,
    GroupNormOp,
    LayerNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    RmsNormOp,
    SoftmaxOp,
)
from ..glow_dialects.operator import Call
from .registry import meaning, wide


@meaning(BatchNormOp)
def batch_norm(call: Call, x: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
    scale, bias, mean, variance = (wide(p).reshape(-1, *[1] * (x.ndim - 2)) for p in parameters)
    return (wide(x) - mean) / np.sqrt(variance + _like(variance, call, "epsilon")) * scale + bias


@meaning(LocalResponseNormOp)
def local_response_norm(call: Call, x: np.ndarray) -> np.ndarray:
    x = wide(x)
    channels, size = x.shape[1], call.int("size")
    squares = np.square(x)
    sums = np.zeros_like(x)
    for shift in range(-((size - 1) // 2), size - 1 - (size - 1) // 2 + 1):
        to = slice(max(0, -shift), channels - max(0, shift))
        source = slice(max(0, shift), channels - max(0, -shift))
        if abs(shift) < channels:
            sums[:, to] += squares[:, source]
    scale = _like(x, call, "alpha") / size
    return x / np.power(_like(x, call, "k") + scale * sums, _like(x, call, "beta"))


@meaning(SoftmaxOp)
def softmax(call: Call, x: np.ndarray) -> np.ndarray:
    if not x.size:
        return x
    axis = call.int("axis")
    x = wide(x)
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@meaning(LogSoftmaxOp)
def log_softmax(call: Call, x: np.ndarray) -> np.ndarray:
    if not x.size:
        return x
    axis = call.int("axis")
    x = wide(x)
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def _standardized(x: np.ndarray, axes: tuple[int, ...], call: Call) -> np.ndarray:
    """Returns `x` with mean 0 and variance 1 along `axes`."""
    centred = x - x.mean(axes, keepdims=True)
    variance = np.square(centred).mean(axes, keepdims=True)
    return centred / np.sqrt(variance + _like(x, call, "epsilon"))


@meaning(LayerNormOp)
def layer_norm(call: Call, x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    axes = tuple(range(call.int("axis"), x.ndim))
    return _standardized(wide(x), axes, call) * wide(scale) + wide(bias)


@meaning(RmsNormOp)
def rms_norm(call: Call, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    x = wide(x)
    axes = tuple(range(call.int("axis"), x.ndim))
    mean = np.square(x).mean(axes, keepdims=True)
    return x / np.sqrt(mean + _like(x, call, "epsilon")) * wide(scale)


@meaning(GroupNormOp)
def group_norm(call: Call, x: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
    x = wide(x)
    images, channels, *spatial = x.shape
    groups = call.int("groups")
    divided = x.reshape(images, groups, channels // groups, *spatial)
    normal = _standardized(divided, tuple(range(2, divided.ndim)), call).reshape(x.shape)
    scale, bias = (wide(p).reshape(-1, *[1] * len(spatial)) for p in parameters)
    return normal * scale + bias


def _like(x: np.ndarray, call: Call, name: str) -> np.ndarray:
    """Returns a float property in the dtype of `x`."""
    return x.dtype.type(call.float(name))
