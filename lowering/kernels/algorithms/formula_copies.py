"""Copies of operands with a constant around them, which the nests of a formula read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Attribute

from ....glow_dialects.formula.ranges import interval
from ....glow_dialects.formula.statement import Constant, Loop, Read, Term, affine, points
from ....glow_dialects.glow_nest.affine import Dim, View
from ....glow_dialects.scalar import Expr
from ....glow_dialects.views import borders
from ..registry import Kernel
from ..schedules.blocking import repays_part
from .formula_terms import dimension_of, reads_of

_MOST_PADDED = 3
"""A padded copy may always have this many times the elements of the original."""
_FEW_ELEMENTS = 4096
"""A padded copy may always have this many elements more than the original."""


@dataclass(frozen=True)
class Around:
    """Loops around a nest, with copies of the part of operands that one of their steps reads."""

    loops: tuple[Loop, ...] = ()
    copies: dict[object, View] = field(default_factory=dict)
    adds: list[Callable[[], None]] = field(default_factory=list)
    """The functions that add the nests that make the copies."""


def loops_around(value: Term, loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """
    Returns the first loops, if each of them is an index of all operands that are copied with a
    constant around them, so that a step needs a part of each, and if that repays.
    """
    padded = [t for t in reads_of(value) if isinstance(t.outside, Constant)]
    found: list[Loop] = []
    for i, loop in enumerate(loops):
        inside = points(tuple(loops[i + 1 :]))
        if any(dimension_of(t, loop) is None for t in padded) or not repays_part(inside):
            break
        found.append(loop)
    return tuple(found) if padded and points(tuple(found)) > 1 else ()


def repays_padding(term: Read) -> bool:
    """
    Returns whether a copy with a constant around it is not much larger than an operand, or than
    what is read of it, and places in it are affine.
    """
    if any(affine(index) is None for index in term.indices):
        return False
    limits = map(interval, term.indices)
    padded = prod(int(high - min(low, 0)) + 1 for low, high in limits)
    return padded <= max(
        _MOST_PADDED * (prod(term.shape) + _FEW_ELEMENTS), points(tuple(term.loops))
    )


def padded_copy(
    k: Kernel,
    view: View,
    element: Attribute,
    low: Sequence[int],
    high: Sequence[int],
    value: float,
    fixed: Mapping[int | None, Dim] = {},
) -> tuple[View, Callable[[], None]]:
    """
    Returns a copy with elements of a type, and with a constant around it, and a function that adds
    the nests that make it. The copy has the part at the values of loops for `fixed` dimensions.
    """
    kept = [d for d in range(view.rank) if d not in fixed]
    sizes, starts = [view.shape[d] for d in kept], [low[d] for d in kept]
    shape = [low[d] + view.shape[d] + high[d] for d in kept]
    whole = k.scratch(shape, element)

    def add() -> None:
        for first, extents in borders(starts, sizes, shape):
            dims = [Dim(f"b{d}", size) for d, size in enumerate(extents)]
            write = whole[[dim + start for dim, start in zip(dims, first, strict=True)]]
            k.map(dims, write, (), Expr.constant(value, element))
        own = {d: view.dim(f"d{d}", d) for d in kept}
        inside = [dim + start for dim, start in zip(own.values(), starts, strict=True)]
        source = [own[d] if d in own else fixed[d] for d in range(view.rank)]
        k.copy(tuple(own.values()), whole[inside], view[source])

    return whole, add
