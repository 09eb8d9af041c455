"""Truth values, selection and conversion."""

from __future__ import annotations

from xdsl.dialects.builtin import Float16Type, IntegerType, ReducedPrecisionFloatType
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import FLOAT_TYPES, element_bytes, is_float, is_unsigned
from ....glow_dialects.glow.elementwise import Logical
from ....glow_dialects.glow.logic import AndOp, CastOp, NotOp, OrOp, SelectOp, XorOp
from ....glow_dialects.operator import element_of
from ..rewriting import Build, defining_op, splat_value
from .table import canonical

_EXACT_BITS: dict[type[Attribute], int] = dict(zip(FLOAT_TYPES, (11, 8, 24, 53), strict=True))
"""The number of bits up to which integers fit a float type without rounding."""

_F16_EXPONENT = 5
"""Bits of the exponent of f16."""


def is_signed(element: IntegerType) -> bool:
    """Signless integers of more than one bit are signed; i1 is 0 or 1."""
    return not is_unsigned(element)


def holds(wide: Attribute, narrow: Attribute) -> bool:
    """Returns whether every number of type `narrow` is exactly a number of type `wide`."""
    if wide == narrow:
        return True
    if isinstance(narrow, ReducedPrecisionFloatType):
        # all but f16 have enough bits of the exponent for all of them
        exponents = narrow.SEMANTICS.exponent_bits
        return is_float(wide) and (exponents <= _F16_EXPONENT or not isinstance(wide, Float16Type))
    if is_float(narrow):
        # the 16-bit types do not contain each other
        return is_float(wide) and element_bytes(wide) > element_bytes(narrow)
    if not isinstance(narrow, IntegerType):
        return False
    digits = narrow.width.data - is_signed(narrow)
    if isinstance(wide, IntegerType):
        room = wide.width.data - is_signed(wide)
        return wide.width.data > 1 and room >= digits and is_signed(wide) >= is_signed(narrow)
    return digits <= _EXACT_BITS.get(type(wide), 0)


@canonical(CastOp)
def cast_to_same(node: CastOp, build: Build) -> SSAValue | None:
    return node.input if node.input.type == node.result.type else None


@canonical(CastOp)
def cast_of_exact_cast(node: CastOp, build: Build) -> SSAValue | None:
    """Returns a cast on the way that loses nothing is left out."""
    inner = defining_op(node.input, CastOp)
    if inner is None:
        return None
    source, middle, target = (element_of(v.type) for v in (inner.input, node.input, node.result))
    if not holds(middle, source):
        return None
    if is_float(middle) and not is_float(target) and not holds(target, source):
        # floats out of an integer's range do not wrap as integers do
        return None
    return build.like(node, inner.input)


@canonical(NotOp)
def not_twice(node: NotOp, build: Build) -> SSAValue | None:
    inner = defining_op(node.input, NotOp)
    return None if inner is None else inner.input


def _is_all_ones(value: SSAValue) -> bool:
    number, element = splat_value(value), element_of(value.type)
    if number is None or not isinstance(element, IntegerType):
        return False
    return number % 2**element.width.data == 2**element.width.data - 1


@canonical(AndOp)
def and_constant(node: AndOp, build: Build) -> SSAValue | None:
    if _is_all_ones(node.rhs):
        return node.lhs
    return node.rhs if splat_value(node.rhs) == 0 else None


@canonical(OrOp)
def or_constant(node: OrOp, build: Build) -> SSAValue | None:
    if _is_all_ones(node.rhs):
        return node.rhs
    return node.lhs if splat_value(node.rhs) == 0 else None


@canonical(XorOp)
def xor_constant(node: XorOp, build: Build) -> SSAValue | None:
    if _is_all_ones(node.rhs):
        return build(NotOp, node.lhs)
    return node.lhs if splat_value(node.rhs) == 0 else None


@canonical(AndOp, OrOp)
def same_operands(node: Logical, build: Build) -> SSAValue | None:
    return node.lhs if node.lhs is node.rhs else None


@canonical(SelectOp)
def select_known(node: SelectOp, build: Build) -> SSAValue | None:
    if node.then is node.otherwise:
        return node.then
    condition = splat_value(node.condition)
    if condition is None:
        return None
    return node.then if condition else node.otherwise


@canonical(SelectOp)
def select_by_not(node: SelectOp, build: Build) -> SSAValue | None:
    if (inverted := defining_op(node.condition, NotOp)) is not None:
        return build(SelectOp, inverted.input, node.otherwise, node.then)
    return None
