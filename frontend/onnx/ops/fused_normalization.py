"""
Normalisations of onnxruntime's own domain, alone and with the sums before them, as compositions.

The domain is com.microsoft; the definitions are those of onnxruntime's ContribOperators.md.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import SigmoidOp
from ....glow_dialects.glow.arithmetic import AddOp, MulOp
from ....glow_dialects.glow.normalization import GroupNormOp, LayerNormOp, RmsNormOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import element, rank, shape, size
from ..node import CONTRIB, OnnxNode, converter, normal_axis
from ..quantized import Parameters, dequantized
from .fused_operators import channels_first, channels_last, swish, with_bias
from .indices import expect_along

EPSILON = 1e-12
"""The default of the normalisations that follow BERT's."""


# rows


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
    total = with_bias(node, total, bias)
    normal = _row_norm(node, total, 2, beta, float(node.attr("epsilon", EPSILON)))
    return [normal, total, total, total]


@converter("EmbedLayerNormalization", domain=CONTRIB)
def embedding(node: OnnxNode) -> list[SSAValue]:
    """
    Converts the normalised sum of the embeddings of words, of positions and of segments. Further
    results are the number of words that the mask keeps, and the sum.
    """
    build, (_, words) = node.build, shape(node.input(0))
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
    return [normal, _kept(node), total]


@converter("QEmbedLayerNormalization", domain=CONTRIB)
def quantized_embedding(node: OnnxNode) -> list[SSAValue]:
    """Converts the same of quantized tables, of which only the rows that are read become real."""
    build, (_, words) = node.build, shape(node.input(0))
    total = _real(node, _rows(node, 2, 0), 2)
    width = shape(total)[-1]
    positions = build.slice(node.input(3), [0, 0], [words, width])
    total = build.elementwise(AddOp, total, _real(node, positions, 3))
    if node.optional(1) is not None and node.optional(4) is not None:
        total = build.op(AddOp, total, _real(node, _rows(node, 4, 1), 4))
    gamma, beta = (_real(node, node.input(i), i) for i in (5, 6))
    epsilon = float(node.attr("epsilon", EPSILON))
    normal = build.op(LayerNormOp, total, gamma, beta, axis=2, epsilon=epsilon)
    return [normal, _kept(node)]


def _real(node: OnnxNode, x: SSAValue, index: int) -> SSAValue:
    """Returns elements of a quantized input as reals, by its scale and its zero point."""
    return dequantized(node.build, x, Parameters.of(node, index + 6, index + 11))


def _kept(node: OnnxNode) -> SSAValue:
    """Returns the number of words of each image that the mask keeps, zero without one."""
    build, mask = node.build, node.optional(7)
    if mask is None:
        return build.splat(0, i32, [shape(node.input(0))[0]])
    return build.op(ReduceSumOp, build.cast(mask, i32), axes=[1])


def _rows(node: OnnxNode, table: int, indices: int) -> SSAValue:
    """Returns the rows of an input that another one names."""
    rows = node.input(table)
    expect_along(node, indices, shape(rows)[0])
    return node.build.op(GatherOp, rows, node.input(indices), axis=0)


# parts of rows


@converter("BranchwiseRMSNorm", domain=CONTRIB)
def rms_norm_of_branches(node: OnnxNode) -> SSAValue:
    """Converts a normalisation of each branch, a row of [..., branches, width] or a part of one."""
    build, x, scale = node.build, node.input(0), node.optional(1)
    branches = node.attr("num_branches", 0)
    apart = _rows_apart(node, shape(x)[-1] // branches) if branches else x
    *_, count, width = shape(apart)
    ones = build.splat(1, element(x), [width])
    normal = build.op(
        RmsNormOp, apart, ones, axis=rank(apart) - 1, epsilon=node.attr("epsilon", 1e-5)
    )
    if scale is not None:
        each = [width] if size(scale) == width else [count, width]
        normal = build.elementwise(MulOp, normal, build.reshape(scale, each))
    return build.reshape(normal, shape(x))


@converter("GatedRMSNorm", domain=CONTRIB)
def gated_rms_norm(node: OnnxNode) -> SSAValue:
    """Converts a normalisation of parts of rows, times an activation of a gate."""
    build, x, scale, gate = node.build, node.input(0), node.input(1), node.input(2)
    apart = _rows_apart(node, size(scale))
    epsilon = node.attr("epsilon", 1e-5)
    normal = build.op(RmsNormOp, apart, scale, axis=rank(apart) - 1, epsilon=epsilon)
    is_sigmoid = node.attr("activation", "silu") == "sigmoid"
    gate = build.op(SigmoidOp, gate) if is_sigmoid else swish(build, gate)
    return build.op(MulOp, build.reshape(normal, shape(x)), gate)


def _rows_apart(node: OnnxNode, width: int) -> SSAValue:
    """Returns the first input with its rows in parts of a width."""
    x = node.input(0)
    *outer, columns = shape(x)
    if width < 1 or columns % width:
        raise ModelError(f"expected rows of parts of {width} elements, found {x.type}")
    return node.build.reshape(x, [*outer, columns // width, width])


# groups of channels


@converter("GroupNorm", domain=CONTRIB)
def group_norm(node: OnnxNode) -> SSAValue:
    """Converts a normalisation of groups of channels, which are the last dimension as a rule."""
    return _of_groups(node, node.input(0))


@converter("SkipGroupNorm", domain=CONTRIB)
def group_norm_of_sum(node: OnnxNode) -> list[SSAValue]:
    """Converts the same of a sum, which is the second result."""
    build, x, skip, bias = node.build, node.input(0), node.input(3), node.optional(4)
    channels = size(node.input(1))
    each = [1, 1, channels] if node.attr("channels_last", 1) else [channels, 1, 1]
    if rank(skip) == 2:
        skip = build.reshape(skip, [shape(x)[0], *each])
    total = build.elementwise(AddOp, x, skip)
    if bias is not None:
        total = build.elementwise(AddOp, total, build.reshape(bias, each))
    return [_of_groups(node, total), total]


def _of_groups(node: OnnxNode, x: SSAValue) -> SSAValue:
    """Returns the normalised groups of channels of an image, and their activation."""
    build, is_last = node.build, node.attr("channels_last", 1)
    normal = build.op(
        GroupNormOp,
        channels_first(build, x) if is_last else x,
        node.input(1),
        node.input(2),
        groups=node.attr("groups"),
        epsilon=node.attr("epsilon", 1e-5),
    )
    if node.attr("activation", 0):
        normal = swish(build, normal)
    return channels_last(build, normal) if is_last else normal
