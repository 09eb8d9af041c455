"""Linear quantization and its inverse."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import is_float
from ....glow_dialects.glow.activation import ClipOp
from ....glow_dialects.glow.arithmetic import DivOp, NegOp, RoundEvenOp, SubOp
from ....glow_dialects.glow.logic import EqualOp, SelectOp
from ....glow_dialects.glow.reduction import ReduceMaxOp, ReduceMinOp
from ....glow_dialects.integers import integer_range, u8
from ..builder import GraphBuilder, element, rank
from ..element_types import element_of_onnx
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from ..quantized import Parameters, dequantized, quantized


def _parameters(node: OnnxNode) -> Parameters:
    return Parameters.of(node, 1, 2, node.attr("axis", 1), node.attr("block_size", 0))


@converter("QuantizeLinear")
@converter("QuantizeLinear", domain=CONTRIB)
def quantize(node: OnnxNode) -> SSAValue:
    """Returns `saturate(round(x / scale) + zero_point)`."""
    code = node.attr("output_dtype", 0)
    storage: Attribute = element_of_onnx(code, "the result") if code else u8
    saturate = bool(node.attr("saturate", 1))
    return quantized(node.build, node.input(0), _parameters(node), storage, saturate)


@converter("DequantizeLinear")
@converter("DequantizeLinear", domain=CONTRIB)
def dequantize(node: OnnxNode) -> SSAValue:
    """Returns `(x - zero_point) * scale`."""
    code = node.attr("output_dtype", 0)
    real = dequantized(node.build, node.input(0), _parameters(node))
    return node.build.cast(real, element_of_onnx(code, "the result")) if code else real


@converter("DynamicQuantizeLinear")
def dynamic_quantize(node: OnnxNode) -> list[SSAValue]:
    return dynamically_quantized(node.build, node.input(0))


def dynamically_quantized(build: GraphBuilder, x: SSAValue) -> list[SSAValue]:
    """
    Returns quantization to u8 of the range from the least element to the greatest, widened to
    contain 0; also the scale and the zero point. Where all elements are 0, the scale is 1.
    """
    if not is_float(element(x)):
        raise Unsupported(f"dynamic quantization of {x.type}")
    axes = list(range(rank(x)))
    greatest = build.op(ClipOp, build.op(ReduceMaxOp, x, axes=axes), min=0.0)
    least = build.op(ClipOp, build.op(ReduceMinOp, x, axes=axes), max=0.0)
    steps = build.with_number(DivOp, build.op(SubOp, greatest, least), 255.0)
    none = build.op(EqualOp, steps, build.splat_like(0.0, steps))
    scale = build.op(SelectOp, none, build.splat_like(1.0, steps), steps)
    zero_point = _rounded(build, build.op(DivOp, least, scale))
    by = Parameters(scale, zero_point)
    return [quantized(build, x, by), scale, zero_point]


def _rounded(build: GraphBuilder, steps: SSAValue) -> SSAValue:
    """Returns `saturate(round(-steps))` in u8."""
    low, high = integer_range(u8)
    whole = build.op(RoundEvenOp, build.op(NegOp, build.cast(steps, f32)))
    return build.cast(build.op(ClipOp, whole, min=float(low), max=float(high)), u8)
