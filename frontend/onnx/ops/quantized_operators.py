"""
Operators on quantized tensors, as operators on real numbers between dequantization and
quantization.

The operators of the domain com.microsoft are those that onnxruntime's quantizer writes, as
documented in its ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import LeakyReluOp, SigmoidOp
from ....glow_dialects.glow.arithmetic import AddOp, MulOp
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.logic import SelectOp
from ....glow_dialects.glow.normalization import SoftmaxOp
from ....glow_dialects.glow.reduction import ReduceMeanOp
from ..builder import element, rank, shape
from ..node import CONTRIB, OnnxNode, converter, normal_axes, normal_axis
from ..problems import Unsupported
from ..quantized import Parameters, dequantized, quantized
from .convolution import convolve
from .fused_operators import channels_first, channels_last
from .matrix import general_product, matrix_product
from .pooling import average_in_windows, spatial_axes

Real: TypeAlias = Callable[[OnnxNode, SSAValue], SSAValue]


def _input(node: OnnxNode, first: int, axis: int = 0) -> SSAValue:
    """Returns inputs `first`, its scale and its zero point as a real tensor."""
    return dequantized(
        node.build, node.input(first), Parameters.of(node, first + 1, first + 2, axis)
    )


def _output(node: OnnxNode, y: SSAValue, scale: int, like: int) -> SSAValue:
    """
    Returns `y` quantized by input `scale` and the next one; without that, to the type of `like`.
    """
    storage = element(node.input(like))
    assert isinstance(storage, IntegerType)
    return quantized(node.build, y, Parameters.of(node, scale, scale + 1, axis=0), storage)


def _bias(node: OnnxNode, bias: int, x_scale: int, w_scale: int) -> SSAValue | None:
    """Returns an i32 bias, whose scale is the product of those of the operands."""
    build, value = node.build, node.optional(bias)
    if value is None:
        return None
    scales = build.elementwise(
        MulOp, build.reshape(node.input(x_scale), []), _flat(node, node.input(w_scale))
    )
    return dequantized(build, value, Parameters(scales, None, 0))


def _flat(node: OnnxNode, scale: SSAValue) -> SSAValue:
    return node.build.reshape(scale, []) if shape(scale) == (1,) else scale


@converter("QLinearConv")
def convolution(node: OnnxNode) -> SSAValue:
    x, w = _input(node, 0), _input(node, 3)
    return _output(node, convolve(node, x, w, _bias(node, 8, 1, 4)), 6, 0)


@converter("QLinearConv", domain=CONTRIB)
def convolution_of_onnxruntime(node: OnnxNode) -> SSAValue:
    """Converts the same of an image whose channels may be last."""
    w, bias = _input(node, 3), _bias(node, 8, 1, 4)
    y = _with_channels_first(node, _input(node, 0), lambda x: convolve(node, x, w, bias))
    return _output(node, y, 6, 0)


@converter("QLinearMatMul")
def matmul(node: OnnxNode) -> SSAValue:
    """
    Converts a product whose scales may be one for each row of the left operand, and for each column
    of the right one.
    """
    a = _input(node, 0, -2 if rank(node.input(0)) > 1 else 0)
    b = _input(node, 3, -1)
    return _output(node, matrix_product(node.build, a, b), 6, 0)


@converter("QGemm", domain=CONTRIB)
def gemm(node: OnnxNode) -> SSAValue:
    a, b = _input(node, 0), _input(node, 3, 0 if node.attr("transB", 0) else 1)
    alpha = node.attr("alpha", 1.0)
    if alpha != 1 and node.optional(6) is not None:
        raise Unsupported(f"a bias with alpha={alpha}")
    y = general_product(node, a, b, _bias(node, 6, 1, 4))
    return y if node.optional(7) is None else _output(node, y, 7, 0)


_ELEMENTWISE: dict[str, type[Node]] = {"QLinearAdd": AddOp, "QLinearMul": MulOp}


@converter(*_ELEMENTWISE, domain=CONTRIB)
def elementwise(node: OnnxNode) -> SSAValue:
    operator = _ELEMENTWISE[node.proto.op_type]
    return _output(node, node.build.elementwise(operator, _input(node, 0), _input(node, 3)), 6, 0)


@converter("QLinearConcat", domain=CONTRIB)
def concat(node: OnnxNode) -> SSAValue:
    """Returns the result's scale and zero point, then three inputs for each part."""
    if len(node.inputs) < 5 or len(node.inputs) % 3 != 2:
        raise ModelError(f"expected 2 inputs and 3 for each part, found {len(node.inputs)}")
    parts = [_input(node, i) for i in range(2, len(node.inputs), 3)]
    joined = node.build.concat(parts, node.axis(rank(parts[0])))
    return _output(node, joined, 0, 2)


@converter("QLinearWhere", domain=CONTRIB)
def where(node: OnnxNode) -> SSAValue:
    operands = [node.input(0), _input(node, 1), _input(node, 4)]
    return _output(node, node.build.elementwise(SelectOp, *operands), 7, 1)


# operators with one operand: it, its scale and zero point, those of the result


def _with_channels_first(
    node: OnnxNode, x: SSAValue, compute: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """Returns what is computed of an image whose channels may be last, with them in that place."""
    if not node.attr("channels_last", 0):
        return compute(x)
    return channels_last(node.build, compute(channels_first(node.build, x)))


def _average(node: OnnxNode, x: SSAValue) -> SSAValue:
    return _with_channels_first(node, x, lambda x: average_in_windows(node, x))


def _global_average(node: OnnxNode, x: SSAValue) -> SSAValue:
    def mean(x: SSAValue) -> SSAValue:
        return node.build.op(ReduceMeanOp, x, axes=spatial_axes(x), keep_dims=True)

    return _with_channels_first(node, x, mean)


def _mean(node: OnnxNode, x: SSAValue) -> SSAValue:
    axes = normal_axes(node.ints("axes") or range(rank(x)), rank(x))
    return node.build.op(ReduceMeanOp, x, axes=axes, keep_dims=bool(node.attr("keepdims", 1)))


def _softmax(node: OnnxNode, x: SSAValue) -> SSAValue:
    axis = normal_axis(node.attr("axis", -1), rank(x))
    if node.attr("opset", 13) < 13 and axis != rank(x) - 1:
        raise Unsupported(f"axis={axis} as in opset {node.attr('opset', 13)}")
    return node.build.op(SoftmaxOp, x, axis=axis)


_UNARY: dict[str, Real] = {
    "QLinearAveragePool": _average,
    "QLinearGlobalAveragePool": _global_average,
    "QLinearSigmoid": lambda node, x: node.build.op(SigmoidOp, x),
    "QLinearLeakyRelu": lambda node, x: node.build.op(
        LeakyReluOp, x, alpha=float(node.attr("alpha", 0.01))
    ),
    "QLinearSoftmax": _softmax,
    "QLinearReduceMean": _mean,
}


@converter(*_UNARY, domain=CONTRIB)
def unary(node: OnnxNode) -> SSAValue:
    return _output(node, _UNARY[node.proto.op_type](node, _input(node, 0)), 3, 0)
