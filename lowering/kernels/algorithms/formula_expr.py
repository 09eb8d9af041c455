"""Scalar expressions of formulas: from terms to `Expr`, over the elements that are read."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.formula.ranges import interval
from ....glow_dialects.formula.statement import (
    Apply,
    Constant,
    Convert,
    IndexOp,
    LoopValue,
    NumberKind,
    Read,
    Reduce,
    Term,
    points,
    walk,
)
from ....glow_dialects.glow_nest.affine import Access
from ....glow_dialects.scalar import Expr, Primitive, apply, convert, select, sqrt

_EXACT_IN_F32 = 1 << 24
"""Up to this number, f32 has all integers."""
Argument = Callable[["LoopValue | Read"], Access]
"""The place where an element, or the value of a loop variable, is read."""


def integer_type(term: Term) -> Attribute:
    """Returns the type in which the indices in a term compute: i32 if that holds all of them."""
    whole = [t for t in walk(term) if t.type in (NumberKind.INTEGER, i64)]
    reads = any(isinstance(t, Read) and t.type == i64 for t in whole)
    bounds = [b for t in whole for b in interval(t)]
    return i64 if reads or any(abs(b) >= 2**31 for b in bounds) else i32


def element_of_term(term: Term, integer: Attribute | None = None) -> Attribute:
    """Returns the element type of a term's value, of which indices may have a type `integer`."""
    if isinstance(term.type, Attribute):
        return term.type
    return f64 if term.type is NumberKind.REAL else integer or integer_type(term)


def factors_of(term: Reduce) -> tuple[Read, Read] | None:
    """Returns the elements whose products a reduction combines; None if it combines others."""
    if not (isinstance(term.body, Apply) and term.body.kind is Primitive.MUL):
        return None
    a, b = (
        f.operand if isinstance(f, Convert) and f.type == i32 else f for f in term.body.arguments
    )
    return (a, b) if isinstance(a, Read) and isinstance(b, Read) else None


def sum_type(term: Reduce) -> Attribute:
    """
    Returns the type in which a reduction computes: f32 for sums of products of narrow integers, as
    long as it holds each sum exactly.
    """
    element, factors = element_of_term(term), factors_of(term)
    if element != i32 or term.combine is not Primitive.ADD or factors is None:
        return element
    width = sum(8 * element_bytes(element_of_term(f)) for f in factors)
    return f32 if points(term.over) << (width - 1) <= _EXACT_IN_F32 else element


class Expressions:
    """The expression of a term. The operands that it needs come in order of first use."""

    def __init__(self, term: Term, argument: Argument, reduction: Reduce | None = None):
        self.accesses: list[Access] = []
        self._integer = integer_type(term)
        self._argument = argument
        self._reduction = reduction
        """Its value is the first argument."""
        self._known: dict[object, Expr] = {}
        self.expr = self._visit(term)

    def _type(self, term: Term) -> Attribute:
        return element_of_term(term, self._integer)

    def _visit(self, term: Term) -> Expr:
        if term not in self._known:
            self._known[term] = self._made(term)
        return self._known[term]

    def _made(self, term: Term) -> Expr:
        match term:
            case Constant():
                return Expr.constant(term.value, self._type(term))
            case Reduce():
                assert term is self._reduction
                value, element = Expr.argument(0), element_of_term(term)
                value = value if sum_type(term) == element else convert(value, element)
                return self._whole(term, value, element)
            case LoopValue() | Read():
                return self._read(term)
            case Convert():
                target = self._type(term)
                found = self._visit(term.operand)
                return found if self._type(term.operand) == target else convert(found, target)
            case Apply():
                return self._apply(term)

    def _read(self, term: LoopValue | Read) -> Expr:
        access = self._argument(term)
        found = Expr.argument(len(self.accesses) + (self._reduction is not None))
        self.accesses.append(access)
        return self._whole(term, found, access.element)

    def _whole(self, term: Term, value: Expr, element: Attribute) -> Expr:
        """Returns a value; if it is an index, in the type of the indices of this term."""
        if term.type is not NumberKind.INTEGER or element == self._integer:
            return value
        return convert(value, self._integer)

    def _apply(self, term: Apply) -> Expr:
        arguments = [self._visit(a) for a in term.arguments]
        if isinstance(term.kind, IndexOp):
            return _divided(term.kind, *arguments)
        exponent = term.arguments[-1]
        if term.kind is Primitive.POW and isinstance(exponent, Constant):
            return _power(arguments[0], arguments[1], exponent.value)
        found = apply(term.kind, *arguments)
        # rounding a real number to an index
        rounds = term.type is NumberKind.INTEGER and term.arguments[0].type is NumberKind.REAL
        return convert(found, self._integer) if rounds else found


def _power(base: Expr, exponent: Expr, value: float) -> Expr:
    """Returns a power; some usual exponents need only roots."""
    if value not in (0.5, 0.75):
        return apply(Primitive.POW, base, exponent)
    root = sqrt(base)
    return root if value == 0.5 else root * sqrt(root)


def _divided(kind: IndexOp, a: Expr, b: Expr) -> Expr:
    """
    Returns the quotient or the remainder by a positive number, rounded down; the primitive rounds
    to zero.
    """
    quotient = apply(Primitive.DIV, a, b)
    rest = a - quotient * b
    if kind is IndexOp.MODULO:
        return select(rest < 0, rest + b, rest)
    return select(rest < 0, quotient - 1, quotient)
