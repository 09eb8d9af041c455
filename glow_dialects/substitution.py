"""Substitution: scalar expressions over other expressions instead of operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .scalar import (
    Expr,
    Number,
    Primitive,
    bitcast,
    convert,
    fold,
    fold_in_order,
    in_order_of_creation,
)

if TYPE_CHECKING:
    from xdsl.ir import Attribute


class Substitution:
    """The algebra whose values are expressions of which all types are known."""

    def __init__(self, result: Attribute | None):
        self.result = result

    def constant(self, value: Number, like: Sequence[Expr], element: Attribute | None) -> Expr:
        return Expr.constant(value, element or (None if like else self.result))

    def convert(self, value: Expr, target: Attribute | None) -> Expr:
        return convert(value, target or self.result)

    def bitcast(self, value: Expr, target: Attribute) -> Expr:
        return bitcast(value, target)

    def apply(self, kind: Primitive, args: Sequence[Expr]) -> Expr:
        return Expr(kind, tuple(args))


def substitute(expr: Expr, arguments: Sequence[Expr], result: Attribute) -> Expr:
    """
    Returns the expression of an operator whose result has the element type `result`, over
    expressions instead of operands. Conversions and constants that have the result's type name it,
    so that they keep it in a larger expression.
    """
    return fold(expr, arguments, Substitution(result))


def substitute_all(results: Sequence[Expr], arguments: Sequence[Expr]) -> tuple[Expr, ...]:
    """Expressions whose types are known, over expressions instead of operands."""
    found = fold_in_order(in_order_of_creation(results), arguments, Substitution(None))
    return tuple(found[r] for r in results)
