"""Blocked channel layouts: the meaning of their operators on plain tensors, there and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..glow_dialects.glow.convolution import ConvolutionOp
from ..glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp, Pool
from ..glow_dialects.glow_cpu.blocked import (
    BlockedAvgPoolOp,
    BlockedConvolutionOp,
    BlockedDepthwiseConvolutionOp,
    BlockedMaxPoolOp,
    LaneSumConvolutionOp,
    PackChannelsOp,
    UnpackChannelsOp,
    is_blocked_input,
)
from ..glow_dialects.operator import Call, element_of, shape_of, with_shape
from ..glow_dialects.python_values import to_attribute
from .convolution import convolution
from .pooling import avg_pool, max_pool
from .registry import meaning


def pack_channels(x: np.ndarray, block: int, axis: int = 1) -> np.ndarray:
    """
    Splits dimension `axis` into blocks, and puts the place in the block last: [N, C, *spatial]
    becomes [N, ceil(C / block), *spatial, block]. Missing channels are zero.
    """
    missing = -x.shape[axis] % block
    if missing:
        x = np.pad(x, [(0, missing if d == axis else 0) for d in range(x.ndim)])
    blocks = x.shape[axis] // block
    split = x.reshape(*x.shape[:axis], blocks, block, *x.shape[axis + 1 :])
    return np.moveaxis(split, axis + 1, -1)


def unpack_channels(x: np.ndarray, channels: int) -> np.ndarray:
    """Returns [N, B, *spatial, b] as [N, channels, *spatial]."""
    split = np.moveaxis(x, -1, 2)
    return split.reshape(x.shape[0], -1, *x.shape[2:-1])[:, :channels]


def pack_filter(w: np.ndarray, block: int, lanes: int | None = None) -> np.ndarray:
    """
    Returns the filter [O, C, *kernel] of a convolution as [ceil(O / block), ceil(C / lanes),
    *kernel, lanes, block], where the input has blocks of `lanes` channels; for a plain input as
    [ceil(O / block), C, *kernel, block].
    """
    if lanes is not None:
        w = pack_channels(w, lanes, axis=1)
    return np.ascontiguousarray(pack_channels(w, block, axis=0))


@meaning(PackChannelsOp)
def _pack(call: Call, x: np.ndarray) -> np.ndarray:
    return pack_channels(x, call.int("block"))


@meaning(UnpackChannelsOp)
def _unpack(call: Call, x: np.ndarray) -> np.ndarray:
    return unpack_channels(x, call.int("channels"))


def _filter(call: Call, w: np.ndarray) -> np.ndarray:
    """Returns the plain filter [O, C, *kernel]."""
    if is_blocked_input(call):
        w = np.moveaxis(w, -2, 2)
        w = w.reshape(w.shape[0], -1, *w.shape[3:])
    w = np.moveaxis(w, -1, 1)
    return w.reshape(-1, *w.shape[2:])


def _convolve(call: Call, x: np.ndarray, w: np.ndarray, b: np.ndarray, group: int) -> np.ndarray:
    """Returns a plain convolution with a packed result."""
    _, _, *counts, block = shape_of(call.results[0])
    return pack_channels(_plain(call, x, w, b, counts, group), block)


def _plain(
    call: Call, x: np.ndarray, w: np.ndarray, b: np.ndarray, counts: Sequence[int], group: int = 1
) -> np.ndarray:
    """Returns a plain convolution with so many windows."""
    properties = {
        "strides": call.properties["strides"],
        "dilations": call.properties["dilations"],
        "pads": to_attribute([0] * (2 * len(counts))),
        "group": to_attribute(group),
    }
    operands = tuple(with_shape(call.element(i), a.shape) for i, a in enumerate((x, w, b)))
    result = with_shape(element_of(call.results[0]), [x.shape[0], w.shape[0], *counts])
    return convolution(Call(ConvolutionOp, operands, (result,), properties), x, w, b)


@meaning(BlockedConvolutionOp)
def _convolution(call: Call, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    if is_blocked_input(call):
        x = unpack_channels(x, x.shape[1] * x.shape[-1])
    return _convolve(call, x, _filter(call, w), b.reshape(-1), call.int("group"))


@meaning(LaneSumConvolutionOp)
def _lane_sum_convolution(call: Call, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    x, w = (unpack_channels(a, a.shape[1] * a.shape[-1]) for a in (x, w))
    return _plain(call, x, w, b, shape_of(call.results[0])[2:])


@meaning(BlockedDepthwiseConvolutionOp)
def _depthwise(call: Call, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    channels = x.shape[1] * x.shape[-1]
    filters = np.moveaxis(w, -1, 1).reshape(channels, 1, *w.shape[1:-1])
    return _convolve(call, unpack_channels(x, channels), filters, b.reshape(-1), channels)


def _pool(call: Call, x: np.ndarray, plain: type[Pool]) -> np.ndarray:
    element = call.element(0)
    batch, blocks, *counts, block = shape_of(call.results[0])
    whole = unpack_channels(x, blocks * block)
    result = with_shape(element, [batch, blocks * block, *counts])
    pool = Call(plain, (with_shape(element, whole.shape),), (result,), call.properties)
    return pack_channels((max_pool if plain is MaxPoolOp else avg_pool)(pool, whole), block)


@meaning(BlockedMaxPoolOp)
def _max_pool(call: Call, x: np.ndarray) -> np.ndarray:
    return _pool(call, x, MaxPoolOp)


@meaning(BlockedAvgPoolOp)
def _avg_pool(call: Call, x: np.ndarray) -> np.ndarray:
    return _pool(call, x, AvgPoolOp)
