"""The values that an index may have: intervals, computed with interval arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, floor, inf, isfinite
from typing import TypeAlias

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ..elements import stored_values
from ..extents import Extent
from ..extremes import greatest, least
from ..scalar import Primitive
from .statement import (
    Affine,
    Apply,
    Constant,
    Convert,
    IndexOp,
    LoopValue,
    NumberKind,
    Read,
    Reduce,
    Term,
    affine,
)

Interval: TypeAlias = "tuple[float, float]"
"""The lowest and the highest value, both included."""
ANYTHING: Interval = (-inf, inf)


def interval(term: Term) -> Interval:
    """Bounds on the values of a term, where all of its loops have values."""
    form = affine(term)
    if form is not None:
        return of_affine(form)
    found = _of_parts(term)
    # indices have 64 bits: what leaves them wraps around, to either side
    wraps = term.type is NumberKind.INTEGER and not all(map(_is_index, found))
    return stored_values(i64) if wraps else found


def _is_index(end: float | Extent) -> bool:
    """Returns whether a bound is a number of 64 bits. A size that depends on symbols is one."""
    low, high = stored_values(i64)
    return isinstance(end, Extent) or low <= end <= high


def _of_parts(term: Term) -> Interval:
    """Returns the bounds that follow from those of a term's parts, in numbers of any size."""
    match term:
        case Constant():
            return (term.value, term.value)
        case LoopValue():
            return (0, term.loop.size - 1)
        case Convert():
            low, high = interval(term.operand)
            # casts of integers are exact; the result of casts of other types is not known
            return (
                (low, high)
                if term.operand.type is NumberKind.INTEGER
                else _stored(term.operand.type)
            )
        case Apply():
            rule = _RULES.get(term.kind)
            return ANYTHING if rule is None else rule(*map(interval, term.arguments))
        case Read():
            return _stored(term.type)
        case Reduce() if term.combine in (Primitive.MAXIMUM, Primitive.MINIMUM):
            return interval(term.body) if all(loop.size for loop in term.over) else ANYTHING
    return ANYTHING


def of_affine(form: Affine) -> Interval:
    ends = [c * (loop.size - 1) for loop, c in form.terms.items()]
    return (
        form.constant + sum(least(end, 0) for end in ends),
        form.constant + sum(greatest(end, 0) for end in ends),
    )


def _stored(t: NumberKind | Attribute) -> Interval:
    """Returns the range of values that memory may hold."""
    return ANYTHING if isinstance(t, NumberKind) else stored_values(t)


def _product(a: Interval, b: Interval) -> Interval:
    # 0 * inf is 0 here: the end is never reached
    ends = [x * y if x and y else 0 for x in a for y in b]
    return least(*ends), greatest(*ends)


def _quotient(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0 <= b[1]:
        return ANYTHING
    ends = [x / y for x in a for y in b]
    return least(*ends), greatest(*ends)


def _whole(a: Interval, rounded: Callable[[float], int]) -> Interval:
    low, high = (rounded(x) if isfinite(x) else x for x in a)
    return low, high


def _floor_div(a: Interval, b: Interval) -> Interval:
    if b[0] < 1:
        return ANYTHING
    ends = [x // y if isfinite(x) else x for x in a for y in b]
    return least(*ends), greatest(*ends)


def _modulo(a: Interval, b: Interval) -> Interval:
    if b[0] < 1:
        return ANYTHING
    return (a[0], a[1]) if 0 <= a[0] and a[1] < b[0] else (0, b[1] - 1)


def _absolute(a: Interval) -> Interval:
    return (0 if a[0] <= 0 <= a[1] else least(*map(abs, a)), greatest(*map(abs, a)))


_RULES: Mapping[Primitive | IndexOp, Callable[..., Interval]] = {
    Primitive.ADD: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    Primitive.SUB: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    Primitive.MUL: _product,
    Primitive.DIV: _quotient,
    Primitive.NEG: lambda a: (-a[1], -a[0]),
    Primitive.ABS: _absolute,
    Primitive.MAXIMUM: lambda a, b: (greatest(a[0], b[0]), greatest(a[1], b[1])),
    Primitive.MINIMUM: lambda a, b: (least(a[0], b[0]), least(a[1], b[1])),
    Primitive.FLOOR: lambda a: _whole(a, floor),
    Primitive.CEIL: lambda a: _whole(a, ceil),
    Primitive.ROUND_EVEN: lambda a: _whole(a, round),
    Primitive.SELECT: lambda c, a, b: (least(a[0], b[0]), greatest(a[1], b[1])),
    IndexOp.FLOOR_DIV: _floor_div,
    IndexOp.MODULO: _modulo,
}
