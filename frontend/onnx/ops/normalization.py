"""Normalisation and softmax."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AbsOp, AddOp, DivOp, MulOp, SqrtOp, SubOp
from ....glow_dialects.glow.logic import EqualOp, SelectOp
from ....glow_dialects.glow.normalization import (
    BatchNormOp,
    GroupNormOp,
    LayerNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    RmsNormOp,
    SoftmaxOp,
)
from ....glow_dialects.glow.reduction import ReduceMeanOp, ReduceSumOp
from ..builder import element, rank, shape, size
from ..node import OnnxNode, converter
from ..problems import Unsupported

_SOFTMAX = {"Softmax": SoftmaxOp, "LogSoftmax": LogSoftmaxOp}


@converter("LpNormalization")
def lp_normalization(node: OnnxNode) -> SSAValue:
    """Rows divided by their norms; rows of zeros stay."""
    build, x = node.build, node.input(0)
    axis, p = node.axis(rank(x)), node.attr("p")
    if p not in (1, 2):
        raise ModelError(f"expected p to be 1 or 2, found {p}")
    magnitude = build.op(AbsOp, x) if p == 1 else build.op(MulOp, x, x)
    norm = build.op(ReduceSumOp, magnitude, axes=[axis], keep_dims=True)
    norm = norm if p == 1 else build.op(SqrtOp, norm)
    empty = build.op(EqualOp, norm, build.splat_like(0, norm))
    divisor = build.op(SelectOp, empty, build.splat_like(1, norm), norm)
    return build.elementwise(DivOp, x, divisor)


@converter("Softmax", "LogSoftmax", since=13)
def softmax(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    return node.build.op(_SOFTMAX[node.proto.op_type], x, axis=node.axis(rank(x)))


@converter("Softmax", "LogSoftmax")
def softmax_of_matrix(node: OnnxNode) -> SSAValue:
    """Returns the softmax of opsets before 13 treats all dimensions from `axis` on as one."""
    x = node.input(0)
    axis = node.axis(rank(x))
    matrix = node.build.reshape(x, [prod(shape(x)[:axis]), prod(shape(x)[axis:])])
    result = node.build.op(_SOFTMAX[node.proto.op_type], matrix, axis=1)
    return node.build.reshape(result, shape(x))


@converter("BatchNormalization")
def batch_normalization(node: OnnxNode) -> list[SSAValue]:
    build, x = node.build, node.input(0)
    if node.attr("spatial", 1) == 0:
        raise Unsupported("spatial=0, statistics for each element")
    # since opset 15 the parameters may have another element type
    scale, bias, mean, variance = (build.cast(node.input(i), element(x)) for i in range(1, 5))
    running: list[SSAValue] = []
    if node.attr("training_mode", 0):
        mean, variance = _statistics(node)
        running = [_running(node, i, value) for i, value in ((3, mean), (4, variance))]
        mean, variance = (build.cast(value, element(x)) for value in (mean, variance))
    else:
        node.refuse_output(1, 2, 3, 4)
    epsilon = float(node.attr("epsilon"))
    return [build.op(BatchNormOp, x, scale, bias, mean, variance, epsilon=epsilon), *running]


def _statistics(node: OnnxNode) -> tuple[SSAValue, SSAValue]:
    """Returns the mean and the variance of each channel; those of 16-bit floats are f32."""
    build, x = node.build, node.input(0)
    if rank(x) < 2 or not size(x):
        raise ModelError(f"expected elements in channels, found {x.type}")
    wide = build.cast(x, f64 if element(x) == f64 else f32)
    axes = [d for d in range(rank(x)) if d != 1]
    mean = build.op(ReduceMeanOp, wide, axes=axes, keep_dims=True)
    centered = build.elementwise(SubOp, wide, mean)
    squares = build.op(MulOp, centered, centered)
    variance = build.op(ReduceMeanOp, squares, axes=axes, keep_dims=False)
    return build.reshape(mean, [shape(x)[1]]), variance


def _running(node: OnnxNode, index: int, value: SSAValue) -> SSAValue:
    """Returns a statistic over all batches so far, with the one of this batch."""
    build, before = node.build, node.input(index)
    momentum = float(node.attr("momentum"))
    old = build.with_number(MulOp, build.cast(before, element(value)), momentum)
    new = build.op(AddOp, old, build.with_number(MulOp, value, 1 - momentum))
    return build.cast(new, element(before))


@converter("InstanceNormalization")
def instance_normalization(node: OnnxNode) -> SSAValue:
    """Converts to group normalisation with a group for each channel."""
    x = node.input(0)
    if rank(x) < 3:
        raise ModelError(f"expected an input with spatial dimensions, found {x.type}")
    return _group_norm(node, node.input(1), node.input(2), shape(x)[1])


@converter("GroupNormalization", since=21)
def group_normalization(node: OnnxNode) -> SSAValue:
    return _group_norm(node, node.input(1), node.input(2), node.attr("num_groups"))


def _group_norm(node: OnnxNode, scale: SSAValue, bias: SSAValue, groups: int) -> SSAValue:
    epsilon = float(node.attr("epsilon"))
    return node.build.op(GroupNormOp, node.input(0), scale, bias, groups=groups, epsilon=epsilon)


@converter("LayerNormalization", since=17)
def layer_normalization(node: OnnxNode) -> list[SSAValue]:
    build, x, scale, bias = node.build, node.input(0), node.input(1), node.optional(2)
    axis, epsilon = node.axis(rank(x)), float(node.attr("epsilon"))
    row = shape(x)[axis:]
    bias = build.splat(0, element(x), row) if bias is None else bias
    if rank(scale) <= len(row) and rank(bias) <= len(row):
        scale, bias = build.broadcast(scale, row), build.broadcast(bias, row)
        result = build.op(LayerNormOp, x, scale, bias, axis=axis, epsilon=epsilon)
    else:
        # scales that differ from row to row
        ones, zeros = (build.splat(number, element(x), row) for number in (1, 0))
        normal = build.op(LayerNormOp, x, ones, zeros, axis=axis, epsilon=epsilon)
        result = build.elementwise(AddOp, build.elementwise(MulOp, normal, scale), bias)
    return [result, *_row_statistics(node, x, axis, epsilon)]


def _row_statistics(node: OnnxNode, x: SSAValue, axis: int, epsilon: float) -> list[SSAValue]:
    """Returns the mean and the inverse standard deviation of rows in f32, if they are wanted."""
    if not node.output_used(1) and not node.output_used(2):
        return []
    build, axes = node.build, list(range(axis, rank(x)))
    wide = build.cast(x, f32)
    mean = build.op(ReduceMeanOp, wide, axes=axes, keep_dims=True)
    centred = build.elementwise(SubOp, wide, mean)
    variance = build.op(ReduceMeanOp, build.op(MulOp, centred, centred), axes=axes, keep_dims=True)
    deviation = build.op(SqrtOp, build.with_number(AddOp, variance, epsilon))
    return [mean, build.op(DivOp, build.splat_like(1, deviation), deviation)]


@converter("RMSNormalization", since=23)
def rms_normalization(node: OnnxNode) -> SSAValue:
    build, x, scale = node.build, node.input(0), node.input(1)
    axis, epsilon = node.axis(rank(x)), float(node.attr("epsilon"))
    row = shape(x)[axis:]
    if rank(scale) <= len(row):
        scale = build.broadcast(scale, row)
        return build.op(RmsNormOp, x, scale, axis=axis, epsilon=epsilon)
    ones = build.splat(1, element(x), row)
    normal = build.op(RmsNormOp, x, ones, axis=axis, epsilon=epsilon)
    return build.elementwise(MulOp, normal, scale)


@converter("LRN")
def lrn(node: OnnxNode) -> SSAValue:
    return node.build.op(
        LocalResponseNormOp,
        node.input(0),
        size=node.attr("size"),
        alpha=float(node.attr("alpha")),
        beta=float(node.attr("beta")),
        k=float(node.attr("bias")),
    )
