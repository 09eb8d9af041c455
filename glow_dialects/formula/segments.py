"""
Segments of a stage: points whose reductions skip the same terms, or for which conditions hold.

The windows of a pooling reach over the edges of its input, and what lies beyond the input does not
count. Along each dimension, the windows fall into segments: those that reach over the start of the
input, those inside, and those that reach over the end. The windows of a segment skip the same
elements. A stage for each combination of segments has loops over the elements that count alone, so
it reads nothing out of bounds, and its conditions are known. Where no reduction skips terms, loops
are cut where conditions on them alone change, as in `a[i] if i < 3 else b[i]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, product
from math import prod
from typing import TypeAlias

from xdsl.ir import Attribute

from ..elements import is_float, stored_values
from ..scalar import Primitive
from .ranges import of_affine
from .statement import (
    Affine,
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
    affine,
    points,
    walk,
    with_parts,
)

_MOST_SEGMENTS = 64
"""The most combinations of segments; each has code of its own."""
_MOST_CHOICES = 8
"""The same where conditions alone differ, which vectors may compute, too."""
_COMPARISONS: Mapping[Primitive | IndexOp, Sequence[int]] = {
    Primitive.LE: (0,),
    Primitive.LT: (1,),
    Primitive.EQ: (0, 1),
}
"""The numbers from which on `b - a` changes the result of comparing `a` with `b`: first to true."""


@dataclass(frozen=True)
class Segment:
    """A part of the points of a stage."""

    stage: Stage
    """The part as a stage, whose loops begin at 0."""
    starts: tuple[int, ...]
    """The place in each dimension of the result at which the part begins."""


_Range: TypeAlias = "tuple[int, int]"
"""The first value of a loop variable, and the number of its values."""
_Inner: TypeAlias = "tuple[Reduce, Loop]"
"""A loop of a reduction; several reductions may run over one loop."""
_Ranges: TypeAlias = "dict[Loop | _Inner, _Range]"


def segments(stage: Stage) -> Sequence[Segment]:
    """
    Returns the segments of a stage; the stage alone if none of its reductions skips terms, if the
    last loop, along which vectors lie, would have to be cut, or if there are too many segments.
    """
    bounds = list(_bounds(stage))
    if not bounds:
        cuts = _choices(stage)
    else:
        cuts = None if None in bounds else _cuts(stage, [b for b in bounds if b is not None])
    parts = [{}] if cuts is None else [_joined(part) for part in product(*cuts)]
    return [_segment(stage, ranges) for ranges in parts]


def _choices(stage: Stage) -> list[list[_Ranges]] | None:
    """Returns the ranges of loops, but the last one, in which conditions on one loop are known."""
    found = {loop: {0, loop.size} for loop in stage.loops[:-1]}
    for term in walk(stage.value):
        for loop, at in _changes(term):
            if loop in found and 0 < at < loop.size:
                found[loop].add(at)
    cuts: list[list[_Ranges]] = [
        [{loop: (start, end - start)} for start, end in pairwise(sorted(places))]
        for loop, places in found.items()
        if len(places) > 2
    ]
    return cuts if prod(map(len, cuts)) <= _MOST_CHOICES else None


def _changes(term: Term) -> Iterator[tuple[Loop, int]]:
    """Yields the loop that a term compares with a number, and the values where that changes."""
    if not isinstance(term, Apply) or term.kind not in _COMPARISONS:
        return
    a, b = term.arguments
    form = _difference(b, a)
    if form is None or len(form.terms) != 1:
        return
    ((loop, step),) = form.terms.items()
    for least in _COMPARISONS[term.kind]:
        first = least - form.constant
        yield loop, -(-first // step) if step > 0 else first // step + 1


@dataclass(frozen=True)
class _Bound:
    """A form that is not negative at terms that count, of a reduced loop and perhaps another."""

    form: Affine
    outer: Loop | None
    inner: _Inner


def _bounds(stage: Stage) -> Iterator[_Bound | None]:
    """Yields the bounds of all reductions; None for one of another form."""
    for term in walk(stage.value):
        if not isinstance(term, Reduce):
            continue
        for form in _forms(term.body, term.combine):
            inner = [loop for loop in form.terms if loop in term.over]
            outer = [loop for loop in form.terms if loop in stage.loops]
            if len(inner) == 1 and len(outer) == len(form.terms) - 1 <= 1:
                yield _Bound(form, outer[0] if outer else None, (term, inner[0]))
            else:
                yield None


def _forms(term: Term, combine: Primitive) -> Iterator[Affine]:
    """Yields forms that are all 0 or more where a term of a reduction differs from its identity."""
    match term:
        case Read(outside=Constant() as other) if is_identity(other.value, combine, term.type):
            for index, size in zip(term.indices, term.shape, strict=True):
                yield from _not_negative((index, 0, 1), (index, size - 1, -1))
        case Convert() if keeps_identity(term, combine):
            yield from _forms(term.operand, combine)
        case Apply(kind=Primitive.MUL, arguments=factors) if combine is Primitive.ADD:
            for factor in factors:
                yield from _forms(factor, combine)
        case Apply(kind=Primitive.SELECT, arguments=(condition, _, Constant() as other)):
            if is_identity(other.value, combine, term.type):
                yield from _conditions(condition)
        case _:
            return


def keeps_identity(term: Convert, combine: Primitive) -> bool:
    """Returns whether a conversion turns the identity of a reduction into that of its own type."""
    is_sum = combine is Primitive.ADD or combine is Primitive.MUL
    return is_sum or (_is_real(term.type) and _is_real(term.operand.type))


def is_identity(value: float, combine: Primitive, t: NumberKind | Attribute) -> bool:
    """Returns whether a value changes nothing when a reduction of a type combines it."""
    if combine is Primitive.ADD or combine is Primitive.MUL:
        return value == (0 if combine is Primitive.ADD else 1)
    if isinstance(t, NumberKind):
        return False
    low, high = stored_values(t)
    return value <= low if combine is Primitive.MAXIMUM else value >= high


def conjuncts(condition: Term) -> Iterator[Term]:
    """Yields the conditions that `and` joins to one."""
    match condition:
        case Apply(kind=Primitive.AND, arguments=parts):
            for part in parts:
                yield from conjuncts(part)
        case _:
            yield condition


def _conditions(term: Term) -> Iterator[Affine]:
    for condition in conjuncts(term):
        match condition:
            case Apply(kind=Primitive.LE | Primitive.LT as kind, arguments=(a, b)):
                form = _difference(b, a)
                if form is not None:
                    less = 1 if kind is Primitive.LT else 0
                    yield from _unless_known(Affine(form.terms, form.constant - less))
            case _:
                pass


def _not_negative(*forms: tuple[Term, int, int]) -> Iterator[Affine]:
    """Yields `index * sign + constant` for each `(index, constant, sign)`."""
    for index, constant, sign in forms:
        form = affine(index)
        if form is not None:
            terms = {loop: c * sign for loop, c in form.terms.items()}
            yield from _unless_known(Affine(terms, form.constant * sign + constant))


def _unless_known(form: Affine) -> Iterator[Affine]:
    """Yields a form, unless it is never negative."""
    if of_affine(form)[0] < 0:
        yield form


def _difference(a: Term, b: Term) -> Affine | None:
    return affine(Apply(NumberKind.INTEGER, a.at, Primitive.SUB, (a, b)))


def _cuts(stage: Stage, bounds: Sequence[_Bound]) -> list[list[_Ranges]] | None:
    """Returns the ranges of the segments along each dimension; None if there are none."""
    outers = {b.inner: b.outer for b in bounds}
    if not bounds or any(outers[b.inner] is not b.outer for b in bounds):
        return None
    found = []
    for outer in dict.fromkeys(outers.values()):
        inner = [loop for loop, of in outers.items() if of is outer]
        found.append(_segments_along(outer, inner, [b for b in bounds if b.outer is outer]))
        if len(found[-1]) > 1 and outer is stage.loops[-1]:
            return None
    return found if prod(map(len, found)) <= _MOST_SEGMENTS else None


def _segments_along(
    outer: Loop | None, inner: Sequence[_Inner], bounds: Sequence[_Bound]
) -> list[_Ranges]:
    def seen(at: int) -> list[_Range]:
        """Returns the range of each inner loop at a value of the outer one."""
        return [_seen(loop, at, [b for b in bounds if b.inner == loop]) for loop in inner]

    start = 0
    found: list[_Ranges] = []
    for ranges, group in groupby(range(1 if outer is None else outer.size), seen):
        count = len(list(group))
        found.append(dict(zip(inner, ranges, strict=True)))
        if outer is not None:
            found[-1][outer] = (start, count)
        start += count
    return found


def _seen(inner: _Inner, at: int, bounds: Sequence[_Bound]) -> _Range:
    _, loop = inner
    low, high = 0, loop.size - 1
    for bound in bounds:
        rest = bound.form.constant
        rest += 0 if bound.outer is None else bound.form.terms[bound.outer] * at
        step = bound.form.terms[loop]
        # rest + step * value >= 0
        if step > 0:
            low = max(low, -(rest // step))
        else:
            high = min(high, rest // -step)
    return (low, high - low + 1) if low <= high else (0, 0)


def _joined(parts: Sequence[_Ranges]) -> _Ranges:
    return {loop: found for part in parts for loop, found in part.items()}


def _segment(stage: Stage, ranges: _Ranges) -> Segment:
    change = _Change(ranges, {loop: loop for loop in stage.loops if loop in ranges})
    places = tuple(None if p is None else change.loop(p) for p in stage.places)
    starts = tuple(0 if p is None or p not in ranges else ranges[p][0] for p in stage.places)
    return Segment(replace(stage, places=places, value=change.visit(stage.value)), starts)


class _Change:
    """The terms of a stage where loops have other ranges, with the conditions that are known."""

    def __init__(
        self,
        ranges: _Ranges,
        changed: Mapping[Loop, Loop | _Inner],
        made: Mapping[Loop, tuple[int, Loop]] = {},
    ):
        """`changed` has loops with the keys of their ranges, `made` loops that have been made."""
        self._ranges = ranges
        self._loops = dict(made)
        """For each loop, its first value and the loop that takes its place."""
        self._known: dict[Term, Term] = {}
        for loop, key in changed.items():
            start, count = ranges[key]
            self._loops[loop] = start, Loop(loop.name, count)

    def loop(self, loop: Loop) -> Loop:
        return self._loops[loop][1] if loop in self._loops else loop

    def visit(self, term: Term) -> Term:
        if term not in self._known:
            self._known[term] = self._made(term)
        return self._known[term]

    def _made(self, term: Term) -> Term:
        match term:
            case LoopValue() if term.loop in self._loops:
                first, loop = self._loops[term.loop]
                start = Constant(NumberKind.INTEGER, term.at, first)
                value = replace(term, loop=loop)
                return Apply(NumberKind.INTEGER, term.at, Primitive.ADD, (value, start))
            case Apply():
                return _applied(replace(term, arguments=tuple(map(self.visit, term.arguments))))
            case Convert():
                return _converted(replace(term, operand=self.visit(term.operand)))
            case Reduce():
                changed = {loop: (term, loop) for loop in term.over if (term, loop) in self._ranges}
                inside = _Change(self._ranges, changed, self._loops)
                over = tuple(map(inside.loop, term.over))
                return _reduced(replace(term, over=over, body=inside.visit(term.body)))
            case _:
                return with_parts(term, self.visit)


def _applied(term: Apply) -> Term:
    match term.kind, term.arguments:
        case Primitive.LE | Primitive.LT | Primitive.EQ, (a, b):
            form = _difference(b, a)
            low, high = (-1, 1) if form is None else of_affine(form)
            changes, *others = {
                sum(least <= at for least in _COMPARISONS[term.kind]) for at in (low, high)
            }
            if not others:
                return Constant(term.type, term.at, changes % 2)
        case Primitive.AND, (Constant() as known, other) | (other, Constant() as known):
            return other if known.value else known
        case Primitive.SELECT, (Constant() as condition, then, otherwise):
            return then if condition.value else otherwise
        case Primitive.DIV, (Reduce() as total, Constant() as count) if _is_real(term.type):
            # a mean: the sum was rounded before
            inverse = 1 / count.value if count.value else float("nan")
            factor = replace(count, value=inverse)
            return replace(term, kind=Primitive.MUL, arguments=(total, factor))
    return term


def _is_real(t: NumberKind | Attribute) -> bool:
    return t is NumberKind.REAL if isinstance(t, NumberKind) else is_float(t)


def _converted(term: Convert) -> Term:
    value = term.operand
    if isinstance(value, Constant) and _is_real(term.type):
        return Constant(term.type, term.at, float(value.value))
    return term


def _reduced(term: Reduce) -> Term:
    if isinstance(term.body, Constant) and term.combine is Primitive.ADD:
        return Constant(term.type, term.at, term.body.value * points(term.over))
    return term
