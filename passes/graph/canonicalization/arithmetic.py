"""Neutral elements, inverses, and constants to the right."""

from __future__ import annotations

from math import frexp

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ....glow_dialects.elements import is_float
from ....glow_dialects.glow.arithmetic import (
    AbsOp,
    AddOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    NegOp,
    PowOp,
    ReciprocalOp,
    SubOp,
)
from ....glow_dialects.glow.elementwise import Binary
from ....glow_dialects.glow.logic import AndOp, EqualOp, OrOp, XorOp
from ....glow_dialects.operator import element_of
from ..rewriting import Build, defining_op, element_is, is_constant, splat_value
from .table import canonical

_EXPONENTS = range(-14, 15)
"""Powers of two that are normal numbers in every float type, and their reciprocals too."""


@canonical(AddOp, MulOp, MaximumOp, MinimumOp, AndOp, OrOp, XorOp, EqualOp)
def constant_to_the_right(node: Binary, build: Build) -> SSAValue | None:
    if is_constant(node.lhs) and not is_constant(node.rhs):
        return build(type(node), node.rhs, node.lhs)
    return None


@canonical(AddOp, SubOp)
def add_zero(node: Binary, build: Build) -> SSAValue | None:
    return node.lhs if splat_value(node.rhs) == 0 else None


@canonical(AddOp)
def add_negated(node: AddOp, build: Build) -> SSAValue | None:
    if (negated := defining_op(node.rhs, NegOp)) is not None:
        return build(SubOp, node.lhs, negated.input)
    return None


@canonical(SubOp)
def subtract_negated(node: SubOp, build: Build) -> SSAValue | None:
    if (negated := defining_op(node.rhs, NegOp)) is not None:
        return build(AddOp, node.lhs, negated.input)
    return None


@canonical(MulOp, DivOp)
def multiply_by_one(node: Binary, build: Build) -> SSAValue | None:
    return node.lhs if splat_value(node.rhs) == 1 else None


@canonical(MulOp)
def multiply_by_zero(node: MulOp, build: Build) -> SSAValue | None:
    # 0 * NaN and 0 * inf are NaN, so only integers
    return node.rhs if element_is(node.rhs, IntegerType) and splat_value(node.rhs) == 0 else None


@canonical(DivOp)
def divide_by_power_of_two(node: DivOp, build: Build) -> SSAValue | None:
    """Rewrites `x / 2**n` to `x * 2**-n`, which rounds alike and is faster."""
    divisor = splat_value(node.rhs)
    if not isinstance(divisor, float) or not is_float(element_of(node.rhs.type)):
        return None
    mantissa, exponent = frexp(divisor)
    if abs(mantissa) != 0.5 or exponent - 1 not in _EXPONENTS:
        return None
    return build(MulOp, node.lhs, build.splat(1.0 / divisor, node.rhs.type))


@canonical(PowOp)
def simple_power(node: PowOp, build: Build) -> SSAValue | None:
    match splat_value(node.rhs):
        case 1:
            return node.lhs
        case 2:
            return build(MulOp, node.lhs, node.lhs)
        case 3:
            return build(MulOp, build(MulOp, node.lhs, node.lhs), node.lhs)
        case -1:
            return build(ReciprocalOp, node.lhs)
        case _:
            return None


@canonical(NegOp)
def negate_twice(node: NegOp, build: Build) -> SSAValue | None:
    inner = defining_op(node.input, NegOp)
    return None if inner is None else inner.input


@canonical(AbsOp)
def absolute_of_sign(node: AbsOp, build: Build) -> SSAValue | None:
    """Removes the inner sign, which does not matter."""
    if (inner := defining_op(node.input, NegOp)) is not None:
        return build(AbsOp, inner.input)
    return None if defining_op(node.input, AbsOp) is None else node.input
