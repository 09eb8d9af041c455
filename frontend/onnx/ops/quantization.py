"""
Linear quantization, as arithmetic on real numbers.

Scales may be computed by the model, so they are not made part of a quantized type here.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness, f32
from xdsl.ir import Attribute, SSAValue

from ....errors import ModelError
from ....glow_dialects.elements import is_float, is_integer
from ....glow_dialects.glow.activation import ClipOp
from ....glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp, RoundEvenOp, SubOp
from ....glow_dialects.quant import storage_range
from ..builder import GraphBuilder, element, rank, shape
from ..element_types import element_of_onnx
from ..node import OnnxNode, converter, normal_axis
from ..problems import Unsupported

_UI8 = IntegerType(8, Signedness.UNSIGNED)


def _parameter(node: OnnxNode, index: int, x: SSAValue) -> SSAValue | None:
    """A scale or zero point with the shape of `x`: one number, or one for each index of `axis`."""
    value = node.optional(index)
    if value is None:
        return None
    if node.attr("block_size", 0):
        raise Unsupported("blocked quantization")
    if rank(value) == 1 and shape(value) != (1,):
        axis = normal_axis(node.attr("axis", 1), rank(x))
        if shape(value)[0] != shape(x)[axis]:
            raise ModelError(
                f"expected {shape(x)[axis]} values of {node.input_name(index)}, found {value.type}"
            )
        aligned = node.build.reshape(value, [*shape(value), *[1] * (rank(x) - axis - 1)])
    else:
        aligned = node.build.reshape(value, [])
    return node.build.broadcast(aligned, shape(x))


@converter("QuantizeLinear")
def quantize(node: OnnxNode) -> SSAValue:
    """`saturate(round(x / scale) + zero_point)`."""
    build, x = node.build, node.input(0)
    target = _storage(node)
    scale, zero_point = _parameter(node, 1, x), _parameter(node, 2, x)
    assert scale is not None
    scaled = build.op(DivOp, _as_f32(build, x), _as_f32(build, scale))
    rounded = build.op(RoundEvenOp, scaled)
    if zero_point is not None:
        rounded = build.op(AddOp, rounded, build.cast(zero_point, f32))
    low, high = storage_range(target)
    clipped = build.op(ClipOp, rounded, min=float(low), max=float(high))
    return build.cast(clipped, target)


def _as_f32(build: GraphBuilder, x: SSAValue) -> SSAValue:
    return build.cast(x, f32)


def _storage(node: OnnxNode) -> IntegerType:
    zero_point = node.optional(2)
    code = node.attr("output_dtype", 0)
    target: Attribute = _UI8
    if zero_point is not None:
        target = element(zero_point)
    elif code:
        target = element_of_onnx(code, "the result")
    if not isinstance(target, IntegerType) or target.width.data > 16:
        raise Unsupported(f"quantization to {target}")
    return target


@converter("DequantizeLinear")
def dequantize(node: OnnxNode) -> SSAValue:
    """`(x - zero_point) * scale`."""
    build, x = node.build, node.input(0)
    scale, zero_point = _parameter(node, 1, x), _parameter(node, 2, x)
    assert scale is not None
    if not is_integer(element(x)) or not is_float(element(scale)):
        raise Unsupported(f"dequantization of {x.type} with {scale.type}")
    real = _as_f32(build, x)
    if zero_point is not None:
        real = build.op(SubOp, real, build.cast(zero_point, f32))
    return build.cast(build.op(MulOp, real, _as_f32(build, scale)), element(scale))
