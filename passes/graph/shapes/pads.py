"""Pads of pads, and pads that a convolution can do itself."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.shape import PadOp
from ....glow_dialects.python_values import to_python
from ..rewriting import Build, defining_op
from .table import simplification


def _sum(a: tuple[int, ...], b: tuple[int, ...]) -> list[int]:
    return [x + y for x, y in zip(a, b, strict=True)]


@simplification(PadOp)
def pad_of_pad(node: PadOp, build: Build) -> SSAValue | None:
    inner = defining_op(node.input, PadOp)
    if inner is None or inner.value != node.value:
        return None
    return build(
        PadOp,
        inner.input,
        low=_sum(inner.call.ints("low"), node.call.ints("low")),
        high=_sum(inner.call.ints("high"), node.call.ints("high")),
        value=node.value,
    )


@simplification(ConvolutionOp)
def convolution_of_pad(node: ConvolutionOp, build: Build) -> SSAValue | None:
    """Makes zeros around the spatial dimensions the padding of the convolution."""
    pad = defining_op(node.input, PadOp)
    if pad is None or to_python(pad.value) != 0:
        return None
    low, high = pad.call.ints("low"), pad.call.ints("high")
    if any((*low[:2], *high[:2])):
        return None
    pads = _sum(node.pads.get_values(), (*low[2:], *high[2:]))
    return build.like(node, pad.input, node.filter, node.bias, pads=pads)
