"""
Bounds of reductions that operands have: those of segments of a list, and of regions of an image.

`sum(i) (x[i] if i >= first[r] and i < end[r] else 0)` looks at all elements for each `r`. The
conditions say where the loop over `i` begins and ends, so the nest has a range instead of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf

from xdsl.dialects.builtin import i64

from ....glow_dialects.elements import is_integer, stored_values
from ....glow_dialects.formula.ranges import interval
from ....glow_dialects.formula.segments import conjuncts, is_identity, keeps_identity
from ....glow_dialects.formula.statement import (
    Apply,
    Constant,
    Convert,
    Loop,
    NumberKind,
    Read,
    Reduce,
    Term,
    Type,
    affine,
    points,
    with_parts,
)
from ....glow_dialects.glow_nest.nest import Combine, identity
from ....glow_dialects.scalar import Primitive
from ..schedules.blocking import repays_range
from .formula_terms import chosen, dimension_of, element_of_term, index_number, index_term, reads_of


@dataclass(frozen=True)
class Bounds:
    """The values of a loop that count: those from `first` on, and before `end`."""

    loop: Loop
    first: Term
    end: Term


@dataclass(frozen=True)
class _Limit:
    """The first value of a loop that counts, or the one after the last."""

    loop: Loop
    is_first: bool
    number: Term


def without_bounds(
    value: Term, reduction: Reduce | None, loops: Sequence[Loop]
) -> tuple[Term, Bounds | None]:
    """
    Returns the value of a stage with these loops, in which a reduction has bounds of a loop in
    place of conditions. The value stays what it is if there are none, or if they do not repay.
    """
    if reduction is None:
        return value, None
    conditions, body = _apart(reduction.body, reduction.combine)
    limits = {c: found for c in conditions if (found := _limit(c, reduction.over)) is not None}
    loop = next((limit.loop for limit in limits.values()), None)
    own = [limit for limit in limits.values() if limit.loop is loop]
    if loop is None or not _repays(own, body, loops):
        return value, None
    neutral = identity(Combine(reduction.combine.value), element_of_term(body))
    rest = [c for c in conditions if limits.get(c) not in own]
    inner = replace(reduction, body=chosen(rest, body, Constant(body.type, body.at, neutral)))
    first, end = (_joined(own, loop, is_first) for is_first in (True, False))
    return _replaced(value, reduction, inner), Bounds(loop, first, end)


def _repays(own: Sequence[_Limit], body: Term, loops: Sequence[Loop]) -> bool:
    """Returns whether a loop with bounds, along which no vectors lie, repays."""
    of_bounds = frozenset().union(*(limit.number.loops for limit in own))
    along = [
        loop.size
        for loop in loops
        if loop not in of_bounds
        and any(dimension_of(r, loop) == len(r.shape) - 1 for r in reads_of(body))
    ]
    has_both = len({limit.is_first for limit in own}) == 2
    return repays_range(max(along, default=1), points(tuple(of_bounds)) if has_both else 1)


def _replaced(term: Term, old: Reduce, new: Reduce) -> Term:
    return new if term is old else with_parts(term, lambda part: _replaced(part, old, new))


# conditions


def _apart(term: Term, combine: Primitive) -> tuple[list[Term], Term]:
    """Returns conditions without which a term is the identity of a reduction, and the rest."""
    match term:
        case Apply(kind=Primitive.SELECT, arguments=(condition, then, Constant() as other)) if (
            is_identity(other.value, combine, term.type)
        ):
            conditions, value = _apart(then, combine)
            return [*conjuncts(condition), *conditions], value
        case Convert() if keeps_identity(term, combine):
            conditions, value = _apart(term.operand, combine)
            return conditions, replace(term, operand=value)
    return [], term


# limits


def _limit(term: Term, over: Sequence[Loop]) -> _Limit | None:
    """Returns the limit of a loop that a condition states; None for other conditions."""
    match term:
        case Apply(kind=Primitive.LE | Primitive.LT as kind, arguments=(a, b)):
            less = int(kind is Primitive.LT)
            for counted, other, is_first in ((b, a, True), (a, b, False)):
                if (found := _counted(counted, other, over)) is not None:
                    loop, constant = found
                    added = (less if is_first else 1 - less) - constant
                    return _Limit(loop, is_first, _moved(other, added, loop.size))
    return None


def _counted(side: Term, other: Term, over: Sequence[Loop]) -> tuple[Loop, int] | None:
    """
    Returns a loop of a reduction and a constant, of which one side of a condition is the sum, if
    the other side is a whole number that depends on operands and not on the reduction.
    """
    value = side.operand if isinstance(side, Convert) else side
    form = affine(value)
    if form is None or tuple(form.terms.values()) != (1,):
        return None
    (loop,) = form.terms
    (low, high), (least, most) = interval(value), _whole_numbers(side.type)
    (first, last), (lowest, highest) = _whole_numbers(other.type), _whole_numbers(i64)
    is_exact = least <= low and high <= most and lowest <= first and last <= highest
    is_fixed = other.loops.isdisjoint(over) and bool(reads_of(other))
    return (loop, int(form.constant)) if loop in over and is_exact and is_fixed else None


def _whole_numbers(t: Type) -> tuple[float, float]:
    """Returns the range of a type of whole numbers, and an empty one for others."""
    element = i64 if t is NumberKind.INTEGER else t
    if isinstance(element, NumberKind) or not is_integer(element):
        return inf, -inf
    return stored_values(element)


def _moved(number: Term, added: int, size: int) -> Term:
    """Returns a number plus a constant, as far as it is within the size of a loop."""
    if not added and isinstance(number, Read):
        return number
    whole = _as_index(number)
    low, high = (index_number(number.at, n - added) for n in (0, size))
    clamped = index_term(Primitive.MAXIMUM, index_term(Primitive.MINIMUM, whole, high), low)
    return index_term(Primitive.ADD, clamped, index_number(number.at, added))


def _joined(own: Sequence[_Limit], loop: Loop, is_first: bool) -> Term:
    """Returns the innermost of the limits at one side."""
    numbers = [limit.number for limit in own if limit.is_first == is_first]
    if not numbers:
        return index_number(own[0].number.at, 0 if is_first else loop.size)
    kind = Primitive.MAXIMUM if is_first else Primitive.MINIMUM
    return reduce(lambda a, b: index_term(kind, _as_index(a), _as_index(b)), numbers)


def _as_index(number: Term) -> Term:
    return Convert(NumberKind.INTEGER, number.at, number)
