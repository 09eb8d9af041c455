"""Facts that follow from a statement: its amount of work, and its independent dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from ..scalar import Primitive
from .statement import (
    Apply,
    Loop,
    LoopValue,
    Read,
    Reduce,
    Stage,
    Statement,
    Term,
    affine,
    points,
    walk,
)


def reductions(statement: Statement) -> Iterator[tuple[int, Reduce]]:
    """Yields the reductions of a statement, each with how many terms all of its values combine."""
    for term in statement.terms():
        if isinstance(term, Reduce):
            yield points((*term.loops, *term.over)), term


def products(statement: Statement) -> int:
    """Returns how many products of elements of different operands are summed."""
    return sum(count for count, term in reductions(statement) if _is_sum_of_products(term))


def _is_sum_of_products(term: Reduce) -> bool:
    if term.combine is not Primitive.ADD:
        return False
    body = term.body
    if not (isinstance(body, Apply) and body.kind is Primitive.MUL):
        return False
    left, right = map(_sources, body.arguments)
    return bool(left and right) and left != right


def _sources(term: Term) -> set[int | Stage]:
    return {t.source for t in walk(term) if isinstance(t, Read)}


def operations(statement: Statement) -> int:
    """
    Returns how many operations on elements there are. Operations of a reduction count at each of
    its points, others at each point that they depend on. Operations on indices do not count.
    """
    total = 0
    for stage in statement.stages:
        seen: set[Term] = set()
        for term in walk(stage.value):
            if term in seen:
                continue
            seen.add(term)
            if isinstance(term, Reduce) and _sources(term):
                total += points((*term.loops, *term.over))
            elif isinstance(term, Apply) and _sources(term):
                total += points(tuple(term.loops))
    return total


def gathered(statement: Statement) -> dict[int, int]:
    """
    Returns how many elements of each operand are read at places that other elements determine.
    """
    found: dict[int, int] = {}
    for term in statement.terms():
        if isinstance(term, Read) and isinstance(term.source, int) and _is_gather(term):
            read = points(tuple(term.loops))
            found[term.source] = found.get(term.source, 0) + read
    return found


def _is_gather(term: Read) -> bool:
    return any(isinstance(t, Read) for index in term.indices for t in walk(index))


def reads(statement: Statement, operand: int) -> int:
    """Returns how many times elements of an operand are read."""
    terms = {t for t in statement.terms() if isinstance(t, Read) and t.source == operand}
    return sum(points(tuple(term.loops)) for term in terms)


def vector_sizes(statement: Statement, last: Mapping[int, int]) -> tuple[int, ...]:
    """
    Returns for each stage the size of the longest loop that vectors may lie along: each read and
    the stage's value have it as the index of their last dimension, or do not depend on it. `last`
    are the dimensions of operands that count as last, where those are others.
    """
    return tuple(_vector_size(stage, last) for stage in statement.stages)


def _vector_size(stage: Stage, last: Mapping[int, int]) -> int:
    terms = list(walk(stage.value))
    read = [t for t in terms if isinstance(t, Read)]
    over = (loop for t in terms if isinstance(t, Reduce) for loop in t.over)
    loops = [x for x in (*stage.loops[-1:], *over) if all(_lies(r, x, last) for r in read)]
    return max((loop.size for loop in loops), default=1)


def _lies(read: Read, loop: Loop, last: Mapping[int, int]) -> bool:
    """Returns whether neighbours of a loop read neighbours, or the same element."""
    if loop not in read.loops:
        return True
    place = last.get(read.source) if isinstance(read.source, int) else None
    if place is None:
        place = max((d for d, size in enumerate(read.shape) if size != 1), default=0)
    along = affine(read.indices[place])
    others = (index for d, index in enumerate(read.indices) if d != place)
    return (
        along is not None
        and along.terms.get(loop) == 1
        and all(loop not in index.loops for index in others)
    )


def divides(statement: Statement, parts: AbstractSet[int]) -> bool:
    """
    Returns whether a part of the first dimension of the result needs only the same part of the
    first dimension of each of the operands `parts`, and of other operands only elements that all
    parts need.
    """
    return divided_dimension(statement, dict.fromkeys(parts, 0)) == 0


def divided_dimension(statement: Statement, parts: Mapping[int, int]) -> int | None:
    """
    Returns the dimension of the result of which a part needs the same part of a dimension of
    operands, and nothing of other operands but what all parts need; None if there is none. `parts`
    are the dimensions by operand.
    """
    given = _Parts(parts)
    for d, loop in enumerate(statement.result.places):
        if loop is not None and given.follow(statement.result.value, loop):
            return d
    return None


class _Parts:
    """Tells which terms need only a part of operands; `parts` are the dimensions by operand."""

    def __init__(self, parts: Mapping[int, int]):
        self._parts = parts
        self._known: dict[tuple[Term, Loop | None], bool] = {}
        """The answer for each term and loop: several terms may share a part."""

    def follow(self, term: Term, divided: Loop | None) -> bool:
        """
        Returns whether a term reads operands only where the value of a loop is the index of their
        dimension, and uses the loop for nothing else. Without a loop, it does not read these
        operands.
        """
        key = term, divided
        if key not in self._known:
            self._known[key] = self._follows(term, divided)
        return self._known[key]

    def _follows(self, term: Term, divided: Loop | None) -> bool:
        match term:
            case Read():
                return self._reads_part(term, divided)
            case Reduce():
                return divided not in term.over and self.follow(term.body, divided)
            case LoopValue():
                return term.loop is not divided
            case _:
                return all(self.follow(part, divided) for part in term.parts)

    def _reads_part(self, term: Read, divided: Loop | None) -> bool:
        place = None
        if isinstance(term.source, Stage):
            values = enumerate(term.indices)
            found = [d for d, index in values if divided and _is_value(index, divided)]
            place = found[0] if found else None
            inner = None if place is None else term.source.places[place]
            if not self.follow(term.source.value, inner):
                return False
        elif term.source in self._parts:
            place = self._parts[term.source]
            if divided is None or not _is_value(term.indices[place], divided):
                return False
        rest = [index for d, index in enumerate(term.indices) if d != place]
        rest += [term.outside] if term.outside is not None else []
        return all(self.follow(index, divided) for index in rest)


def _is_value(term: Term, loop: Loop) -> bool:
    form = affine(term)
    return form is not None and form.terms == {loop: 1} and form.constant == 0
