"""Arithmetic on each element."""

from __future__ import annotations

from functools import partial

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from ....glow_dialects.elements import is_float, is_unsigned
from ....glow_dialects.glow import arithmetic as g
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.logic import AndOp, EqualOp, LessOp, NotOp, SelectOp, XorOp
from ..builder import GraphBuilder, element, known_array
from ..node import OnnxNode, converter

_BINARY: dict[str, type[Node]] = {
    "Add": g.AddOp,
    "Sub": g.SubOp,
    "Mul": g.MulOp,
    "Div": g.DivOp,
}
_UNARY: dict[str, type[Node]] = {
    "Neg": g.NegOp,
    "Abs": g.AbsOp,
    "Sqrt": g.SqrtOp,
    "Reciprocal": g.ReciprocalOp,
    "Exp": g.ExpOp,
    "Log": g.LogOp,
    "Sin": g.SinOp,
    "Cos": g.CosOp,
    "Floor": g.FloorOp,
    "Ceil": g.CeilOp,
    "Round": g.RoundEvenOp,
    "Sign": g.SignOp,
}
_VARIADIC: dict[str, type[Node]] = {
    "Sum": g.AddOp,
    "Mean": g.AddOp,
    "Max": g.MaximumOp,
    "Min": g.MinimumOp,
}


@converter(*_BINARY)
def binary(node: OnnxNode) -> SSAValue:
    return node.build.elementwise(_BINARY[node.proto.op_type], node.input(0), node.input(1))


@converter(*_UNARY)
def unary(node: OnnxNode) -> SSAValue:
    return node.build.op(_UNARY[node.proto.op_type], node.input(0))


@converter("Sum", "Max", "Min")
def variadic(node: OnnxNode) -> SSAValue:
    combine = partial(node.build.elementwise, _VARIADIC[node.proto.op_type])
    return node.build.reduce_pairwise(combine, node.values)


@converter("Mean")
def mean(node: OnnxNode) -> SSAValue:
    total = variadic(node)
    assert isinstance(total, SSAValue)
    return node.build.with_number(g.DivOp, total, len(node.values))


_SMALL_EXPONENTS = range(64)
"""The exponents for which a power of integers is a few products."""


@converter("Pow")
def power(node: OnnxNode) -> SSAValue:
    """
    Converts a power. The result has the type of the base. Powers of integers are products if their
    exponent is a small number that is known, and are computed in f64 otherwise.
    """
    build, base, exponent = node.build, node.input(0), node.input(1)
    target = element(base)
    number = None if is_float(target) else known_array(exponent)
    if number is not None and number.size == 1 and float(number.item()) in _SMALL_EXPONENTS:
        return _product(build, build.broadcast_all(base, exponent)[0], int(number.item()))
    wide = target if is_float(target) else f64
    operands = (build.cast(base, wide), build.cast(exponent, wide))
    return build.cast(build.elementwise(g.PowOp, *operands), target)


def _product(build: GraphBuilder, base: SSAValue, exponent: int) -> SSAValue:
    """Returns a power, by squaring."""
    if exponent < 2:
        return base if exponent else build.splat_like(1, base)
    half = _product(build, base, exponent // 2)
    square = build.op(g.MulOp, half, half)
    return build.op(g.MulOp, square, base) if exponent % 2 else square


@converter("Mod")
def modulo(node: OnnxNode) -> SSAValue:
    """
    Converts a remainder. It has the sign of the dividend with `fmod`, else the sign of the divisor.
    """
    build = node.build
    a, b = build.broadcast_all(node.input(0), node.input(1))
    remainder = build.op(g.RemOp, a, b)
    if node.attr("fmod") or is_unsigned(element(a)):
        return remainder
    zero = build.splat_like(0, remainder)
    signs_differ = build.op(XorOp, build.op(LessOp, remainder, zero), build.op(LessOp, b, zero))
    adjust = build.op(AndOp, signs_differ, build.op(NotOp, build.op(EqualOp, remainder, zero)))
    return build.op(SelectOp, adjust, build.op(g.AddOp, remainder, b), remainder)


def _exp_of_minus(build: GraphBuilder, x: SSAValue) -> SSAValue:
    return build.chain(x, g.NegOp, g.ExpOp)


@converter("Tan")
def tangent(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    return node.build.op(g.DivOp, node.build.op(g.SinOp, x), node.build.op(g.CosOp, x))


@converter("Cosh")
def hyperbolic_cosine(node: OnnxNode) -> SSAValue:
    build, x = node.build, node.input(0)
    total = build.op(g.AddOp, build.op(g.ExpOp, x), _exp_of_minus(build, x))
    return build.with_number(g.MulOp, total, 0.5)
