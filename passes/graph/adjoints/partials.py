"""
Derivatives of the scalar primitives, as scalar expressions.

The same rules serve data-parallel operators, whose meaning is an expression, and formulas, whose
terms apply the same primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import pi

from ....glow_dialects.scalar import (
    Expr,
    Primitive,
    apply,
    exp,
    log,
    select,
)

_TWO_BY_ROOT_OF_PI = 2 / pi**0.5

Partial = Callable[[Sequence[Expr], Expr, Expr], Expr]
"""`partial(arguments, result, seed)` is the derivative with respect to one argument, times seed."""


def _cos(x: Expr) -> Expr:
    return apply(Primitive.COS, x)


def _sign_times(seed: Expr, x: Expr) -> Expr:
    return select(x < 0.0, -seed, select(x > 0.0, seed, 0.0))


def _log_where_positive(x: Expr) -> Expr:
    return select(x > 0.0, log(select(x > 0.0, x, 1.0)), 0.0)


PARTIALS: Mapping[Primitive, Mapping[int, Partial]] = {
    Primitive.ADD: {0: lambda x, r, g: g, 1: lambda x, r, g: g},
    Primitive.SUB: {0: lambda x, r, g: g, 1: lambda x, r, g: -g},
    Primitive.MUL: {0: lambda x, r, g: g * x[1], 1: lambda x, r, g: g * x[0]},
    Primitive.DIV: {0: lambda x, r, g: g / x[1], 1: lambda x, r, g: -(g * r) / x[1]},
    Primitive.REM: {0: lambda x, r, g: g, 1: lambda x, r, g: g * ((r - x[0]) / x[1])},
    # the second operand where both are equal, so that the derivative of max(x, 0) is 0 at 0
    Primitive.MAXIMUM: {
        0: lambda x, r, g: select(x[0] > x[1], g, 0.0),
        1: lambda x, r, g: select(x[0] > x[1], 0.0, g),
    },
    Primitive.MINIMUM: {
        0: lambda x, r, g: select(x[0] < x[1], g, 0.0),
        1: lambda x, r, g: select(x[0] < x[1], 0.0, g),
    },
    Primitive.POW: {
        0: lambda x, r, g: g * x[1] * apply(Primitive.POW, x[0], x[1] - 1.0),
        1: lambda x, r, g: g * r * _log_where_positive(x[0]),
    },
    Primitive.NEG: {0: lambda x, r, g: -g},
    Primitive.ABS: {0: lambda x, r, g: _sign_times(g, x[0])},
    Primitive.SQRT: {0: lambda x, r, g: g * 0.5 / r},
    Primitive.EXP: {0: lambda x, r, g: g * r},
    Primitive.LOG: {0: lambda x, r, g: g / x[0]},
    Primitive.SIN: {0: lambda x, r, g: g * _cos(x[0])},
    Primitive.COS: {0: lambda x, r, g: -(g * apply(Primitive.SIN, x[0]))},
    Primitive.TANH: {0: lambda x, r, g: g * (1.0 - r * r)},
    Primitive.ERF: {0: lambda x, r, g: g * (_TWO_BY_ROOT_OF_PI * exp(-(x[0] * x[0])))},
    Primitive.SELECT: {
        1: lambda x, r, g: select(x[0], g, 0.0),
        2: lambda x, r, g: select(x[0], 0.0, g),
    },
    Primitive.MULTIPLY_ADD: {
        0: lambda x, r, g: g * x[1],
        1: lambda x, r, g: g * x[0],
        2: lambda x, r, g: g,
    },
}
"""
The derivatives by primitive and argument. What is not here is constant between its steps (`floor`,
comparisons) and has derivative 0. Conversions need the types of their operands.
"""
