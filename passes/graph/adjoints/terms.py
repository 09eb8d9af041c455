"""Terms of formulas: their text, terms in the place of loops, and scalar expressions over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntegerType, f64, i1, i64
from xdsl.ir import Attribute

from ....glow_dialects.formula import syntax, typing
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
    Stage,
    Term,
    walk,
    with_parts,
)
from ....glow_dialects.formula.syntax import (
    Binary,
    Bound,
    Call,
    Choice,
    ElementAccess,
    Equation,
    Expression,
    Index,
    Name,
    Reduction,
    Unary,
)
from ....glow_dialects.scalar import COMPARISONS, Number, Primitive

_SIGNS: Mapping[Primitive | IndexOp, str] = {
    Primitive.ADD: "+",
    Primitive.SUB: "-",
    Primitive.MUL: "*",
    Primitive.DIV: "/",
    Primitive.POW: "**",
    Primitive.EQ: "==",
    Primitive.LT: "<",
    Primitive.LE: "<=",
    Primitive.AND: "and",
    Primitive.OR: "or",
    IndexOp.FLOOR_DIV: "//",
    IndexOp.MODULO: "%",
}
_ROUNDINGS = frozenset(typing.ROUNDINGS.values())
_FUNCTIONS = {Primitive.MAXIMUM: "max", Primitive.MINIMUM: "min", Primitive.ROUND_EVEN: "round"}
_REDUCTIONS = {
    Primitive.ADD: "sum",
    Primitive.MUL: "prod",
    Primitive.MAXIMUM: "max",
    Primitive.MINIMUM: "min",
}


def substituted(term: Term, loops: Mapping[Loop, Term]) -> Term:
    """
    Returns a term with other terms in the place of loops. What it then reads out of bounds is 0.
    """
    match term:
        case LoopValue():
            return loops.get(term.loop, term)
        case Read():
            indices = tuple(substituted(t, loops) for t in term.indices)
            return _read_inside(replace(term, indices=indices))
        case _:
            return with_parts(term, lambda part: substituted(part, loops))


def _read_inside(read: Read) -> Read:
    inside = all(_is_within(i, n) for i, n in zip(read.indices, read.shape, strict=True))
    if read.outside is not None or inside or isinstance(read.type, NumberKind):
        return read
    return replace(read, outside=Constant(read.type, read.at, 0))


def _is_within(index: Term, size: int) -> bool:
    low, high = interval(index)
    return low >= 0 and high < size


class TermAlgebra:
    """Builds terms for the primitives of scalar expressions, without products by 1."""

    def constant(self, value: Number, like: Sequence[Term], element: Attribute | None) -> Term:
        t = element or next((a.type for a in like), NumberKind.REAL)
        return Constant(t, 0, value)

    def convert(self, value: Term, target: Attribute | None) -> Term:
        return value if target is None else typing.converted(value, target, value.at)

    def bitcast(self, value: Term, target: Attribute) -> Term:
        raise ValueError("formulas have no bitcasts")

    def apply(self, kind: Primitive, args: Sequence[Term]) -> Term:
        if kind is Primitive.MUL and (one := [a for a in args if _is_number(a, 1)]):
            return args[1] if args[0] is one[0] else args[0]
        if kind is Primitive.ADD and (zero := [a for a in args if _is_number(a, 0)]):
            return args[1] if args[0] is zero[0] else args[0]
        if kind in COMPARISONS:
            t = i1
        else:
            t = args[1].type if kind is Primitive.SELECT else args[0].type
        return Apply(t, args[0].at, kind, tuple(args))


def _is_number(term: Term, value: int) -> bool:
    return isinstance(term, Constant) and term.value == value


class Text:
    """
    The formulas that say what terms compute. `name` gives the names of operands and stages; loops
    are named by number.
    """

    def __init__(self, name: Callable[[int | Stage], str]):
        self._name = name
        self._loops: dict[Loop, str] = {}
        self._in_index = False

    def formula(self, places: Sequence[Loop | None], value: Term) -> str:
        """Returns `y[i, 0] = value for i < 5`"""
        left = tuple(Index(syntax.Number(0) if p is None else self._loop(p)) for p in places)
        bounds = tuple(self._bound(p) for p in places if p is not None)
        return str(Equation("y", left, self._term(value), bounds))

    def _loop(self, loop: Loop) -> Name:
        return Name(self._loops.setdefault(loop, f"i{len(self._loops)}"))

    def _bound(self, loop: Loop) -> Bound:
        return Bound(self._loop(loop), syntax.Number(loop.size))

    def _index(self, term: Term) -> Expression:
        """Returns an index, in which elements are whole numbers of any size."""
        around, self._in_index = self._in_index, True
        found = self._term(term)
        self._in_index = around
        return found

    def _term(self, term: Term) -> Expression:
        match term:
            case Constant():
                return _constant(term)
            case LoopValue():
                return self._loop(term.loop)
            case Read():
                beyond = None if term.outside is None else self._term(term.outside)
                indices = tuple(Index(self._index(i)) for i in term.indices)
                return ElementAccess(self._name(term.source), indices, beyond)
            case Convert():
                inner, element = self._term(term.operand), self._stored_type(term)
                return inner if element is None else Call(str(element), (inner,))
            case Reduce():
                bounds = tuple(map(self._bound, term.over))
                body = self._term(term.body)
                return Reduction(_REDUCTIONS[term.combine], bounds, body) if bounds else body
            case Apply():
                args = tuple(map(self._term, term.arguments))
                if self._in_index or term.type is not NumberKind.INTEGER or not _has_reads(term):
                    return _applied(term, args)
                if isinstance(term.kind, IndexOp):
                    return _quotient_or_rest(term.kind, *args)
                found = _applied(term, args)
                return Call("i64", (found,)) if term.kind in _ROUNDINGS else found

    def _stored_type(self, term: Convert) -> Attribute | None:
        """
        Returns the element type to which the text converts; None where no conversion is needed.
        Whole numbers of any size are i64 outside of indices, and reals f64, if they depend on what
        is read.
        """
        if isinstance(term.type, Attribute):
            return term.type
        if self._in_index or not _has_reads(term):
            return None
        if term.type is NumberKind.REAL:
            return f64
        return i64 if term.operand.type != i64 else None


def _has_reads(term: Term) -> bool:
    return any(isinstance(t, Read) for t in walk(term))


def _quotient_or_rest(kind: IndexOp, value: Expression, divisor: Expression) -> Expression:
    """Returns a quotient of i64, rounded down, or the rest. `/` rounds towards zero."""
    assert isinstance(divisor, syntax.Number)
    below = Binary("-", value, syntax.Number(divisor.value - 1))
    is_negative = Binary("<", value, syntax.Number(0))
    quotient = Binary("/", Choice(below, is_negative, value), divisor)
    if kind is IndexOp.FLOOR_DIV:
        return quotient
    return Binary("-", value, Binary("*", quotient, divisor))


def _constant(term: Constant) -> Expression:
    zero, value = syntax.Number(0), term.value
    if term.type == i1:
        return Binary("==", zero, syntax.Number(0 if value else 1))
    is_float = isinstance(term.type, Attribute) and not isinstance(term.type, IntegerType)
    number = syntax.Number(abs(float(value) if is_float else value))
    return Unary("-", number) if value < 0 else number


def _applied(term: Apply, args: tuple[Expression, ...]) -> Expression:
    if term.kind is Primitive.SELECT:
        return Choice(args[1], args[0], args[2])
    if term.kind in (Primitive.NOT, Primitive.NEG):
        return Unary("not" if term.kind is Primitive.NOT else "-", args[0])
    if term.kind in _SIGNS:
        return Binary(_SIGNS[term.kind], args[0], args[1])
    assert isinstance(term.kind, Primitive)
    return Call(_FUNCTIONS.get(term.kind, term.kind.value), args)
