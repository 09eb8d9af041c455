"""Normalisation and softmax."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp, SqrtOp, SubOp
from ....glow_dialects.glow.normalization import (
    BatchNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    SoftmaxOp,
)
from ....glow_dialects.glow.reduction import ReduceMeanOp
from ..builder import element, rank, shape
from ..node import OnnxNode, converter
from ..problems import Unsupported

_SOFTMAX = {"Softmax": SoftmaxOp, "LogSoftmax": LogSoftmaxOp}


@converter("Softmax", "LogSoftmax", since=13)
def softmax(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    return node.build.op(_SOFTMAX[node.proto.op_type], x, axis=node.axis(rank(x)))


@converter("Softmax", "LogSoftmax")
def softmax_of_matrix(node: OnnxNode) -> SSAValue:
    """Before opset 13, all dimensions from `axis` on count as one."""
    x = node.input(0)
    axis = node.axis(rank(x))
    matrix = node.build.reshape(x, [prod(shape(x)[:axis]), prod(shape(x)[axis:])])
    result = node.build.op(_SOFTMAX[node.proto.op_type], matrix, axis=1)
    return node.build.reshape(result, shape(x))


@converter("BatchNormalization")
def batch_normalization(node: OnnxNode) -> SSAValue:
    if node.attr("training_mode", 0):
        raise Unsupported("training_mode=1")
    if node.attr("spatial", 1) == 0:
        raise Unsupported("spatial=0, statistics for each element")
    node.refuse_output(1, 2, 3, 4)
    x = node.input(0)
    # since opset 15 the parameters may have another element type
    parameters = [node.build.cast(node.input(i), element(x)) for i in range(1, 5)]
    return node.build.op(BatchNormOp, x, *parameters, epsilon=float(node.attr("epsilon")))


@converter("InstanceNormalization")
def instance_normalization(node: OnnxNode) -> SSAValue:
    """`scale * (x - mean) / sqrt(variance + epsilon) + bias` over the spatial dimensions."""
    build, x = node.build, node.input(0)
    if rank(x) < 3:
        raise ModelError(f"expected an input with spatial dimensions, found {x.type}")
    axes = list(range(2, rank(x)))
    per_channel = [shape(x)[1], *[1] * len(axes)]
    scale, bias = (build.reshape(node.input(i), per_channel) for i in (1, 2))
    mean = build.op(ReduceMeanOp, x, axes=axes, keep_dims=True)
    centred = build.elementwise(SubOp, x, mean)
    squared = build.op(MulOp, centred, centred)
    variance = build.op(ReduceMeanOp, squared, axes=axes, keep_dims=True)
    deviation = build.op(SqrtOp, build.with_number(AddOp, variance, node.attr("epsilon")))
    normal = build.elementwise(DivOp, centred, deviation)
    return build.elementwise(AddOp, build.elementwise(MulOp, normal, scale), bias)


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


@converter("Dropout")
def dropout(node: OnnxNode) -> list[SSAValue]:
    """In inference the input itself, with a mask that is true everywhere."""
    x = node.input(0)
    training = node.optional(2)
    if training is not None and node.known_number(2):
        ratio = node.optional(1)
        if ratio is None or node.known_number(1) != 0:
            raise Unsupported("training_mode=true")
    if not node.output_used(1):
        return [x]
    # before opset 10 the mask had the element type of the input
    mask = i1 if node.opset >= 10 else element(x)
    return [x, node.build.splat(1, mask, shape(x))]
