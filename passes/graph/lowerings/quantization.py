"""Quantization with a scale for each channel, as arithmetic with constants."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntAttr, f64, i64
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp, RoundEvenOp, SubOp
from ....glow_dialects.glow.logic import LessOp, SelectOp
from ....glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ....glow_dialects.operator import element_of, shape_of
from ....glow_dialects.quant import QuantizedType
from ....semantics.arrays import make_constant, numpy_dtype
from ..rewriting import Build
from .precision import cast, convert, stored
from .registry import lowering


def _along_axis(
    build: Build,
    numbers: tuple[float, ...],
    quantized: QuantizedType,
    t: Attribute,
    real: Attribute,
) -> SSAValue:
    """
    Returns one number for each index of the axis, of type `real`, as a tensor with the shape of
    `t`.
    """
    shape = [1] * len(shape_of(t))
    if isinstance(quantized.axis, IntAttr):
        shape[quantized.axis.data] = len(numbers)
    array = np.array(numbers, numpy_dtype(real)).reshape(shape)
    return build.broadcast(build.add(make_constant(array, "scales", real)), shape_of(t))


@lowering(DequantizeOp)
def dequantize(node: DequantizeOp, build: Build) -> SSAValue:
    """Returns the difference to the zero points in 64-bit integers, then one product."""
    t = node.input.type
    quantized = element_of(t)
    assert isinstance(quantized, QuantizedType)
    real = compute_type(quantized.expressed)
    numbers = stored(build, node.input)
    if any(quantized.zero_point_values()):
        points = _along_axis(build, quantized.zero_point_values(), quantized, t, i64)
        numbers = build(SubOp, cast(build, numbers, i64), points)
    scales = _along_axis(build, quantized.scale_values(), quantized, t, real)
    return cast(build, build(MulOp, cast(build, numbers, real), scales), quantized.expressed)


@lowering(QuantizeOp)
def quantize(node: QuantizeOp, build: Build) -> SSAValue:
    """
    Returns the quotient in the compute type; zero points are added in f64, which holds all sums.
    """
    t = node.result.type
    quantized = element_of(t)
    assert isinstance(quantized, QuantizedType)
    real = compute_type(element_of(node.input.type))
    scales = _along_axis(build, quantized.scale_values(), quantized, t, real)
    steps = build(RoundEvenOp, build(DivOp, cast(build, node.input, real), scales))
    numbers = cast(build, steps, f64)
    if any(quantized.zero_point_values()):
        points = _along_axis(build, quantized.zero_point_values(), quantized, t, f64)
        numbers = build(AddOp, numbers, points)
    low = build.splat(float(quantized.storage_min.data), numbers.type)
    high = build.splat(float(quantized.storage_max.data), numbers.type)
    numbers = build(SelectOp, build(LessOp, low, numbers), numbers, low)
    numbers = build(SelectOp, build(LessOp, numbers, high), numbers, high)
    return convert(build, numbers, quantized)
