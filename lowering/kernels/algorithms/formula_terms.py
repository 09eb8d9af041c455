"""Terms of formulas, as far as nests can compute them: reductions, choices and indices in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce

from xdsl.dialects.builtin import i1

from ....glow_dialects.formula.orders import same_values
from ....glow_dialects.formula.ranges import interval
from ....glow_dialects.formula.statement import (
    Apply,
    Constant,
    Convert,
    Loop,
    NumberKind,
    Read,
    Reduce,
    Term,
    affine,
    points,
    walk,
)
from ....glow_dialects.scalar import Primitive

_MANY_POINTS = 8
SLOW = {
    *(Primitive.DIV, Primitive.SQRT, Primitive.EXP, Primitive.LOG, Primitive.SIN, Primitive.COS),
    *(Primitive.TANH, Primitive.ERF, Primitive.POW),
}
"""Operations whose result is stored in memory if many points share it."""


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
