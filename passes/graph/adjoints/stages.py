"""
The stages of a statement in a form that differentiation takes, and their derivatives.

A reduction inside of a larger term becomes a stage of its own, so that each stage is a reduction of
a term without reductions, or such a term. What a derivative needs of it then is a value to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ....glow_dialects.elements import is_float
from ....glow_dialects.formula.statement import (
    Apply,
    Constant,
    Convert,
    Loop,
    LoopValue,
    NumberKind,
    Read,
    Reduce,
    Stage,
    Statement,
    Term,
    with_parts,
)
from ....glow_dialects.scalar import Expr, Primitive, fold
from .inversion import all_of, integer, loop_value
from .partials import PARTIALS
from .terms import TermAlgebra, substituted

_ALGEBRA = TermAlgebra()
_EXACT = (Primitive.NEG, Primitive.ABS, Primitive.MAXIMUM, Primitive.MINIMUM, Primitive.SELECT)
"""Operations on floats that do not round."""


@dataclass(frozen=True)
class Partial:
    """A derivative of a stage with respect to a value that it reads."""

    read: Read
    over: tuple[Loop, ...]
    """The loops of the reduction around the read."""
    factor: Term | None
    """The derivative, for each point of these loops and those of the stage; None is 1."""


def simple_stages(statement: Statement) -> list[Stage]:
    """Returns the stages of a statement, the result's last, with reductions by themselves."""
    split = _Split()
    for stage in statement.stages:
        split.stage(stage)
    return split.found


class _Split:
    def __init__(self) -> None:
        self.found: list[Stage] = []
        self._stages: dict[Stage, Stage] = {}
        self._done: dict[Term, Term] = {}
        self._order: dict[Loop, int] = {}
        """The loops from the outermost one on, so that elements of one row stay together."""

    def stage(self, stage: Stage) -> None:
        value = stage.value
        self._order = {loop: i for i, loop in enumerate(stage.loops)}
        value = self._reduced(value, stage.loops) if isinstance(value, Reduce) else self.term(value)
        self._stages[stage] = new = replace(stage, value=value)
        self.found.append(new)

    def _reduced(self, value: Reduce, loops: Sequence[Loop]) -> Reduce:
        """
        Returns a reduction of a term without reductions. Code rounds a product and a sum once or
        twice, as its loops allow, so the terms of a maximum that have several roundings are kept:
        those that are the largest then equal it.
        """
        body = self.term(value.body)
        if _is_extremum(value) and _roundings(body) > 1:
            terms = Stage(f"t{len(self.found)}", (*loops, *value.over), body)
            self.found.append(terms)
            body = _value_of(terms)
        return replace(value, body=body)

    def term(self, term: Term) -> Term:
        """Returns a term without reductions in it; what was shared is shared again."""
        if term not in self._done:
            self._done[term] = self._term(term)
        return self._done[term]

    def _term(self, term: Term) -> Term:
        match term:
            case Read(source=Stage() as source):
                return with_parts(replace(term, source=self._stages[source]), self.term)
            case Reduce():
                return self._reduction(term)
            case _:
                return with_parts(term, self.term)

    def _reduction(self, term: Reduce) -> Read:
        loops = tuple(
            sorted(term.loops, key=lambda x: (self._order.get(x, len(self._order)), x.name))
        )
        value = self._reduced(term, loops)
        stage = Stage(f"r{len(self.found)}", loops, value)
        self.found.append(stage)
        indices = tuple(LoopValue(NumberKind.INTEGER, term.at, x) for x in loops)
        return Read(term.type, term.at, stage, stage.shape, indices)


def partials(stage: Stage, wanted: AbstractSet[int | Stage]) -> list[Partial]:
    """Returns the derivatives of a simple stage with respect to what it reads of `wanted`."""
    value = stage.value
    if not isinstance(value, Reduce):
        return list(_through(value, (), None, wanted))
    factor: Term | None = None
    if value.combine is Primitive.MUL and value.over:
        factor = _value_of(_product_of_others(stage, value))
    elif _is_extremum(value):
        factor = _share_of_ties(stage, value)
    return list(_through(value.body, value.over, factor, wanted))


def compares_stages(stage: Stage) -> bool:
    """Returns whether a stage is the maximum or minimum of a term that reads other stages."""
    value = stage.value
    if not isinstance(value, Reduce) or not _is_extremum(value):
        return False
    reads = (t for t in _operands_first(value.body) if isinstance(t, Read))
    return any(isinstance(read.source, Stage) for read in reads)


def _is_extremum(value: Reduce) -> bool:
    return value.combine not in (Primitive.ADD, Primitive.MUL)


def _roundings(term: Term) -> int:
    """Returns how many operations of a term round floats."""
    return sum(
        isinstance(t, Apply)
        and t.kind not in _EXACT
        and not isinstance(t.type, NumberKind)
        and is_float(t.type)
        for t in _operands_first(term)
    )


def indices_of(stage: Stage) -> tuple[Term, ...]:
    """Returns the indices of a stage's value at the point of its loops."""
    return tuple(integer(0) if p is None else loop_value(p) for p in stage.places)


def _value_of(stage: Stage) -> Read:
    """Returns a stage's value at the point of its loops."""
    return Read(stage.value.type, 0, stage, stage.shape, indices_of(stage))


def _product_of_others(stage: Stage, value: Reduce) -> Stage:
    """Returns the stage of the products of all but one, which is right where some are 0."""
    others = {loop: Loop(f"{loop.name}_", loop.size) for loop in value.over}
    equal = [_ALGEBRA.apply(Primitive.EQ, list(map(loop_value, pair))) for pair in others.items()]
    body = substituted(value.body, {a: loop_value(b) for a, b in others.items()})
    one = Constant(value.type, 0, 1)
    body = _ALGEBRA.apply(Primitive.SELECT, [all_of(equal), one, body])
    loops = (*stage.loops, *value.over)
    return Stage(
        f"{stage.name}_others", loops, replace(value, over=tuple(others.values()), body=body)
    )


def _share_of_ties(stage: Stage, value: Reduce) -> Term:
    """
    Returns which part of the derivative of a maximum each element gets: all that are as large share
    it equally.
    """
    is_largest = _ALGEBRA.apply(Primitive.EQ, [value.body, _value_of(stage)])
    zero, one = (Constant(value.type, 0, x) for x in (0, 1))
    counted = _ALGEBRA.apply(Primitive.SELECT, [is_largest, one, zero])
    ties = replace(
        stage,
        name=f"{stage.name}_ties",
        value=Reduce(value.type, 0, Primitive.ADD, value.over, counted),
    )
    share = _ALGEBRA.apply(Primitive.DIV, [one, _value_of(ties)])
    return _ALGEBRA.apply(Primitive.SELECT, [is_largest, share, zero])


def _through(
    root: Term, over: tuple[Loop, ...], factor: Term | None, wanted: AbstractSet[int | Stage]
) -> Iterable[Partial]:
    """Yields the derivatives of a term without reductions, each times `factor`."""
    order = _operands_first(root)
    seeds: dict[Term, Term | None] = {root: factor}
    for term in reversed(order):
        if term not in seeds or isinstance(term.type, NumberKind) or not is_float(term.type):
            continue
        seed = seeds[term]
        if isinstance(term, Read):
            if term.source in wanted:
                yield Partial(term, over, seed)
            if term.outside is not None and not isinstance(term.outside, Constant):
                raise ValueError("the value outside of an operand is computed")
        elif isinstance(term, Convert):
            if not isinstance(term.operand.type, NumberKind) and is_float(term.operand.type):
                back = None if seed is None else _ALGEBRA.convert(seed, term.operand.type)
                _accumulate(seeds, term.operand, back)
        elif isinstance(term, Apply) and isinstance(term.kind, Primitive):
            _apply(seeds, term, seed)


def _apply(seeds: dict[Term, Term | None], term: Apply, seed: Term | None) -> None:
    assert isinstance(term.kind, Primitive)
    n = len(term.arguments)
    arguments = [Expr.argument(i) for i in range(n + 2)]
    known = [*term.arguments, term, Constant(term.type, 0, 1) if seed is None else seed]
    for number, partial in PARTIALS.get(term.kind, {}).items():
        if not isinstance(term.arguments[number], Constant):
            expr = partial(arguments[:n], arguments[n], arguments[n + 1])
            found = known[n + 1] if expr is arguments[n + 1] else fold(expr, known, _ALGEBRA)
            if _is_norm(term):
                zero = Constant(term.type, 0, 0)
                none = _ALGEBRA.apply(Primitive.EQ, [term, zero])
                found = _ALGEBRA.apply(Primitive.SELECT, [none, zero, found])
            one = isinstance(found, Constant) and found.value == 1
            _accumulate(seeds, term.arguments[number], None if one else found)


def _is_norm(term: Apply) -> bool:
    """
    Returns whether a term is the root of a sum of powers. The derivative of the root is infinite at
    0, where those of the powers are 0; their product is 0, as the norm is smallest there.
    """
    if term.kind not in (Primitive.SQRT, Primitive.POW):
        return False
    total = term.arguments[0]
    if not isinstance(total, Read) or not isinstance(total.source, Stage):
        return False
    reduced = total.source.value
    if not isinstance(reduced, Reduce) or reduced.combine is not Primitive.ADD:
        return False
    power = reduced.body
    if not isinstance(power, Apply) or power.kind not in (Primitive.MUL, Primitive.POW):
        return False
    base, other = power.arguments
    if power.kind is Primitive.MUL:
        return base == other
    return isinstance(other, Constant) and other.value > 1


def _accumulate(seeds: dict[Term, Term | None], term: Term, seed: Term | None) -> None:
    if term not in seeds:
        seeds[term] = seed
        return
    one = Constant(term.type, 0, 1)
    old = seeds[term]
    seeds[term] = _ALGEBRA.apply(Primitive.ADD, [old or one, seed or one])


def _operands_first(root: Term) -> Sequence[Term]:
    found: dict[Term, None] = {}

    def visit(term: Term) -> None:
        if term not in found and not isinstance(term, Read):
            for part in term.parts:
                visit(part)
        found.setdefault(term)

    visit(root)
    return list(found)
