"""
Operators that onnxruntime's optimizers write for several of ONNX, as compositions of nodes.

The domain is com.microsoft; the definitions are those of onnxruntime's ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import (
    ClipOp,
    GeluOp,
    HardSigmoidOp,
    LeakyReluOp,
    ReluOp,
    SigmoidOp,
    SoftplusOp,
    TanhOp,
)
from ....glow_dialects.glow.arithmetic import AddOp, MulOp
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.pooling import MaxPoolOp
from ..builder import GraphBuilder, element, rank, shape
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from .convolution import convolve
from .matrix import general_product, matrix_product
from .pooling import pool_window

# activations


@converter("Gelu", "BiasGelu", domain=CONTRIB)
def gelu(node: OnnxNode) -> SSAValue:
    return node.build.op(GeluOp, with_bias(node, node.input(0), 1), approximate=False)


@converter("FastGelu", domain=CONTRIB)
def fast_gelu(node: OnnxNode) -> SSAValue:
    return node.build.op(GeluOp, with_bias(node, node.input(0), 1), approximate=True)


@converter("GemmFastGelu", domain=CONTRIB)
def fast_gelu_of_product(node: OnnxNode) -> SSAValue:
    product = matrix_product(node.build, node.input(0), node.input(1))
    return node.build.op(GeluOp, with_bias(node, product, 2), approximate=True)


@converter("QuickGelu", domain=CONTRIB)
def quick_gelu(node: OnnxNode) -> SSAValue:
    return swish(node.build, node.input(0), node.attr("alpha", 1.702))


@converter("ScaledSiLU", domain=CONTRIB)
def swish_of_scaled(node: OnnxNode) -> SSAValue:
    """Converts the swish of an input times a number, an input of its own or an attribute."""
    build, x, scale = node.build, node.input(0), node.optional(1)
    if scale is None:
        scaled = build.with_number(MulOp, x, node.attr("alpha", 1.0))
    else:
        scaled = build.elementwise(MulOp, x, build.cast(build.reshape(scale, []), element(x)))
    return swish(build, scaled)


def swish(build: GraphBuilder, x: SSAValue, alpha: float = 1.0) -> SSAValue:
    """Returns `x * sigmoid(alpha * x)` (Ramachandran et al. 2017)."""
    scaled = x if alpha == 1 else build.with_number(MulOp, x, alpha)
    return build.op(MulOp, x, build.op(SigmoidOp, scaled))


@converter("BiasSplitGelu", domain=CONTRIB)
def gated_gelu(node: OnnxNode) -> SSAValue:
    """Returns the left half of each row times the gelu of the right one."""
    build, x = node.build, with_bias(node, node.input(0), 1)
    columns = shape(x)[-1]
    if columns % 2:
        raise ModelError(f"expected rows of an even number of elements, found {x.type}")
    left, right = column_halves(build, x, columns // 2)
    return build.op(MulOp, left, build.op(GeluOp, right, approximate=False))


def column_halves(
    build: GraphBuilder, x: SSAValue, count: int, interleaved: bool = False
) -> list[SSAValue]:
    """
    Returns two tensors of `count` columns: the first columns of each row and those that follow, or
    every other one.
    """
    outer = shape(x)[:-1]
    step = 2 if interleaved else 1
    return [
        build.slice(x, [0] * len(outer) + [start], [*outer, count], [1] * len(outer) + [step])
        for start in (0, 1 if interleaved else count)
    ]


@converter("BiasAdd", domain=CONTRIB)
def biased_sum(node: OnnxNode) -> SSAValue:
    return node.build.op(AddOp, with_bias(node, node.input(0), 1), node.input(2))


@converter("GatedAdd", domain=CONTRIB)
def gated_sum(node: OnnxNode) -> SSAValue:
    """Converts the sum of a tensor and another one times a gate of each row."""
    node.refuse_input(gate_weight=3)
    build = node.build
    return build.op(AddOp, node.input(0), build.elementwise(MulOp, node.input(1), node.input(2)))


@converter("LinearAttentionGate", domain=CONTRIB)
def gates_of_linear_attention(node: OnnxNode) -> list[SSAValue]:
    """Converts the decay, in logarithms, and the update rate of linear attention."""
    build, x = node.build, node.input(0)
    biased = build.elementwise(AddOp, build.cast(x, f32), node.input(1))
    decay = build.elementwise(MulOp, build.op(SoftplusOp, biased), node.input(2))
    rate = node.optional(3)
    rates = [] if rate is None else [build.op(SigmoidOp, rate)]
    return [build.cast(decay, element(x)), *rates]


def with_bias(node: OnnxNode, x: SSAValue, index: int) -> SSAValue:
    """Returns `x` plus an optional input, which is broadcast."""
    bias = node.optional(index)
    return x if bias is None else node.build.elementwise(AddOp, x, bias)


Activation: TypeAlias = "tuple[type[Node], Mapping[str, float]]"
_ACTIVATIONS: Mapping[str, Activation] = {
    "Relu": (ReluOp, {}),
    "Tanh": (TanhOp, {}),
    "Sigmoid": (SigmoidOp, {}),
    "LeakyRelu": (LeakyReluOp, {"alpha": 0.01}),
    "Clip": (ClipOp, {"min": -float("inf"), "max": float("inf")}),
    "HardSigmoid": (HardSigmoidOp, {"alpha": 0.2, "beta": 0.5}),
}
"""The node of each activation, and its parameters in order, with their defaults."""


def _activated(node: OnnxNode, x: SSAValue, given: list[float]) -> SSAValue:
    """Returns the activation that an attribute names, with its first parameters."""
    name = node.attr("activation", "")
    if not name:
        return x
    if name not in _ACTIVATIONS:
        raise Unsupported(f"activation {name!r}")
    operator, parameters = _ACTIVATIONS[name]
    values: dict[str, Any] = {**parameters, **dict(zip(parameters, given, strict=False))}
    return node.build.op(operator, x, **values)


# products


@converter("FusedMatMul", "TransposeMatMul", domain=CONTRIB)
def matmul(node: OnnxNode) -> SSAValue:
    """
    Converts a product of operands that may be transposed. `transBatch` moves the first dimension
    behind those of the batch.
    """
    build = node.build
    operands = []
    for index, name in enumerate("AB"):
        x = node.input(index)
        order = list(range(rank(x)))
        if node.attr(f"transBatch{name}", 0) and rank(x) > 2:
            order = [*order[1:-1], 0, order[-1]]
        if node.attr(f"trans{name}", 0) and rank(x) > 1:
            order[-2:] = reversed(order[-2:])
        operands.append(build.transpose(x, order))
    product = matrix_product(build, *operands)
    alpha = node.attr("alpha", 1.0)
    return product if alpha == 1 else build.with_number(MulOp, product, alpha)


@converter("FusedGemm", domain=CONTRIB)
def gemm(node: OnnxNode) -> SSAValue:
    product = general_product(node, node.input(0), node.input(1), node.optional(2))
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    return _activated(node, product, [float(node.attr(n)) for n in names if node.has(n)])


# convolutions and pools


@converter("FusedConv", domain=CONTRIB)
def conv(node: OnnxNode) -> SSAValue:
    """Converts a convolution, the sum with a tensor of its shape, and an activation."""
    y = convolve(node, node.input(0), node.input(1), node.optional(2))
    z = node.optional(3)
    y = y if z is None else node.build.op(AddOp, y, z)
    return _activated(node, y, [float(p) for p in node.attr("activation_params", [])])


@converter("NhwcConv", "NhwcFusedConv", domain=CONTRIB)
def conv_of_channels_last(node: OnnxNode) -> SSAValue:
    """Converts a convolution of an image with channels last; its filter has channels first."""
    x = channels_first(node.build, node.input(0))
    y = convolve(node, x, node.input(1), node.optional(2))
    z = node.optional(3)
    y = y if z is None else node.build.op(AddOp, y, channels_first(node.build, z))
    given = [float(p) for p in node.attr("activation_params", [])]
    return channels_last(node.build, _activated(node, y, given))


@converter("NhwcMaxPool", domain=CONTRIB)
def max_pool_of_channels_last(node: OnnxNode) -> SSAValue:
    x = channels_first(node.build, node.input(0))
    return channels_last(node.build, node.build.op(MaxPoolOp, x, **pool_window(node, x)))


def channels_first(build: GraphBuilder, x: SSAValue) -> SSAValue:
    """Returns an image with channels last as one with channels first."""
    n = rank(x)
    return build.transpose(x, [0, n - 1, *range(1, n - 1)])


def channels_last(build: GraphBuilder, x: SSAValue) -> SSAValue:
    """Returns an image with channels first as one with channels last."""
    return build.transpose(x, [0, *range(2, rank(x)), 1])
