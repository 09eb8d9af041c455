"""Terms of formulas, as far as nests can compute them: reductions, choices and indices in them."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import i1

from ....glow_dialects.formula.ranges import interval
from ....glow_dialects.formula.statement import (
    Apply,
    Constant,
    Convert,
    LoopValue,
    NumberKind,
    Read,
    Reduce,
    Term,
)
from ....glow_dialects.scalar import Primitive


def outermost_reductions(term: Term) -> list[Reduce]:
    """Returns the reductions of a term that are not in others."""
    if isinstance(term, Reduce):
        return [term]
    return [r for part in term.parts for r in outermost_reductions(part)]


def reduction_in(term: Term) -> Reduce | None:
    found = outermost_reductions(term)
    return found[0] if found else None


def index_sum(a: Term, b: Term) -> Term:
    return Apply(NumberKind.INTEGER, a.at, Primitive.ADD, (a, b))


def chosen_by_bounds(term: Read, outside: Term) -> Term:
    """
    Returns a read with indices within the bounds, or the value beyond the bounds, by the
    conditions.
    """
    at, conditions, indices = term.at, None, list(term.indices)
    for d, (index, size) in enumerate(zip(term.indices, term.shape, strict=True)):
        low, high = interval(index)
        zero, end = (Constant(NumberKind.INTEGER, at, n) for n in (0, size - 1))
        found: list[Term] = []
        if low < 0:
            found.append(Apply(i1, at, Primitive.LE, (zero, index)))
            indices[d] = Apply(NumberKind.INTEGER, at, Primitive.MAXIMUM, (indices[d], zero))
        if high >= size:
            found.append(Apply(i1, at, Primitive.LE, (index, end)))
            indices[d] = Apply(NumberKind.INTEGER, at, Primitive.MINIMUM, (indices[d], end))
        for condition in found:
            pair = condition if conditions is None else (conditions, condition)
            conditions = pair if not isinstance(pair, tuple) else Apply(i1, at, Primitive.AND, pair)
    assert conditions is not None
    inside = replace(term, indices=tuple(indices), outside=None)
    return Apply(term.type, at, Primitive.SELECT, (conditions, inside, outside))


def index_in_memory(term: Term, size: int) -> Read | None:
    """
    Returns the index that a term reads and keeps within a size as accesses do it (`Indirect`):
    `clamp(i if i >= 0 else i + size, 0, size - 1)`. None for other terms.
    """
    match term:
        case Apply(
            kind=Primitive.MAXIMUM,
            arguments=(
                Apply(
                    kind=Primitive.MINIMUM,
                    arguments=(
                        Apply(
                            kind=Primitive.SELECT,
                            arguments=(
                                Apply(
                                    kind=Primitive.LE,
                                    arguments=(Constant(value=0), Convert(operand=Read() as found)),
                                ),
                                Convert() as front,
                                Apply(
                                    kind=Primitive.ADD,
                                    arguments=(Convert() as end, Constant(value=length)),
                                ),
                            ),
                        ),
                        Constant(value=last),
                    ),
                ),
                Constant(value=0),
            ),
        ) if (length, last) == (size, size - 1):
            same = all(_is_same(other.operand, found) for other in (front, end))
            return found if same else None
        case _:
            return None


def _is_same(a: Term, b: Term) -> bool:
    """Returns whether two terms that read elements have equal values at all points."""
    match a, b:
        case Read(), Read():
            equal = (a.source, a.outside) == (b.source, b.outside)
        case LoopValue(), LoopValue():
            equal = a.loop is b.loop
        case Constant(), Constant():
            equal = a.value == b.value
        case Apply(), Apply():
            equal = a.kind == b.kind
        case _:
            return False
    same_parts = len(a.parts) == len(b.parts) and all(map(_is_same, a.parts, b.parts))
    return equal and same_parts and a.type == b.type
