"""
The construction of terms: types are checked and unified, and arithmetic on constants is done at
once.

Numbers and indices have no element type of their own; they adapt to the terms that they are
combined with. 16-bit floats compute in f32.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from typing import Any, TypeGuard

from xdsl.dialects.builtin import (
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from ..elements import compute_type, is_float, is_integer
from ..extents import Extent
from ..extremes import greatest, least
from ..integers import u8, u16, u32, u64
from ..scalar import Primitive
from .statement import Apply, Constant, Convert, IndexOp, NumberKind, Term, Type

CONVERSIONS: Mapping[str, Attribute] = {
    str(t): t
    for t in (
        *(f16, bf16, f32, f64, i8, i16, i32, i64),
        *(u8, u16, u32, u64),
    )
}
"""Functions that convert, by the name of the element type."""
_LARGEST_EXPONENT = 1024
FLOAT_FUNCTIONS = {
    name: Primitive(name) for name in ("exp", "log", "sin", "cos", "tanh", "erf", "sqrt")
}
ROUNDINGS = {
    "floor": Primitive.FLOOR,
    "ceil": Primitive.CEIL,
    "round": Primitive.ROUND_EVEN,
}
ARITHMETIC = {
    "+": Primitive.ADD,
    "-": Primitive.SUB,
    "*": Primitive.MUL,
    "/": Primitive.DIV,
    "**": Primitive.POW,
    "max": Primitive.MAXIMUM,
    "min": Primitive.MINIMUM,
}
INDEX_OPERATORS = {"//": IndexOp.FLOOR_DIV, "%": IndexOp.MODULO}
_COMPARED = {"<": (Primitive.LT, False), "<=": (Primitive.LE, False)}
_COMPARED |= {">": (Primitive.LT, True), ">=": (Primitive.LE, True)}
_COMPARED |= {"==": (Primitive.EQ, False), "!=": (Primitive.EQ, False)}
_FOLDED: Mapping[Primitive | IndexOp, Callable[..., Any]] = {
    Primitive.ADD: operator.add,
    Primitive.SUB: operator.sub,
    Primitive.MUL: operator.mul,
    Primitive.DIV: operator.truediv,
    Primitive.POW: operator.pow,
    Primitive.MAXIMUM: greatest,
    Primitive.MINIMUM: least,
    Primitive.NEG: operator.neg,
    Primitive.ABS: abs,
    Primitive.FLOOR: floor,
    Primitive.CEIL: ceil,
    Primitive.ROUND_EVEN: round,
    IndexOp.FLOOR_DIV: operator.floordiv,
    IndexOp.MODULO: operator.mod,
}


class Mismatch(Exception):
    """Terms whose types do not fit; the message has the remedy."""


def described(t: Type) -> str:
    if isinstance(t, NumberKind):
        return "an index" if t is NumberKind.INTEGER else "a number"
    return "a condition" if t == i1 else str(t)


def constant(value: float, at: int) -> Constant:
    whole = isinstance(value, int | Extent)
    return Constant(NumberKind.INTEGER if whole else NumberKind.REAL, at, value)


def true(at: int) -> Constant:
    return Constant(i1, at, 1)


def adapted(term: Term, t: Type) -> Term:
    """Returns a term of a kind in another type, if it can be one."""
    if term.type == t:
        return term
    if not isinstance(term.type, NumberKind):
        target = t if str(t) in CONVERSIONS else f32
        remedy = "compare it, as in x > 0" if t == i1 else f"convert it, as with {target}(...)"
        raise Mismatch(f"expected {described(t)}, found {described(term.type)}; {remedy}")
    whole = isinstance(t, Attribute) and is_integer(t)
    if t == i1 or (whole and term.type is NumberKind.REAL) or t is NumberKind.INTEGER:
        raise Mismatch(f"expected {described(t)}, found {described(term.type)}")
    if isinstance(term, Constant) and not isinstance(term.value, Extent):
        value = int(term.value) if whole else float(term.value)
        return Constant(t, term.at, value)
    return Convert(t, term.at, term)


def unified(a: Term, b: Term) -> tuple[Term, Term]:
    """Returns two terms in the one type that both can have."""
    if a.type == b.type:
        return a, b
    if isinstance(a.type, NumberKind) and isinstance(b.type, NumberKind):
        return adapted(a, NumberKind.REAL), adapted(b, NumberKind.REAL)
    if isinstance(a.type, NumberKind):
        return adapted(a, b.type), b
    if isinstance(b.type, NumberKind):
        return a, adapted(b, a.type)
    target = next((t for t in (a.type, b.type) if is_float(t)), f32)
    raise Mismatch(
        f"expected operands of one type, found {described(a.type)} and {described(b.type)}; "
        f"convert one, as with {target}(...)"
    )


def applied(kind: Primitive | IndexOp, t: Type, at: int, *arguments: Term) -> Term:
    """
    Returns an operation on terms whose types fit, done at once on constants without element type.
    """
    values = [a.value for a in arguments if isinstance(a, Constant)]
    if len(values) == len(arguments) and isinstance(t, NumberKind) and kind in _FOLDED:
        return Constant(t, at, _folded(kind, values))
    return Apply(t, at, kind, arguments)


def _folded(kind: Primitive | IndexOp, values: Sequence[int | float]) -> int | float:
    numbers = ", ".join(map(str, values))
    if kind is Primitive.POW and abs(values[1]) > _LARGEST_EXPONENT:
        raise Mismatch(f"expected an exponent of at most {_LARGEST_EXPONENT}, found {numbers}")
    try:
        found = _FOLDED[kind](*values)
    except (ArithmeticError, ValueError):
        raise Mismatch(f"{kind} is not defined for {numbers}") from None
    if isinstance(found, complex) or (isinstance(found, int) and abs(found) >= 2**63):
        raise Mismatch(f"{kind} of {numbers} is no number of 64 bits")
    return found


def arithmetic(sign: str, a: Term, b: Term, at: int) -> Term:
    """Returns `a sign b`, or `sign(a, b)`"""
    a, b = unified(a, b)
    if a.type == i1:
        raise Mismatch(f"expected numbers for {sign!r}, found conditions")
    if sign in INDEX_OPERATORS:
        if a.type is not NumberKind.INTEGER or not isinstance(b, Constant) or b.value < 1:
            raise Mismatch(f"expected an index and a positive whole number for {sign!r}")
        if b.value == 1:
            return a if sign == "//" else Constant(NumberKind.INTEGER, at, 0)
        return applied(INDEX_OPERATORS[sign], NumberKind.INTEGER, at, a, b)
    if sign in ("/", "**") and a.type is NumberKind.INTEGER:
        exact = sign == "**" and isinstance(b, Constant) and b.value >= 0
        if not (exact and isinstance(a, Constant)):
            a, b = adapted(a, NumberKind.REAL), adapted(b, NumberKind.REAL)
    if sign == "**" and isinstance(a.type, Attribute) and is_integer(a.type):
        raise Mismatch(f"expected floats for '**', found {a.type}")
    if sign == "**" and isinstance(b, Constant) and b.value == 2:
        return applied(Primitive.MUL, a.type, at, a, a)
    return applied(ARITHMETIC[sign], a.type, at, a, b)


def _is_number(term: Term) -> TypeGuard[Constant]:
    return isinstance(term, Constant) and not isinstance(term.value, Extent)


def compared(sign: str, a: Term, b: Term, at: int) -> Term:
    a, b = unified(a, b)
    kind, swapped = _COMPARED[sign]
    if sign == "==" and _is_number(a) and _is_number(b):
        return Constant(i1, at, int(a.value == b.value))
    found = Apply(i1, at, kind, (b, a) if swapped else (a, b))
    return Apply(i1, at, Primitive.NOT, (found,)) if sign == "!=" else found


def combined_conditions(sign: str, a: Term, b: Term, at: int) -> Term:
    a, b = adapted(a, i1), adapted(b, i1)
    for known, other in ((a, b), (b, a)):
        if isinstance(known, Constant):
            return other if bool(known.value) is (sign == "and") else known
    kind = Primitive.AND if sign == "and" else Primitive.OR
    return Apply(i1, at, kind, (a, b))


def negated(sign: str, a: Term, at: int) -> Term:
    if sign == "not":
        return Apply(i1, at, Primitive.NOT, (adapted(a, i1),))
    if a.type == i1:
        raise Mismatch("expected a number for '-', found a condition")
    return applied(Primitive.NEG, a.type, at, a)


def chosen(condition: Term, then: Term, otherwise: Term, at: int) -> Term:
    then, otherwise = unified(then, otherwise)
    condition = adapted(condition, i1)
    if isinstance(condition, Constant):
        return then if condition.value else otherwise
    return Apply(then.type, at, Primitive.SELECT, (condition, then, otherwise))


def function(name: str, a: Term, at: int) -> Term:
    """Returns a function of one value."""
    if a.type == i1:
        raise Mismatch(f"expected a number for {name}, found a condition")
    if name in CONVERSIONS:
        return converted(a, CONVERSIONS[name], at)
    if name == "abs":
        return applied(Primitive.ABS, a.type, at, a)
    if name in ROUNDINGS:
        if a.type is NumberKind.INTEGER:
            return a
        return applied(
            ROUNDINGS[name], NumberKind.INTEGER if a.type is NumberKind.REAL else a.type, at, a
        )
    a = adapted(a, NumberKind.REAL) if isinstance(a.type, NumberKind) else a
    if isinstance(a.type, Attribute) and not is_float(a.type):
        raise Mismatch(f"expected a float for {name}, found {a.type}; convert it, as with f32(...)")
    return applied(FLOAT_FUNCTIONS[name], a.type, at, a)


def converted(a: Term, element: Attribute, at: int) -> Term:
    """
    Returns a term as an element of a type, rounded to it, in the type in which such elements
    compute.
    """
    t = compute_type(element)
    if isinstance(a, Constant) and (is_float(t) or isinstance(a.value, int)):
        return adapted(a, t)
    if a.type == t and element == t:
        return a
    return Convert(element, at, a) if element == t else Convert(t, at, Convert(element, at, a))
