"""
Operators that onnxruntime's optimizers write for several of ONNX, as compositions of nodes.

The domain is com.microsoft; the definitions are those of onnxruntime's ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import (
    ClipOp,
    GeluOp,
    HardSigmoidOp,
    LeakyReluOp,
    ReluOp,
    SigmoidOp,
    TanhOp,
)
from ....glow_dialects.glow.arithmetic import AddOp, MulOp
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.normalization import LayerNormOp, RmsNormOp
from ....glow_dialects.glow.pooling import MaxPoolOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import GraphBuilder, rank, shape
from ..node import CONTRIB, OnnxNode, converter, normal_axis
from ..problems import Unsupported
from .convolution import convolve
from .indices import expect_along
from .matrix import general_product, matrix_product
from .pooling import pool_window

EPSILON = 1e-12
"""The default of the normalisations that follow BERT's."""

# activations


@converter("Gelu", "BiasGelu", domain=CONTRIB)
def gelu(node: OnnxNode) -> SSAValue:
    return node.build.op(GeluOp, _with_bias(node, node.input(0), 1), approximate=False)


@converter("FastGelu", domain=CONTRIB)
def fast_gelu(node: OnnxNode) -> SSAValue:
    return node.build.op(GeluOp, _with_bias(node, node.input(0), 1), approximate=True)


@converter("GemmFastGelu", domain=CONTRIB)
def fast_gelu_of_product(node: OnnxNode) -> SSAValue:
    product = matrix_product(node.build, node.input(0), node.input(1))
    return node.build.op(GeluOp, _with_bias(node, product, 2), approximate=True)


@converter("QuickGelu", domain=CONTRIB)
def quick_gelu(node: OnnxNode) -> SSAValue:
    """Returns `x * sigmoid(alpha * x)`."""
    build, x = node.build, node.input(0)
    scaled = build.with_number(MulOp, x, node.attr("alpha", 1.702))
    return build.op(MulOp, x, build.op(SigmoidOp, scaled))


@converter("BiasSplitGelu", domain=CONTRIB)
def gated_gelu(node: OnnxNode) -> SSAValue:
    """Returns the left half of each row times the gelu of the right one."""
    build, x = node.build, _with_bias(node, node.input(0), 1)
    *rows, columns = shape(x)
    if columns % 2:
        raise ModelError(f"expected rows of an even number of elements, found {x.type}")
    half, none = columns // 2, [0] * len(rows)
    left = build.slice(x, [*none, 0], [*rows, half])
    right = build.slice(x, [*none, half], [*rows, half])
    return build.op(MulOp, left, build.op(GeluOp, right, approximate=False))


@converter("BiasAdd", domain=CONTRIB)
def biased_sum(node: OnnxNode) -> SSAValue:
    return node.build.op(AddOp, _with_bias(node, node.input(0), 1), node.input(2))


def _with_bias(node: OnnxNode, x: SSAValue, index: int) -> SSAValue:
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


# normalisation


def _row_norm(
    node: OnnxNode, x: SSAValue, scale: int, bias: int | None, epsilon: float
) -> SSAValue:
    """
    Returns the layer normalisation of rows; without `bias`, the number of an input that may be
    missing, that by the root mean square.
    """
    build, gamma, last = node.build, node.input(scale), rank(x) - 1
    if bias is None:
        return build.op(RmsNormOp, x, gamma, axis=last, epsilon=epsilon)
    given = node.optional(bias)
    beta = build.splat_like(0, gamma) if given is None else given
    return build.op(LayerNormOp, x, gamma, beta, axis=last, epsilon=epsilon)


@converter("SimplifiedLayerNormalization", domain=CONTRIB)
def rms_norm(node: OnnxNode) -> SSAValue:
    """Converts a normalisation of the last dimensions by their root mean square."""
    node.refuse_output(1)
    x, scale = node.input(0), node.input(1)
    axis = normal_axis(node.attr("axis", -1), rank(x))
    scale = node.build.broadcast(scale, shape(x)[axis:])
    return node.build.op(RmsNormOp, x, scale, axis=axis, epsilon=node.attr("epsilon", 1e-5))


@converter("SkipLayerNormalization", domain=CONTRIB)
def layer_norm_of_sum(node: OnnxNode) -> list[SSAValue]:
    return _norm_of_sum(node, bias=4, beta=3)


@converter("SkipSimplifiedLayerNormalization", domain=CONTRIB)
def rms_norm_of_sum(node: OnnxNode) -> list[SSAValue]:
    return _norm_of_sum(node, bias=3, beta=None)


def _norm_of_sum(node: OnnxNode, bias: int, beta: int | None) -> list[SSAValue]:
    """Returns the normalised sum of the first two inputs and a bias, and as last result the sum."""
    node.refuse_output(1, 2)
    total = node.build.elementwise(AddOp, node.input(0), node.input(1))
    total = _with_bias(node, total, bias)
    normal = _row_norm(node, total, 2, beta, float(node.attr("epsilon", EPSILON)))
    return [normal, total, total, total]


@converter("EmbedLayerNormalization", domain=CONTRIB)
def embedding(node: OnnxNode) -> list[SSAValue]:
    """
    Converts the normalised sum of the embeddings of words, of positions and of segments. Further
    results are the number of words that the mask keeps, and the sum.
    """
    build, (images, words) = node.build, shape(node.input(0))
    total = _rows(node, 2, 0)
    if node.optional(8) is None:
        width = shape(total)[-1]
        positions = build.slice(node.input(3), [0, 0], [words, width])
        positions = build.reshape(positions, [1, words, width])
    else:
        positions = _rows(node, 3, 8)
    total = build.elementwise(AddOp, total, positions)
    if node.optional(1) is not None and node.optional(4) is not None:
        total = build.op(AddOp, total, _rows(node, 4, 1))
    normal = _row_norm(node, total, 5, 6, float(node.attr("epsilon", EPSILON)))
    mask = node.optional(7)
    if mask is None:
        return [normal, build.splat(0, i32, [images]), total]
    return [normal, build.op(ReduceSumOp, build.cast(mask, i32), axes=[1]), total]


def _rows(node: OnnxNode, table: int, indices: int) -> SSAValue:
    """Returns the rows of an input that another one names."""
    rows = node.input(table)
    expect_along(node, indices, shape(rows)[0])
    return node.build.op(GatherOp, rows, node.input(indices), axis=0)
