"""
Terms of formulas, as far as nests can compute them: reductions, choices, indices and types in them,
and their scalar expressions (`Expr`), over the elements that are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce

from xdsl.dialects.builtin import f32, f64, i1, i32, i64
from xdsl.ir import Attribute

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.formula.orders import same_values
from ....glow_dialects.formula.ranges import interval
from ....glow_dialects.formula.statement import (
    Apply,
    Constant,
    Convert,
    IndexOp,
    Loop,
    LoopValue,
    NumberKind,
    Read,
    Reduce,
    Term,
    affine,
    points,
    walk,
)
from ....glow_dialects.glow_nest.affine import Access
from ....glow_dialects.scalar import Expr, Primitive, apply, convert, select, sqrt

_MANY_POINTS = 8
SLOW = {
    *(Primitive.DIV, Primitive.SQRT, Primitive.EXP, Primitive.LOG, Primitive.SIN, Primitive.COS),
    *(Primitive.TANH, Primitive.ERF, Primitive.POW),
}
"""Operations whose result is stored in memory if many points share it."""
_EXACT_IN_F32 = 1 << 24
"""Up to this number, f32 has all integers."""
Argument = Callable[["LoopValue | Read"], Access]
"""The place where an element, or the value of a loop variable, is read."""


@dataclass(frozen=True)
class Scope:
    """The points at which a term is computed."""

    loops: frozenset[Loop]
    known: dict[Term, Term] = field(default_factory=dict)
    """The value of each term that is known already."""

    def inside(self, reduction: Reduce) -> Scope:
        return Scope(self.loops | frozenset(reduction.over))

    def repeats(self, term: Apply) -> bool:
        """Returns whether a slow operation would give the same at many points."""
        return term.kind in SLOW and points(tuple(self.loops - term.loops)) >= _MANY_POINTS


def outermost_reductions(term: Term) -> list[Reduce]:
    """Returns the reductions of a term that are not in others."""
    if isinstance(term, Reduce):
        return [term]
    return [r for part in term.parts for r in outermost_reductions(part)]


def reduction_in(term: Term) -> Reduce | None:
    return next(iter(outermost_reductions(term)), None)


def reads_of(value: Term) -> list[Read]:
    """Returns the elements that a term reads."""
    return [t for t in walk(value) if isinstance(t, Read)]


def dimension_of(term: Read, loop: Loop) -> int | None:
    """Returns the only dimension of which the value of a loop is the index, in its bounds."""
    found = [d for d, index in enumerate(term.indices) if loop in index.loops]
    if len(found) != 1:
        return None
    form, (d,) = affine(term.indices[found[0]]), found
    is_value = form is not None and form.terms == {loop: 1} and form.constant == 0
    return d if is_value and loop.size <= term.shape[d] else None


# indices and choices


def index_number(at: int, value: int) -> Term:
    return Constant(NumberKind.INTEGER, at, value)


def settled(index: Term) -> Term:
    """Returns an index that is not affine as a number, if it can only have one value."""
    low, high = interval(index)
    return index_number(index.at, int(low)) if low == high and affine(index) is None else index


def index_term(kind: Primitive, *arguments: Term) -> Term:
    """Returns an operation on indices."""
    return Apply(NumberKind.INTEGER, arguments[0].at, kind, arguments)


def _condition(kind: Primitive, a: Term, b: Term) -> Term:
    return Apply(i1, a.at, kind, (a, b))


def chosen(conditions: Sequence[Term], then: Term, otherwise: Term) -> Term:
    """Returns a term where all conditions hold, and another one elsewhere."""
    if not conditions:
        return then
    condition = reduce(partial(_condition, Primitive.AND), conditions)
    return Apply(then.type, then.at, Primitive.SELECT, (condition, then, otherwise))


def chosen_by_bounds(term: Read, outside: Term) -> Term:
    """
    Returns a read with indices within the bounds, or the value beyond the bounds, by the
    conditions.
    """
    conditions: list[Term] = []
    indices = list(term.indices)
    for d, (index, size) in enumerate(zip(term.indices, term.shape, strict=True)):
        low, high = interval(index)
        zero, end = index_number(term.at, 0), index_number(term.at, size - 1)
        if low < 0:
            conditions.append(_condition(Primitive.LE, zero, index))
            indices[d] = index_term(Primitive.MAXIMUM, indices[d], zero)
        if high >= size:
            conditions.append(_condition(Primitive.LE, index, end))
            indices[d] = index_term(Primitive.MINIMUM, indices[d], end)
    inside = replace(term, indices=tuple(indices), outside=None)
    return chosen(conditions, inside, outside)


def index_in_memory(term: Term, size: int) -> Read | None:
    """
    Returns the index that a term reads and keeps within a size as accesses do it (`Indirect`):
    `clamp(i if i >= 0 else i + size, 0, size - 1)`, or the index itself if it is always within the
    size. None for other terms.
    """
    found = next((part for part in walk(term) if isinstance(part, Read)), None)
    if found is None:
        return None
    zero, length, last = (index_number(term.at, n) for n in (0, size, size - 1))
    index = Convert(NumberKind.INTEGER, term.at, found)
    low, high = interval(index)
    # where both terms have the read, its loops stand for themselves
    if 0 <= low and high < size and same_values(term, index):
        return found
    from_end = index_term(Primitive.ADD, index, length)
    chosen = index_term(Primitive.SELECT, _condition(Primitive.LE, zero, index), index, from_end)
    clamped = index_term(Primitive.MAXIMUM, index_term(Primitive.MINIMUM, chosen, last), zero)
    return found if same_values(term, clamped) else None


# types


def integer_type(term: Term) -> Attribute:
    """Returns the type in which the indices in a term compute: i32 if that holds all of them."""
    whole = (t for t in walk(term) if t.type in (NumberKind.INTEGER, i64))
    return i64 if any(abs(bound) >= 2**31 for t in whole for bound in interval(t)) else i32


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


# expressions


class Expressions:
    """The expression of a term. The operands that it needs come in order of first use."""

    def __init__(self, term: Term, argument: Argument):
        self.accesses: list[Access] = []
        self._integer = integer_type(term)
        self._argument = argument
        self._reduction = reduction_in(term)
        """Its value is the first argument."""
        self._known: dict[Term, Expr] = {}
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
