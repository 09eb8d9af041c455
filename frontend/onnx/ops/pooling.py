"""Pools."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AbsOp, PowOp
from ....glow_dialects.glow.pooling import AvgPoolOp, LpPoolOp, MaxPoolOp, MaxPoolPlacesOp
from ....glow_dialects.glow.reduction import ReduceMaxOp, ReduceMeanOp, ReduceSumOp
from ..builder import element, rank, shape
from ..node import OnnxNode, converter
from ..problems import Unsupported
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
def max_pool(node: OnnxNode) -> list[SSAValue]:
    x = node.input(0)
    window = pool_window(node, x)
    pooled = node.build.op(MaxPoolOp, x, **window)
    if not node.output_used(1):
        return [pooled]
    column_major = bool(node.attr("storage_order", 0))
    places = node.build.op(MaxPoolPlacesOp, x, pooled, column_major=column_major, **window)
    return [pooled, places]


@converter("LpPool")
def lp_pool(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    return node.build.op(LpPoolOp, x, p=_order(node), **pool_window(node, x))


@converter("GlobalLpPool")
def global_lp_pool(node: OnnxNode) -> SSAValue:
    """Returns the norm of each channel; sums of 16-bit floats are f32."""
    build, x, p = node.build, node.input(0), _order(node)
    wide = build.op(AbsOp, build.cast(x, f64 if element(x) == f64 else f32))
    powers = wide if p == 1 else build.with_number(PowOp, wide, p)
    total = build.op(ReduceSumOp, powers, axes=spatial_axes(x), keep_dims=True)
    return build.cast(total if p == 1 else build.with_number(PowOp, total, 1 / p), element(x))


def _order(node: OnnxNode) -> int:
    """Returns the order of a norm; a whole number since opset 2."""
    p = node.attr("p", 2)
    if p != int(p) or p < 1:
        raise Unsupported(f"p={p}")
    return int(p)


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
