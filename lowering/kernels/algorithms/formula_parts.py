"""
Parts of operands and stages that one step of outer loops of a formula needs.

Copies of operands with a constant around them, and large stages of which a step needs one part
alone, are computed in the step (Ragan-Kelley et al. 2013, Halide, call it `compute_at`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.ir import Attribute

from ....glow_dialects.elements import compute_type, element_bytes, row_major_strides
from ....glow_dialects.formula.quotients import split_loops
from ....glow_dialects.formula.ranges import interval
from ....glow_dialects.formula.segments import segments
from ....glow_dialects.formula.statement import (
    Apply,
    Constant,
    Loop,
    LoopValue,
    Read,
    Reduce,
    Stage,
    Term,
    affine,
    points,
    walk,
)
from ....glow_dialects.glow_nest.affine import Dim, View
from ....glow_dialects.scalar import Expr, Primitive
from ....glow_dialects.views import borders
from ..registry import Kernel
from ..schedules.blocking import repays_part, stays_near
from .formula_terms import SLOW, dimension_of, element_of_term, reads_of

_MOST_PADDED = 3
"""A padded copy may always have this many times the elements of the original."""
_FEW_ELEMENTS = 4096
"""A padded copy may always have this many elements more than the original."""


# copies of operands


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
    fixed: Mapping[int | None, Dim],
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


# stages


@dataclass(frozen=True)
class Parts:
    """Loops of the result, and the stages of which their steps compute parts."""

    loops: tuple[Loop, ...] = ()
    fixed: Mapping[Stage, Mapping[int, Loop]] = field(default_factory=dict)
    """The dimensions of a stage that the loops are the indices of."""

    @staticmethod
    def of(k: Kernel, stages: Sequence[Stage], result: Stage) -> Parts:
        """
        Returns the stages that steps of loops of the result compute in parts: of as many loops as
        it takes for parts that stay near, or of all.
        """
        large = [stage for stage in stages if not _is_near(k, stage, 1)]
        if not large:
            return Parts()
        value, halves = split_loops(result)
        if not _is_one_nest(value, result.loops):
            return Parts()
        loops = [loop for loop in result.loops[:-1] if loop not in halves]
        found = {s: fixed for s in large if (fixed := _fixed(s, stages, value, loops))}
        common = [loop for loop in loops if all(loop in fixed.values() for fixed in found.values())]
        if not found or not common:
            return Parts()
        prefixes = [tuple(common[: i + 1]) for i in range(len(common))]
        near = (p for p in prefixes if all(_is_near(k, stage, points(p)) for stage in found))
        around = next(near, prefixes[-1])
        if not repays_part(points(result.loops) // points(around)):
            return Parts()
        kept = {s: {d: x for d, x in fixed.items() if x in around} for s, fixed in found.items()}
        return Parts(around, kept)


def part_of_stage(k: Kernel, stage: Stage, fixed: Mapping[int, Loop]) -> View:
    """Returns scratch for a stage, or for a part of it at any index of the fixed dimensions."""
    sizes = [1 if d in fixed else size for d, size in enumerate(stage.shape)]
    view = k.scratch(sizes, element_of_term(stage.value))
    strides = [0 if d in fixed else s for d, s in enumerate(row_major_strides(sizes))]
    return replace(view, shape=stage.shape, strides=tuple(strides))


def _fixed(
    stage: Stage, stages: Sequence[Stage], value: Term, loops: Sequence[Loop]
) -> dict[int, Loop]:
    """
    Returns the dimensions of which each step of loops needs one index; none if another stage, a
    table of places or a converted copy reads the stage.
    """
    reads = [read for read in reads_of(value) if read.source is stage]
    others = (read for s in stages for read in reads_of(s.value))
    element = element_of_term(stage.value)
    if (
        any(read.source is stage or read.outside is not None for read in others)
        or compute_type(element) != element
        or _decides(stage, value)
    ):
        return {}
    fixed: dict[int, Loop] = {}
    places = [segment.stage.places for segment in segments(stage)]
    for d, place in enumerate(stage.places[:-1]):
        indices = (read.indices[d] for read in reads)
        found = {i.loop if isinstance(i, LoopValue) else None for i in indices}
        loop = next((x for x in loops if found == {x} and x.size == stage.shape[d]), None)
        if loop is not None and place is not None and all(p[d] is place for p in places):
            fixed[d] = loop
    return fixed


def _decides(stage: Stage, value: Term) -> bool:
    """Returns whether an index or a condition depends on elements of a stage."""
    for term in walk(value):
        if isinstance(term, Read):
            parts = term.indices
        elif isinstance(term, Apply) and term.kind is Primitive.SELECT:
            parts = term.arguments[:1]
        else:
            continue
        if any(read.source is stage for part in parts for read in reads_of(part)):
            return True
    return False


def _is_one_nest(value: Term, loops: Sequence[Loop]) -> bool:
    """Returns whether one nest computes a value, without copies of operands or other scratch."""
    terms, wide = list(walk(value)), {loop for loop in loops if loop.size > 1}
    reductions = [t for t in terms if isinstance(t, Reduce)]
    return (
        len(reductions) <= 1
        and all(wide <= reduction.loops for reduction in reductions)
        and not any(isinstance(t, Apply) and t.kind in SLOW for t in terms)
        and not any(isinstance(t, Read) and t.outside is not None for t in terms)
    )


def _is_near(k: Kernel, stage: Stage, parts: int) -> bool:
    size = prod(stage.shape) // parts * element_bytes(element_of_term(stage.value))
    return stays_near(size, k.machine)
