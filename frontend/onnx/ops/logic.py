"""Comparison, selection, logic and conversion of elements."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, SSAValue

from ....errors import ModelError
from ....glow_dialects.elements import (
    compute_type,
    is_minifloat,
    is_narrow_storage,
    is_unsigned,
    tensor_type,
)
from ....glow_dialects.glow import logic as g
from ....glow_dialects.glow.arithmetic import AbsOp
from ....glow_dialects.glow.base import Node
from ..builder import element, shape
from ..element_types import element_of_onnx
from ..node import OnnxNode, converter
from ..problems import Unsupported

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
    _expect_operands(node)
    return node.build.elementwise(_LOGICAL[node.proto.op_type], node.input(0), node.input(1))


@converter("Not", "BitwiseNot")
def complement(node: OnnxNode) -> SSAValue:
    _expect_operands(node)
    return node.build.op(g.NotOp, node.input(0))


def _expect_operands(node: OnnxNode) -> None:
    """Raises ModelError for a logical operator on integers, or one of bits on conditions."""
    bits = node.proto.op_type.startswith("Bitwise")
    for i, value in enumerate(node.inputs):
        if value is not None and (element(value) == i1) == bits:
            wanted = "integers" if bits else "conditions"
            raise ModelError(f"expected {wanted} in input {i}, found {value.type}")


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


@converter("BitShift")
def bit_shift(node: OnnxNode) -> SSAValue:
    """
    Returns a shift by a number of bits that the integer does not have leaves its sign, or nothing.
    """
    build = node.build
    x, bits = build.broadcast_all(node.input(0), node.input(1))
    integer = element(x)
    assert isinstance(integer, IntegerType)
    right = node.attr("direction") == "RIGHT"
    width = build.splat_like(integer.width.data, bits)
    within = build.op(g.LessOp, bits, width)
    if signed := not is_unsigned(integer):
        above = build.op(g.LessEqualOp, build.splat_like(0, bits), bits)
        within = build.op(g.AndOp, within, above)
    most = build.splat_like(integer.width.data - 1, bits)
    amount = build.op(g.SelectOp, within, bits, most)
    shifted = build.op(g.ShiftRightOp if right else g.ShiftLeftOp, x, amount)
    if right and signed:
        return shifted
    return build.op(g.SelectOp, within, shifted, build.splat_like(0, x))


@converter("BitCast")
def bit_cast(node: OnnxNode) -> SSAValue:
    x, target = node.input(0), element_of_onnx(node.attr("to"), "the result")
    if i1 in (element(x), target):
        # a truth value has a byte in ONNX
        return node.build.cast(x, target)
    if element(x) == target:
        return x
    result = tensor_type(target, shape(x))
    narrow = [is_narrow_storage(e) for e in (element(x), target)]
    if all(narrow):
        return node.build.cast(x, target)
    if any(narrow) or any(compute_type(e) != e for e in (element(x), target)):
        raise Unsupported(f"the bits of {x.type} as {result}")
    return node.build.op(g.BitcastOp, x, result=result)


@converter("Cast")
def cast(node: OnnxNode) -> SSAValue:
    return _cast(node, element_of_onnx(node.attr("to"), "the result"))


@converter("CastLike")
def cast_like(node: OnnxNode) -> SSAValue:
    return _cast(node, element(node.input(1)))


def _cast(node: OnnxNode, target: Attribute) -> SSAValue:
    """Returns a conversion. How numbers are rounded matters for minifloats only."""
    x = node.input(0)
    if x in node.weights.strings:
        raise Unsupported("a conversion of strings")
    if not is_minifloat(target):
        return node.build.cast(x, target)
    saturate, rounding = bool(node.attr("saturate", 1)), node.attr("round_mode", "up")
    return node.build.cast(x, target, saturate=saturate, rounding=rounding)
