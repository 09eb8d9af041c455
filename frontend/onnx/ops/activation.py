"""Activation functions."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ....glow_dialects.glow import activation as g
from ....glow_dialects.glow.arithmetic import (
    AbsOp,
    AddOp,
    DivOp,
    ExpOp,
    MaximumOp,
    MinimumOp,
    MulOp,
)
from ....glow_dialects.glow.logic import LessOp, SelectOp
from ..builder import known_array, python_number, shape
from ..node import OnnxNode, converter


@converter("Gelu")
def gelu(node: OnnxNode) -> SSAValue:
    return node.build.op(g.GeluOp, node.input(0), approximate=node.attr("approximate") == "tanh")


@converter("PRelu")
def prelu(node: OnnxNode) -> SSAValue:
    x, slope = node.input(0), node.input(1)
    return node.build.op(g.PReluOp, x, node.build.broadcast(slope, shape(x)))


@converter("Selu")
def selu(node: OnnxNode) -> SSAValue:
    """Returns `gamma * elu(x)` (Klambauer et al. 2017)."""
    elu = node.build.op(g.EluOp, node.input(0), alpha=float(node.attr("alpha")))
    return node.build.with_number(MulOp, elu, node.attr("gamma"))


@converter("Celu")
def celu(node: OnnxNode) -> SSAValue:
    """Returns `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))` (Barron 2017)."""
    build, x, alpha = node.build, node.input(0), node.attr("alpha")
    # so the derivative at 0 is 1: the minimum has that of its second operand, and `relu` 0
    least = build.op(MinimumOp, build.splat_like(0, x), x)
    below = build.op(ExpOp, build.with_number(DivOp, least, alpha))
    negative = build.with_number(MulOp, build.with_number(AddOp, below, -1), alpha)
    return build.op(AddOp, build.op(g.ReluOp, x), negative)


@converter("ThresholdedRelu")
def thresholded_relu(node: OnnxNode) -> SSAValue:
    build, x = node.build, node.input(0)
    above = build.op(LessOp, build.splat_like(node.attr("alpha"), x), x)
    return build.op(SelectOp, above, x, build.splat_like(0, x))


@converter("Softsign")
def softsign(node: OnnxNode) -> SSAValue:
    build, x = node.build, node.input(0)
    return build.op(DivOp, x, build.with_number(AddOp, build.op(AbsOp, x), 1))


@converter("Clip")
def clip_to_attributes(node: OnnxNode) -> SSAValue:
    bounds: dict[str, Any] = {
        name: float(node.attr(name)) for name in ("min", "max") if node.has(name)
    }
    return node.build.op(g.ClipOp, node.input(0), **bounds)


@converter("Clip", since=11)
def clip(node: OnnxNode) -> SSAValue:
    build, x = node.build, node.input(0)
    low, high = node.optional(1), node.optional(2)
    bounds: dict[str, Any] = {}
    for name, value in (("min", low), ("max", high)):
        array = None if value is None else known_array(value)
        if array is not None and array.size == 1:
            bounds[name] = python_number(array)
    if len(bounds) == sum(v is not None for v in (low, high)):
        return build.op(g.ClipOp, x, **bounds)
    if low is not None:
        x = build.op(MaximumOp, x, build.broadcast(low, shape(x)))
    return x if high is None else build.op(MinimumOp, x, build.broadcast(high, shape(x)))
