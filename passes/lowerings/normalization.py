"""Decompositions of normalisations and softmax."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...glow_dialects.glow.arithmetic import (
    AddOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    PowOp,
    SqrtOp,
    SubOp,
)
from ...glow_dialects.glow.normalization import (
    BatchNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    SoftmaxOp,
)
from ...glow_dialects.glow.reduction import ReduceMaxOp, ReduceSumOp
from ...glow_dialects.glow.shape import PadOp, SliceOp
from ...glow_dialects.operator import element_of, shape_of
from ..rewriting import Build
from .precision import cast, widen
from .registry import lowering


@lowering(BatchNormOp)
def batch_norm(node: BatchNormOp, build: Build) -> SSAValue:
    """`x * factor + offset`, with a factor and an offset for each channel."""
    x, scale, bias, mean, variance = (widen(build, o) for o in node.operands)
    epsilon = build.splat(node.epsilon.value.data, variance.type)
    deviation = build(SqrtOp, build(AddOp, variance, epsilon))
    factor = build(DivOp, scale, deviation)
    offset = build(SubOp, bias, build(MulOp, mean, factor))
    return scale_channels(build, x, factor, offset, node.result)


def scale_channels(
    build: Build, x: SSAValue, factor: SSAValue, offset: SSAValue, result: SSAValue
) -> SSAValue:
    """`x * factor + offset`, both [C] along dimension 1, in the element type of `result`."""
    shape = shape_of(x.type)
    scaled = build(MulOp, x, build.per_channel(factor, shape))
    moved = build(AddOp, scaled, build.per_channel(offset, shape))
    return cast(build, moved, element_of(result.type))


@lowering(LocalResponseNormOp)
def local_response_norm(node: LocalResponseNormOp, build: Build) -> SSAValue:
    """Squares, padded with zero channels, of which `size` shifted slices are added up."""
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
    total: SSAValue | None = None
    for shift in range(size):
        part = build(
            SliceOp,
            squares,
            starts=[shift * a for a in along],
            sizes=list(shape),
            strides=[1] * rank,
        )
        total = part if total is None else build(AddOp, total, part)
    assert total is not None
    k, alpha, beta = (p.value.data for p in (node.k, node.alpha, node.beta))
    mean = build(MulOp, total, build.splat(alpha / size, x.type))
    base = build(AddOp, mean, build.splat(k, x.type))
    divisor = build(PowOp, base, build.splat(beta, x.type))
    return cast(build, build(DivOp, x, divisor), element_of(node.result.type))


def _centred(build: Build, x: SSAValue, axis: int) -> SSAValue:
    """`x` minus its maximum along `axis`, so that no exponential overflows."""
    largest = build(ReduceMaxOp, x, axes=[axis], keep_dims=True)
    return build(SubOp, x, build.broadcast(largest, shape_of(x.type)))


def _sum_along(build: Build, x: SSAValue, axis: int) -> SSAValue:
    return build(ReduceSumOp, x, axes=[axis], keep_dims=True)


@lowering(SoftmaxOp)
def softmax(node: SoftmaxOp, build: Build) -> SSAValue:
    """`exp(x - max) / sum(exp(x - max))`."""
    x, axis = widen(build, node.input), node.axis.value.data
    powers = build(ExpOp, _centred(build, x, axis))
    total = build.broadcast(_sum_along(build, powers, axis), shape_of(x.type))
    return cast(build, build(DivOp, powers, total), element_of(node.result.type))


@lowering(LogSoftmaxOp)
def log_softmax(node: LogSoftmaxOp, build: Build) -> SSAValue:
    """`(x - max) - log(sum(exp(x - max)))`."""
    x, axis = widen(build, node.input), node.axis.value.data
    centred = _centred(build, x, axis)
    logarithm = build(LogOp, _sum_along(build, build(ExpOp, centred), axis))
    result = build(SubOp, centred, build.broadcast(logarithm, shape_of(x.type)))
    return cast(build, result, element_of(node.result.type))
