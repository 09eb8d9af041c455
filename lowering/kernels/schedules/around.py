"""
The loops around nests, as far as prefetches depend on them.

In a loop over panels of weights, the next panel is read while rows meet the present one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Block

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, stride_of
from ....glow_dialects.glow_nest.kernel import RepeatOp
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.ops import NestOp, RepeatListedOp
from ....glow_dialects.glow_nest.schedule import Lines, Reducing
from ....glow_dialects.glow_nest.steps import KernelSteps
from ....glow_dialects.machine import LINE_BYTES, MachineDescription
from .streams import is_far


@dataclass(frozen=True)
class NextPanel:
    """
    The panel that the next iteration of a loop reads, of which each tile of rows prefetches a share
    while it meets the present one.
    """

    place: Affine
    """The place of its first element."""
    term: Dim
    """The reduced loop. A panel has one row for each of its values."""
    width: int
    """The elements of a row of the panel."""
    row: Affine
    """The number of the row that meets the panel, counted from the first of all nests."""
    rows: int
    """The number of rows that meet the panel in all nests."""
    loop: Dim
    """The loop of the nest over rows."""
    line: int
    """The elements of a cache line."""
    is_far: bool
    """Whether it comes from a far cache or from memory."""
    is_limited: bool
    """Whether a call may have fewer rows."""

    def lines(self, schedule: Reducing) -> Lines | None:
        """
        Returns what each step prefetches, so that the panel is complete when all rows have met the
        present one; where a call may have few rows, when the first ones have. A single tile
        prefetches no panel that is near, and none that takes several lines in each step.
        """
        parts = schedule.parts_of(self.loop)
        tile = max((p.tile for p in parts), default=schedule.step(self.loop))
        tiles, end = -(-self.rows // tile), None
        fewest = 1 if self.is_far and self.width <= self.line else 2
        if tiles < fewest:
            return None
        if self.is_limited:
            tiles, end = fewest, self.place + self.term.size * self.width
        step = -(-self.width // tiles)
        place = self.place + self.row * (self.term.size * step // tile) + self.term * step
        # a schedule has no loops of the nest that run once
        place = place.at({d: Affine() for d in (self.loop, self.term) if d.size == 1})
        count = -(-step // self.line)
        return Lines(1, place, count, self.line if count > 1 else 0, end)


@dataclass(frozen=True)
class Around:
    """The loops around a nest, as far as prefetches depend on them."""

    next_panel: NextPanel | None = None
    chosen: bool = False
    """Whether a list chooses what it reads."""


ALONE = Around()
"""No loops around a nest."""


def loops_around(
    steps: KernelSteps, machine: MachineDescription, block: Block | None = None
) -> Mapping[NestOp, Around]:
    """
    Returns, for nests in loops of a block, by default of the kernel, the facts that prefetches
    depend on.
    """
    found: dict[NestOp, Around] = {}
    for op in (block or steps.kernel.body.block).ops:
        if isinstance(op, RepeatOp):
            found.update(loops_around(steps, machine, op.body.block))
            found.update(_next_panels(steps, op, machine))
        elif isinstance(op, RepeatListedOp):
            nests = (n for n in op.body.block.ops if isinstance(n, NestOp))
            found.update({nest: Around(chosen=True) for nest in nests})
    return found


def _next_panels(
    steps: KernelSteps, loop: RepeatOp, machine: MachineDescription
) -> Mapping[NestOp, Around]:
    """Returns the next panel for each product in a loop over panels."""
    p, found = steps.variable(loop.variable), dict[NestOp, NextPanel]()
    for op, nest, around in _products(steps, loop.body.block, ()):
        panel = _next_panel(p, nest, around, machine)
        if panel is None:
            return {}
        found[op] = panel
    rows = sum(panel.rows for panel in found.values())
    first_row = min((panel.row.constant for panel in found.values()), default=0)
    limited = any(panel.is_limited for panel in found.values())
    return {
        op: Around(replace(panel, row=panel.row + -first_row, rows=rows, is_limited=limited))
        for op, panel in found.items()
    }


def _products(
    steps: KernelSteps, block: Block, around: tuple[Dim, ...]
) -> Iterator[tuple[NestOp, Nest, tuple[Dim, ...]]]:
    """Yields the nests of products in a block, and the loops around them."""
    for op in block.ops:
        if isinstance(op, RepeatOp):
            yield from _products(steps, op.body.block, (*around, steps.variable(op.variable)))
        elif isinstance(op, NestOp):
            nest = steps.nest(op)
            if nest.reduction is not None and nest.reduction.is_product:
                yield op, nest, around


def _next_panel(
    loop: Dim, nest: Nest, around: tuple[Dim, ...], machine: MachineDescription
) -> NextPanel | None:
    """
    Returns the next panel of a nest `sum(rows[i, t] * panels[p, t, j])` in a loop over `p`, of its
    rows alone, which it counts from an arbitrary one; None for another nest.
    """
    if len(nest.reduced) != 1 or len(nest.parallel) != 2:
        return None
    rows, panels = nest.reduced_reads
    (term,), (row, column) = nest.reduced, nest.parallel
    outside, size = (*around, row), term.size * column.size
    strides = [panels.stride(d) for d in (loop, term, column)]
    if strides != [size, column.size, 1] or any(map(panels.stride, outside)):
        return None
    number = _row_number(rows, row, outside)
    if number is None:
        return None
    return NextPanel(
        place=Affine({loop: size}, panels.place.constant + size),
        term=term,
        width=column.size,
        row=number,
        rows=prod(d.size for d in outside),
        loop=row,
        line=LINE_BYTES // element_bytes(panels.element),
        is_far=is_far(panels, machine),
        is_limited=any(d.limit is not None for d in outside),
    )


def _row_number(access: Access, row: Dim, dims: Sequence[Dim]) -> Affine | None:
    """Returns the number of the row that an access reads; None if loops skip parts of rows."""
    if any(isinstance(access.stride(d), tuple) for d in dims):
        return None
    strides = {d: stride_of(access, d) for d in dims}
    unit = strides[row]
    if unit == 0 or any(s % unit for s in strides.values()):
        return None
    return Affine({d: s // unit for d, s in strides.items()}, access.place.constant // unit)
