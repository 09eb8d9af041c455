"""Pools."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from ....glow_dialects.glow.reduction import ReduceMaxOp, ReduceMeanOp
from ..builder import rank, shape
from ..node import OnnxNode, converter
from .windows import spatial_rank, window_lists, window_pads


def pool_window(node: OnnxNode, x: SSAValue) -> dict[str, Any]:
    """Returns the properties that all pools share."""
    n = spatial_rank(rank(x))
    kernel, strides, dilations = window_lists(node, n, "kernel_shape", "strides", "dilations")
    return {
        "kernel": kernel,
        "strides": strides,
        "dilations": dilations,
        "pads": window_pads(node, shape(x)[2:], kernel, strides, dilations),
        "ceil_mode": bool(node.attr("ceil_mode", 0)),
    }


@converter("MaxPool")
def max_pool(node: OnnxNode) -> SSAValue:
    node.refuse_output(1)
    x = node.input(0)
    return node.build.op(MaxPoolOp, x, **pool_window(node, x))


@converter("AveragePool")
def average_pool(node: OnnxNode) -> SSAValue:
    return average_in_windows(node, node.input(0))


def average_in_windows(node: OnnxNode, x: SSAValue) -> SSAValue:
    """Returns the average pool that the attributes of `node` describe."""
    include = bool(node.attr("count_include_pad", 0))
    return node.build.op(AvgPoolOp, x, count_include_pad=include, **pool_window(node, x))


def spatial_axes(x: SSAValue) -> list[int]:
    """Returns the dimensions after batch and channels."""
    if rank(x) < 3:
        raise ModelError(f"expected an input with spatial dimensions, found {x.type}")
    return list(range(2, rank(x)))


@converter("GlobalAveragePool")
def global_average_pool(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    return node.build.op(ReduceMeanOp, x, axes=spatial_axes(x), keep_dims=True)


@converter("GlobalMaxPool")
def global_max_pool(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    return node.build.op(ReduceMaxOp, x, axes=spatial_axes(x), keep_dims=True)
