"""Convolutions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.convolution import ConvolutionOp
from ..builder import element, rank, shape
from ..node import OnnxNode, converter
from .windows import spatial_rank, window_lists, window_pads


@converter("Conv")
def conv(node: OnnxNode) -> SSAValue:
    x, w, b = node.input(0), node.input(1), node.optional(2)
    n = spatial_rank(rank(x))
    if rank(w) != rank(x):
        raise ModelError(f"expected a filter of rank {rank(x)}, found {w.type}")
    kernel = list(shape(w)[2:])
    if (declared := node.ints("kernel_shape")) and declared != kernel:
        raise ModelError(f"expected a filter of kernel_shape {declared}, found {w.type}")
    strides, dilations = window_lists(node, n, "strides", "dilations")
    if b is None:
        b = node.build.splat(0, element(x), [shape(w)[0]])
    return node.build.op(
        ConvolutionOp,
        x,
        w,
        b,
        strides=strides,
        dilations=dilations,
        pads=window_pads(node, shape(x)[2:], kernel, strides, dilations),
        group=node.attr("group"),
    )
