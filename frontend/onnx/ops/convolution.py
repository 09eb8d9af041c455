"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.convolution import ConvolutionOp
from ..builder import element, rank, shape
from ..node import OnnxNode, converter
from .windows import MAX_SPATIAL, spatial_rank, window_lists, window_pads


@converter("Conv")
def conv(node: OnnxNode) -> SSAValue:
    return convolve(node, node.input(0), node.input(1), node.optional(2))


def convolve(node: OnnxNode, x: SSAValue, w: SSAValue, b: SSAValue | None) -> SSAValue:
    """Returns the convolution that the attributes of `node` describe; `b` is 0 if it is None."""
    window = convolution_window(node, x, w, rank(x))
    if b is None:
        b = node.build.splat(0, element(x), [shape(w)[0]])
    if rank(x) - 2 <= MAX_SPATIAL:
        return node.build.op(ConvolutionOp, x, w, b, **window)
    return _within_planes(node, x, w, b, window)


def _within_planes(
    node: OnnxNode, x: SSAValue, w: SSAValue, b: SSAValue, window: dict[str, Any]
) -> SSAValue:
    """
    Returns a convolution with more spatial dimensions than the operator has. Those that windows do
    not extend along become a part of the batch.
    """
    build, n = node.build, rank(x) - 2
    (_, channels, *sizes), (outputs, of_group, *kernel) = shape(x), shape(w)
    pads, strides, dilations = window["pads"], window["strides"], window["dilations"]
    inside = [i for i in range(n) if (kernel[i], strides[i], pads[i], pads[n + i]) != (1, 1, 0, 0)]
    inside = inside or [n - 1]
    spatial_rank(2 + len(inside))  # raises the error if there are still too many
    apart = [i for i in range(n) if i not in inside]
    order = [0, *(2 + i for i in apart), 1, *(2 + i for i in inside)]
    batch = [shape(x)[0], *(sizes[i] for i in apart)]

    def of(values: Sequence[int]) -> list[int]:
        return [values[i] for i in inside]

    planes = build.reshape(build.transpose(x, order), [prod(batch), channels, *of(sizes)])
    y = build.op(
        ConvolutionOp,
        planes,
        build.reshape(w, [outputs, of_group, *of(kernel)]),
        b,
        strides=of(strides),
        dilations=of(dilations),
        pads=[*of(pads[:n]), *of(pads[n:])],
        group=window["group"],
    )
    found = build.reshape(y, [*batch, *shape(y)[1:]])
    return build.transpose(found, [order.index(i) for i in range(n + 2)])


def convolution_window(
    node: OnnxNode, x: SSAValue, w: SSAValue, most: int = MAX_SPATIAL
) -> dict[str, Any]:
    """
    Returns the properties of a convolution, from the attributes of `node`, with up to `most`
    spatial dimensions.
    """
    n = spatial_rank(rank(x), most)
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
