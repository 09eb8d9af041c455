"""
Quantization and dequantization of ONNX tensors, which hold integers.

If scales and zero points are constants, they become part of a quantized type, and
`glow.storage_cast` stands where ONNX has plain integers. Otherwise they stay arithmetic on reals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Attribute, SSAValue

from ...errors import ModelError
from ...glow_dialects.elements import is_float, is_minifloat, tensor_type
from ...glow_dialects.glow.activation import ClipOp
from ...glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp, RoundEvenOp, SubOp
from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp, StorageCastOp
from ...glow_dialects.integers import integer_range
from ...glow_dialects.quant import QuantizedType
from .builder import GraphBuilder, element, known_array, rank, shape
from .node import OnnxNode, normal_axis
from .problems import Unsupported

_WIDEST = 32
"""Bits of the widest storage."""


@dataclass(frozen=True)
class Parameters:
    """Scale and zero point of a tensor: one of each, one for each index of `axis`, or blocks."""

    scale: SSAValue
    zero_point: SSAValue | None = None
    axis: int = 1
    block: int = 0
    """
    The size of a block: adjacent elements along `axis` share a scale, and all other indices have
    one of their own.
    """

    @staticmethod
    def of(node: OnnxNode, scale: int, zero_point: int, axis: int = 1, block: int = 0):
        """Returns the parameters that are these inputs of a node."""
        return Parameters(node.input(scale), node.optional(zero_point), axis, block)


def dequantized(build: GraphBuilder, x: SSAValue, by: Parameters) -> SSAValue:
    """
    Returns `(x - zero_point) * scale`, with the element type of the scale; in f32 if that is a
    minifloat.
    """
    if is_minifloat(element(by.scale)):
        by = replace(by, scale=build.cast(by.scale, f32))
    stored = isinstance(element(x), IntegerType) or is_minifloat(element(x))
    if not stored or not is_float(element(by.scale)):
        raise Unsupported(f"dequantization of {x.type} with {by.scale.type}")
    if (parts := _in_blocks(build, x, by)) is not None:
        return build.reshape(dequantized(build, *parts), shape(x))
    quantized = quantized_type(element(x), element(by.scale), shape(x), by)
    if quantized is not None:
        source = storage_cast(build, x, quantized)
        result = tensor_type(quantized.expressed, shape(x))
        return build.op(DequantizeOp, source, result=result)
    scale, zero_point = _aligned(build, by.scale, by, x), by.zero_point
    real = build.cast(x, f32)
    if zero_point is not None and not _is_zero(zero_point):
        real = build.op(SubOp, real, build.cast(_aligned(build, zero_point, by, x), f32))
    return build.cast(build.op(MulOp, real, build.cast(scale, f32)), element(by.scale))


def quantized(
    build: GraphBuilder,
    x: SSAValue,
    by: Parameters,
    storage: Attribute | None = None,
    saturate: bool = True,
) -> SSAValue:
    """
    Returns `saturate(round(x / scale) + zero_point)`, as elements of the zero point's type, or of
    type `storage`. Minifloats are rounded once, after the sum.
    """
    if (parts := _in_blocks(build, x, by)) is not None:
        return build.reshape(quantized(build, *parts, storage, saturate), shape(x))
    target = storage if by.zero_point is None else element(by.zero_point)
    if not is_float(element(x)):
        x = build.cast(x, f32)
    if target is not None and is_minifloat(target):
        return _as_minifloats(build, x, by, target, saturate)
    if not isinstance(target, IntegerType) or target.width.data > 16:
        raise Unsupported(f"quantization to {target}")
    static = quantized_type(target, element(x), shape(x), by)
    if static is not None:
        result = build.op(QuantizeOp, x, result=tensor_type(static, shape(x)))
        return storage_cast(build, result, target)
    scale = build.cast(_aligned(build, by.scale, by, x), f32)
    rounded = build.op(RoundEvenOp, build.op(DivOp, build.cast(x, f32), scale))
    if by.zero_point is not None:
        zero_point = _aligned(build, by.zero_point, by, x)
        rounded = build.op(AddOp, rounded, build.cast(zero_point, f32))
    low, high = integer_range(target)
    clipped = build.op(ClipOp, rounded, min=float(low), max=float(high))
    return build.cast(clipped, target)


def _as_minifloats(
    build: GraphBuilder, x: SSAValue, by: Parameters, target: Attribute, saturate: bool
) -> SSAValue:
    """Returns `x / scale + zero_point`, in f32, as minifloats."""
    scale = build.cast(_aligned(build, by.scale, by, x), f32)
    quotient = build.op(DivOp, build.cast(x, f32), scale)
    if by.zero_point is not None and not _is_zero(by.zero_point):
        zero_point = _aligned(build, by.zero_point, by, x)
        quotient = build.op(AddOp, quotient, build.cast(zero_point, f32))
    return build.cast(quotient, target, saturate=saturate)


def _is_zero(value: SSAValue) -> bool:
    array = known_array(value)
    return array is not None and not array.astype(np.float32).any()


def storage_cast(build: GraphBuilder, x: SSAValue, target: Attribute) -> SSAValue:
    """Returns the same stored numbers as elements of `target`."""
    if element(x) == target:
        return x
    if isinstance(x.owner, StorageCastOp) and element(x.owner.input) == target:
        return x.owner.input
    return build.op(StorageCastOp, x, result=tensor_type(target, shape(x)))


def quantized_type(
    storage: Attribute, expressed: Attribute, sizes: Sequence[int], by: Parameters
) -> QuantizedType | None:
    """
    Returns the quantized type of a tensor of shape `sizes`. Returns None if no type can express it:
    if parameters are not constant, not positive and finite, or differ from block to block.
    """
    scales, points = known_array(by.scale), _known_points(by.zero_point)
    if not isinstance(storage, IntegerType) or storage.width.data > _WIDEST:
        return None
    if scales is None or points is None or by.block or scales.ndim > 1:
        return None
    scales = scales.astype(np.float64).reshape(-1)
    points = points.astype(np.int64).reshape(-1)
    if not (np.isfinite(scales) & (scales > 0)).all() or not scales.size:
        return None
    if scales.size == 1 == points.size:
        return QuantizedType(storage, expressed, float(scales[0]), int(points[0]))
    axis = normal_axis(by.axis, len(sizes))
    count = sizes[axis]
    if not {scales.size, points.size} <= {1, count}:
        raise ModelError(
            f"expected {count} scales and zero points, one for each index of dimension {axis} of "
            f"{'x'.join(map(str, sizes))}, found {scales.size} and {points.size}"
        )
    return QuantizedType(
        storage,
        expressed,
        np.broadcast_to(scales, count).tolist(),
        np.broadcast_to(points, count).tolist(),
        axis,
    )


def _known_points(zero_point: SSAValue | None) -> np.ndarray | None:
    return np.zeros(1, np.int64) if zero_point is None else known_array(zero_point)


def _aligned(build: GraphBuilder, value: SSAValue, by: Parameters, x: SSAValue) -> SSAValue:
    """Returns a scale or zero point with the shape of `x`."""
    if by.block:
        return _repeated(build, value, by, x)
    if rank(value) == 1 and shape(value) != (1,):
        axis = normal_axis(by.axis, rank(x))
        if shape(value)[0] != shape(x)[axis]:
            raise ModelError(f"expected {shape(x)[axis]} values, found {value.type}")
        value = build.reshape(value, [*shape(value), *[1] * (rank(x) - axis - 1)])
    elif rank(value) <= 1:
        value = build.reshape(value, [])
    return build.broadcast(value, shape(x))


def _in_blocks(
    build: GraphBuilder, x: SSAValue, by: Parameters
) -> tuple[SSAValue, Parameters] | None:
    """
    Returns a tensor in which each block has a dimension of its own, along which its parameters are
    broadcast; None without blocks, or if the last one is shorter.
    """
    axis = normal_axis(by.axis, rank(x)) if by.block else 0
    if not by.block or shape(x)[axis] % by.block:
        return None
    before, after = list(shape(x)[:axis]), list(shape(x)[axis + 1 :])
    blocks = shape(x)[axis] // by.block
    for value in (by.scale, by.zero_point):
        if value is not None and shape(value) != (*before, blocks, *after):
            raise ModelError(f"expected parameters for blocks of {by.block}, found {value.type}")
    apart = [*before, blocks, 1, *after]
    zero_point = None if by.zero_point is None else build.reshape(by.zero_point, apart)
    parameters = Parameters(build.reshape(by.scale, apart), zero_point, axis)
    return build.reshape(x, [*before, blocks, by.block, *after]), parameters


def _repeated(build: GraphBuilder, value: SSAValue, by: Parameters, x: SSAValue) -> SSAValue:
    """Returns the parameter of each block for each of its elements."""
    axis = normal_axis(by.axis, rank(x))
    before, after = shape(value)[:axis], shape(value)[axis + 1 :]
    blocks = shape(value)[axis] if rank(value) == rank(x) else 0
    others = (*shape(x)[:axis], *shape(x)[axis + 1 :])
    if (*before, *after) != others or blocks != -(-shape(x)[axis] // by.block):
        raise ModelError(f"expected parameters for blocks of {by.block}, found {value.type}")
    apart = build.reshape(value, [*before, blocks, 1, *after])
    spread = build.broadcast(apart, [*before, blocks, by.block, *after])
    joined = build.reshape(spread, [*before, blocks * by.block, *after])
    return build.slice(joined, [0] * rank(x), shape(x))
