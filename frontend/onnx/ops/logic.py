"""Comparison, selection, logic and conversion of elements."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ....glow_dialects.glow import logic as g
from ....glow_dialects.glow.arithmetic import AbsOp
from ....glow_dialects.glow.base import Node
from ..builder import element, shape
from ..element_types import element_of_onnx
from ..node import OnnxNode, converter

_COMPARISONS: dict[str, tuple[type[Node], bool]] = {
    "Equal": (g.EqualOp, False),
    "Less": (g.LessOp, False),
    "LessOrEqual": (g.LessEqualOp, False),
    "Greater": (g.LessOp, True),
    "GreaterOrEqual": (g.LessEqualOp, True),
}
"""Operator, and whether its operands are swapped."""
_LOGICAL: dict[str, type[Node]] = {
    "And": g.AndOp,
    "Or": g.OrOp,
    "Xor": g.XorOp,
    "BitwiseAnd": g.AndOp,
    "BitwiseOr": g.OrOp,
    "BitwiseXor": g.XorOp,
}


@converter(*_COMPARISONS)
def comparison(node: OnnxNode) -> SSAValue:
    operator, swapped = _COMPARISONS[node.proto.op_type]
    a, b = node.input(0), node.input(1)
    return node.build.elementwise(operator, *((b, a) if swapped else (a, b)))


@converter(*_LOGICAL)
def logical(node: OnnxNode) -> SSAValue:
    return node.build.elementwise(_LOGICAL[node.proto.op_type], node.input(0), node.input(1))


@converter("Not", "BitwiseNot")
def complement(node: OnnxNode) -> SSAValue:
    return node.build.op(g.NotOp, node.input(0))


@converter("Where")
def where(node: OnnxNode) -> SSAValue:
    return node.build.elementwise(g.SelectOp, node.input(0), node.input(1), node.input(2))


@converter("IsNaN")
def is_nan(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    return node.build.op(g.NotOp, node.build.op(g.EqualOp, x, x))


@converter("IsInf")
def is_infinite(node: OnnxNode) -> SSAValue:
    build, x = node.build, node.input(0)
    positive, negative = node.attr("detect_positive"), node.attr("detect_negative")
    if not positive and not negative:
        return build.splat(0, i1, shape(x))
    if positive and negative:
        x = build.op(AbsOp, x)
    bound = math.inf if positive else -math.inf
    return build.op(g.EqualOp, x, build.splat_like(bound, x))


@converter("Cast")
def cast(node: OnnxNode) -> SSAValue:
    return node.build.cast(node.input(0), element_of_onnx(node.attr("to"), "the result"))


@converter("CastLike")
def cast_like(node: OnnxNode) -> SSAValue:
    return node.build.cast(node.input(0), element(node.input(1)))
