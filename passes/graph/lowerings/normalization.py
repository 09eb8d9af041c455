"""Decompositions of normalisations and softmax."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....glow_dialects.glow.arithmetic import (
    AddOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    PowOp,
    SqrtOp,
    SubOp,
)
from ....glow_dialects.glow.normalization import (
    BatchNormOp,
    GroupNormOp,
    LayerNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    RmsNormOp,
    SoftmaxOp,
)
from ....glow_dialects.glow.reduction import ReduceMaxOp, ReduceMeanOp, ReduceSumOp
from ....glow_dialects.glow.shape import PadOp, SliceOp
from ....glow_dialects.operator import element_of, shape_of
from ..rewriting import Build
from .precision import cast, widen
from .registry import lowering


@lowering(BatchNormOp)
def batch_norm(node: BatchNormOp, build: Build) -> SSAValue:
    """Returns `x * factor + offset`, with a factor and an offset for each channel."""
    x, scale, bias, mean, variance = (widen(build, o) for o in node.operands)
    epsilon = build.splat(node.epsilon.value.data, variance.type)
    deviation = build(SqrtOp, build(AddOp, variance, epsilon))
    factor = build(DivOp, scale, deviation)
    offset = build(SubOp, bias, build(MulOp, mean, factor))
    return scale_channels(build, x, factor, offset, node.result)


def scale_channels(
    build: Build, x: SSAValue, factor: SSAValue, offset: SSAValue, result: SSAValue
) -> SSAValue:
    """
    Returns `x * factor + offset`, both [C] along dimension 1, in the element type of `result`.
    """
    shape = shape_of(x.type)
    scaled = build(MulOp, x, build.per_channel(factor, shape))
    moved = build(AddOp, scaled, build.per_channel(offset, shape))
    return cast(build, moved, element_of(result.type))


@lowering(LocalResponseNormOp)
def local_response_norm(node: LocalResponseNormOp, build: Build) -> SSAValue:
    """
    Returns the sum of squares over `size` channels: the squares are padded with zero channels, and
    `size` shifted slices of them are added.
    """
    size = node.size.value.data
    x = widen(build, node.input)
    shape = shape_of(x.type)
    rank, low = len(shape), (size - 1) // 2
    along = [0, 1] + [0] * (rank - 2)
    squares = build(
        PadOp,
        build(MulOp, x, x),
        low=[low * a for a in along],
        high=[(size - 1 - low) * a for a in along],
        value=0.0,
    )
    total = build.sum(
        build(SliceOp, squares, starts=[shift * a for a in along], sizes=list(shape))
        for shift in range(size)
    )
    k, alpha, beta = (p.value.data for p in (node.k, node.alpha, node.beta))
    mean = build(MulOp, total, build.splat(alpha / size, x.type))
    base = build(AddOp, mean, build.splat(k, x.type))
    divisor = build(PowOp, base, build.splat(beta, x.type))
    return cast(build, build(DivOp, x, divisor), element_of(node.result.type))


def _centred(build: Build, x: SSAValue, axis: int) -> SSAValue:
    """Returns `x` minus its maximum along `axis`, so that no exponential overflows."""
    largest = build(ReduceMaxOp, x, axes=[axis], keep_dims=True)
    return build(SubOp, x, build.broadcast(largest, shape_of(x.type)))


def _sum_along(build: Build, x: SSAValue, axis: int) -> SSAValue:
    return build(ReduceSumOp, x, axes=[axis], keep_dims=True)


@lowering(SoftmaxOp)
def softmax(node: SoftmaxOp, build: Build) -> SSAValue:
    """Returns `exp(x - max) / sum(exp(x - max))`."""
    x, axis = widen(build, node.input), node.axis.value.data
    powers = build(ExpOp, _centred(build, x, axis))
    total = build.broadcast(_sum_along(build, powers, axis), shape_of(x.type))
    return cast(build, build(DivOp, powers, total), element_of(node.result.type))


@lowering(LogSoftmaxOp)
def log_softmax(node: LogSoftmaxOp, build: Build) -> SSAValue:
    """Returns `(x - max) - log(sum(exp(x - max)))`."""
    x, axis = widen(build, node.input), node.axis.value.data
    centred = _centred(build, x, axis)
    logarithm = build(LogOp, _sum_along(build, build(ExpOp, centred), axis))
    result = build(SubOp, centred, build.broadcast(logarithm, shape_of(x.type)))
    return cast(build, result, element_of(node.result.type))


def _divided_by_root(
    build: Build, x: SSAValue, squares: SSAValue, axes: list[int], epsilon: float
) -> SSAValue:
    """Returns `x / sqrt(mean(squares) + epsilon)`, the mean along `axes`."""
    mean = build(ReduceMeanOp, squares, axes=axes, keep_dims=True)
    root = build(SqrtOp, build(AddOp, mean, build.splat(epsilon, mean.type)))
    return build(DivOp, x, build.broadcast(root, shape_of(x.type)))


def _standardized(build: Build, x: SSAValue, axes: list[int], epsilon: float) -> SSAValue:
    """Returns `x` with mean 0 and variance 1 along `axes`."""
    mean = build(ReduceMeanOp, x, axes=axes, keep_dims=True)
    centred = build(SubOp, x, build.broadcast(mean, shape_of(x.type)))
    return _divided_by_root(build, centred, build(MulOp, centred, centred), axes, epsilon)


@lowering(LayerNormOp)
def layer_norm(node: LayerNormOp, build: Build) -> SSAValue:
    """Returns `(x - mean) / sqrt(variance + epsilon) * scale + bias`."""
    x, scale, bias = (widen(build, o) for o in node.operands)
    shape = shape_of(x.type)
    axes = list(range(node.axis.value.data, len(shape)))
    normal = _standardized(build, x, axes, node.epsilon.value.data)
    scaled = build(MulOp, normal, build.broadcast(scale, shape))
    moved = build(AddOp, scaled, build.broadcast(bias, shape))
    return cast(build, moved, element_of(node.result.type))


@lowering(RmsNormOp)
def rms_norm(node: RmsNormOp, build: Build) -> SSAValue:
    """Returns `x / sqrt(mean(x**2) + epsilon) * scale`."""
    x, scale = (widen(build, o) for o in node.operands)
    shape = shape_of(x.type)
    axes = list(range(node.axis.value.data, len(shape)))
    normal = _divided_by_root(build, x, build(MulOp, x, x), axes, node.epsilon.value.data)
    scaled = build(MulOp, normal, build.broadcast(scale, shape))
    return cast(build, scaled, element_of(node.result.type))


@lowering(GroupNormOp)
def group_norm(node: GroupNormOp, build: Build) -> SSAValue:
    """Computes a layer normalisation of each group, then a scale and a bias of each channel."""
    x, scale, bias = (widen(build, o) for o in node.operands)
    images, channels, *spatial = shape = shape_of(x.type)
    groups = node.groups.value.data
    divided = build.reshape(x, [images, groups, channels // groups, *spatial])
    axes = list(range(2, len(spatial) + 3))
    normal = build.reshape(_standardized(build, divided, axes, node.epsilon.value.data), shape)
    return scale_channels(build, normal, scale, bias, node.result)
