"""Sums of products of the parts of integers, as operations that all processors have."""

from __future__ import annotations

from xdsl.dialects.builtin import i32

from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.scalar import Expr, Primitive, arguments, maximum, minimum


def _field(value: Expr, start: int, width: int, signed: bool) -> Expr:
    """Returns the bits of an integer of 32 bits from a place on."""
    value = (value << (32 - width - start)) >> (32 - width)
    return value if signed else value & (2**width - 1)


def _sum_of_halves(a: Expr, b: Expr, acc: Expr) -> Expr:
    """Returns `acc` plus the products of signed halves."""
    for at in (0, 16):
        acc = acc + _field(a, at, 16, True) * _field(b, at, 16, True)
    return acc


def _sums_of_bytes(a: Expr, b: Expr, acc: Expr) -> Expr:
    """Returns, in each half, `acc` plus the saturated sum of products of two bytes."""
    halves: list[Expr] = []
    for half in (0, 16):
        low, high = (_field(a, at, 8, False) * _field(b, at, 8, True) for at in (half, half + 8))
        saturated = minimum(maximum(low + high, -(2**15)), 2**15 - 1)
        halves.append(_field(saturated + _field(acc, half, 16, True), 0, 16, False))
    return halves[0] | (halves[1] << 16)


def _sum_of_bytes(a: Expr, b: Expr, acc: Expr) -> Expr:
    """Returns `acc` plus the products of unsigned and signed bytes."""
    for at in range(0, 32, 8):
        acc = acc + _field(a, at, 8, False) * _field(b, at, 8, True)
    return acc


INTEGER_PARTS = {
    Primitive.MULTIPLY_ADD_PAIRS: Body((_sum_of_halves(*arguments(3)),), (i32,)),
    Primitive.MULTIPLY_ADD_BYTES: Body((_sums_of_bytes(*arguments(3)),), (i32,)),
    Primitive.MULTIPLY_ADD_QUADS: Body((_sum_of_bytes(*arguments(3)),), (i32,)),
}
"""The bodies for machines and numbers of lanes for which `glow_vec.dot` has no instruction."""
