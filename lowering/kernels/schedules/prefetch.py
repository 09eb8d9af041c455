"""
Prefetches that follow from the loops around a nest, or from the origin of its data.

- In a loop over panels of weights, the next panel is read while rows meet the present one.
- A processor cannot predict which rows a list chooses, so they are prefetched some way ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from ....glow_dialects.glow_nest.affine import Access, Affine, Dim
from ....glow_dialects.glow_nest.nest import Nest, Repeat, RepeatListed, Step

_AHEAD_BYTES = 512
"""The distance in bytes at which rows that a list chooses are prefetched."""
_TILE_ROWS = 8
"""The rows of a register tile; tiles share the prefetches of the next panel among them."""
_LINE = 16
"""
The elements of a cache line. With fewer rows than a panel has lines, the same line would be
prefetched several times.
"""


def streams(nest: Nest, access: Access) -> bool:
    """
    Returns whether the elements of an access come from memory while everything else that the nest
    accesses is scratch, which stays in a near cache. Then the elements for the next tiles are
    prefetched.
    """
    others = [a for a in nest.accesses() if a.buffer is not access.buffer]
    return access.buffer.parameter is not None and all(a.buffer.parameter is None for a in others)


def plan_prefetches(steps: list[Step]) -> None:
    """Adds to nests the prefetches that follow from the loops around them."""
    for step in steps:
        if isinstance(step, Repeat):
            plan_prefetches(step.steps)
            _prefetch_next_panel(step)
        elif isinstance(step, RepeatListed):
            step.steps[:] = [
                replace(s, ahead=_AHEAD_BYTES) if isinstance(s, Nest) else s for s in step.steps
            ]


@dataclass(frozen=True)
class _Product:
    """A nest `sum(rows[i, t] * panels[p, t, j])` within a loop over `p`."""

    steps: list[Step]
    number: int
    nest: Nest
    panel: Access
    term: Dim
    row: Affine
    """The number of the row, counted from an arbitrary first one."""
    rows: int
    """The number of rows, including the loops between the one over `p` and the nest."""


def _prefetch_next_panel(loop: Repeat) -> None:
    """
    Lets each step of the products of a register tile prefetch its share of the next panel, so that
    the panel is complete when all rows have met the present one.
    """
    found = [_as_product(loop.dim, *at) for at in _products(loop.steps, ())]
    products = [p for p in found if p is not None]
    if not products or len(products) < len(found):
        return
    first = products[0]
    width, first_row = first.panel.stride(first.term), min(p.row.constant for p in products)
    assert isinstance(width, int)
    step = -(-width * _TILE_ROWS // sum(p.rows for p in products))
    if step > _LINE:
        return
    for p in products:
        panel = first.panel.stride(loop.dim)
        assert isinstance(panel, int)
        start = Affine({loop.dim: panel}, p.panel.place.constant + panel)
        share = (p.row + -first_row) * (p.term.size * step // _TILE_ROWS)
        place = start + share + p.term * step
        reduction = p.nest.reduction
        assert reduction is not None
        reduction = replace(reduction, soon=(Access(p.panel.buffer, place),))
        p.steps[p.number] = replace(p.nest, reduction=reduction)


def _products(
    steps: list[Step], around: tuple[Dim, ...]
) -> Iterator[tuple[list[Step], int, Nest, tuple[Dim, ...]]]:
    """Yields the nests of products among steps, their places, and the loops around them."""
    for number, step in enumerate(steps):
        if isinstance(step, Repeat):
            yield from _products(step.steps, (*around, step.dim))
        elif isinstance(step, Nest) and step.reduction is not None and step.reduction.is_product:
            yield steps, number, step, around


def _as_product(
    loop: Dim, steps: list[Step], number: int, nest: Nest, around: tuple[Dim, ...]
) -> _Product | None:
    assert nest.reduction is not None
    if len(nest.reduced) != 1 or len(nest.parallel) != 2:
        return None
    rows, panel = nest.reduction.reads
    (term,), (row, column) = nest.reduced, nest.parallel
    outside = (*around, row)
    strides = [panel.stride(d) for d in (loop, term, column)]
    if strides != [term.size * column.size, column.size, 1] or any(map(panel.stride, outside)):
        return None
    place = _row_number(rows, row, outside)
    if place is None:
        return None
    return _Product(steps, number, nest, panel, term, place, prod(d.size for d in outside))


def _row_number(access: Access, row: Dim, dims: Sequence[Dim]) -> Affine | None:
    """Returns the number of the row that an access reads; None if loops skip parts of rows."""
    unit = access.stride(row)
    terms = {d: access.stride(d) for d in dims}
    if not isinstance(unit, int) or unit == 0:
        return None
    if any(not isinstance(s, int) or s % unit for s in terms.values()):
        return None
    numbers = {d: s // unit for d, s in terms.items() if isinstance(s, int)}
    return Affine(numbers, access.place.constant // unit)
