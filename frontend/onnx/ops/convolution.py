"""Convolutions."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.convolution import ConvolutionOp
from ..builder import element, rank, shape
from ..node import OnnxNode, converter
from .windows import spatial_rank, window_lists, window_pads


@converter("Conv")
def conv(node: OnnxNode) -> SSAValue:
    return convolve(node, node.input(0), node.input(1), node.optional(2))


def convolve(node: OnnxNode, x: SSAValue, w: SSAValue, b: SSAValue | None) -> SSAValue:
    """Returns the convolution that the attributes of `node` describe; `b` is 0 if it is None."""
    window = convolution_window(node, x, w)
    if b is None:
        b = node.build.splat(0, element(x), [shape(w)[0]])
    return node.build.op(ConvolutionOp, x, w, b, **window)


def convolution_window(node: OnnxNode, x: SSAValue, w: SSAValue) -> dict[str, Any]:
    """Returns the properties of a convolution, from the attributes of `node`."""
    n = spatial_rank(rank(x))
    if rank(w) != rank(x):
        raise ModelError(f"expected a filter of rank {rank(x)}, found {w.type}")
    kernel = list(shape(w)[2:])
    if (declared := node.ints("kernel_shape")) and declared != kernel:
        raise ModelError(f"expected a filter of kernel_shape {declared}, found {w.type}")
    strides, dilations = window_lists(node, n, "strides", "dilations")
    return {
        "strides": strides,
        "dilations": dilations,
        "pads": window_pads(node, shape(x)[2:], kernel, strides, dilations),
        "group": node.attr("group", 1),
    }
