"""
Prefetches of nests: the part of their schedules that is decided last.

- Register tiles of products spread the filters of the next tile of blocks over the steps of the
  present one, or read filters some way ahead, as any reduction does with large packed operands.
- In a loop over panels of weights, the next panel is read while rows meet the present one.
- A processor cannot predict which rows a list or an index chooses, so they are prefetched some way
  ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Block

from ....glow_dialects.costs import near_bytes, prefetched_bytes
from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, stride_of
from ....glow_dialects.glow_nest.content import own_loops
from ....glow_dialects.glow_nest.kernel import RepeatOp
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.ops import NestOp, RepeatListedOp
from ....glow_dialects.glow_nest.schedule import (
    AmxTile,
    Elementwise,
    Lines,
    Reduce,
    Reducing,
    RegisterTile,
    Schedule,
)
from ....glow_dialects.glow_nest.schedule_text import with_loops
from ....glow_dialects.glow_nest.steps import KernelSteps
from ....glow_dialects.machine import LINE_BYTES, MachineDescription
from ....glow_dialects.timings import TIMINGS
from .amx_tile import TilePlan, filter_bytes
from .register_tile import Roles, prefetches_pixels, roles_of
from .streams import stream_distances


@dataclass(frozen=True)
class Around:
    """The loops around a nest, as far as prefetches depend on them."""

    next_panel: Lines | None = None
    """Its share of the panel that the next iteration of a loop reads."""
    chosen: bool = False
    """Whether a list chooses what it reads."""

    def on(self, change: Mapping[Dim, Dim]) -> Around:
        """Returns the same for a nest with other loops."""
        return replace(self, next_panel=with_loops(self.next_panel, change)) if change else self


ALONE = Around()
"""No loops around a nest."""


def with_prefetches(
    nest: Nest, schedule: Schedule, machine: MachineDescription, around: Around = ALONE
) -> Schedule:
    """Returns the schedule of a nest, with what is prefetched."""
    panel = around.next_panel
    match schedule:
        case RegisterTile():
            return _of_register_tile(nest, schedule, machine, panel)
        case Reduce():
            distance = stream_distances(nest, schedule, machine)
            steps = _steps_ahead(nest, schedule, machine)
            return replace(
                schedule, prefetch_distance=distance, prefetch_steps=steps, prefetch_lines=panel
            )
        case Reducing():
            return replace(schedule, prefetch_lines=panel)
        case AmxTile():
            return _of_amx_tile(nest, schedule)
        case Elementwise() if around.chosen:
            return replace(schedule, prefetch_distance=_row_distances(nest, schedule))
        case _:
            return schedule


def streams(nest: Nest, access: Access) -> bool:
    """
    Returns whether the elements of an access come from memory while everything else that the nest
    accesses is scratch, which stays in a near cache. Then the elements for the next tiles are
    prefetched.
    """
    others = [a for a in nest.accesses() if a.buffer is not access.buffer]
    return access.buffer.parameter is not None and all(a.buffer.parameter is None for a in others)


# by the schedule alone


def _row_distances(nest: Nest, schedule: Elementwise) -> Mapping[int, int]:
    """Returns the distances for vectors of parameters."""
    return {
        number: TIMINGS.chosen_row_bytes // element_bytes(a.element)
        for number, a in enumerate(nest.operands)
        if a.buffer.parameter is not None and schedule.vector and a.stride(schedule.vector)
    }


def _steps_ahead(nest: Nest, schedule: Reduce, machine: MachineDescription) -> Mapping[int, int]:
    """
    Returns how many steps ahead rows are prefetched that an index names in each step, with what is
    read of them besides vectors. What is on the way takes half of the L1 cache, if rows are long.
    """
    vector = schedule.vector
    if not schedule.reduced or vector is None or vector in nest.reduced:
        return {}
    step = schedule.reduced[-1]
    chosen = {
        number: a
        for number, a in enumerate(nest.reduced_reads)
        if a.indirect is not None and a.indirect.access.stride(step)
    }
    rows = {a.buffer: element_bytes(a.element) for a in chosen.values() if a.stride(vector) == 1}
    row_bytes = schedule.step(vector) * sum(rows.values())
    ahead = {b: min(TIMINGS.rows_ahead, machine.l1_bytes // 2 // row_bytes) for b in rows}
    return {n: ahead[a.buffer] for n, a in chosen.items() if ahead.get(a.buffer)}


def _of_register_tile(
    nest: Nest, schedule: RegisterTile, machine: MachineDescription, next_panel: Lines | None
) -> RegisterTile:
    roles = roles_of(nest, machine)
    assert roles is not None
    lines, far = next_panel, prefetched_bytes(machine)
    if _spreads(nest, roles, schedule, machine):
        lines = _next_filters(nest, roles, schedule)
    number, distance, next_tile = roles.filter_number, {}, {}
    # what the lines bring is far only if it does not stay
    goes = lines is None or (roles.blocks and _panel_bytes(roles, schedule) > far)
    # filters of a chunk stay in the first cache
    if goes and schedule.chunks is None and nest.touched_bytes(roles.filter) > far:
        distance = {number: TIMINGS.prefetch_bytes // element_bytes(roles.filter.element)}
    if prefetches_pixels(nest, roles, machine):
        pixel = _next_pixel(roles, schedule)
        if pixel is not None:
            next_tile = {1 - number: pixel}
    return replace(
        schedule,
        prefetch_distance=distance,
        prefetch_lines=lines,
        prefetch_next_tile=next_tile,
    )


def _next_pixel(roles: Roles, schedule: RegisterTile) -> Dim | None:
    """
    Returns the loop along which the image of the next tile is prefetched, if there is one. Behind
    the last tile of a row is the next row, or else what no tile reads; then the tile in the next
    row is prefetched.
    """
    pixel = roles.pixels[-1]
    if pixel not in schedule.parts or pixel is schedule.listed:
        return None
    rows = [d for d in _inner_pixels(roles, schedule) if d is not pixel]
    if not rows or roles.image.stride(rows[-1]) == pixel.size * stride_of(roles.image, pixel):
        return pixel
    return rows[-1]


def _panel(roles: Roles, schedule: RegisterTile) -> int:
    """Returns how many elements filters of a tile of blocks have."""
    block = roles.blocks[-1]
    return schedule.parts[block][0].tile * stride_of(roles.filter, block)


def _panel_bytes(roles: Roles, schedule: RegisterTile) -> int:
    return _panel(roles, schedule) * element_bytes(roles.filter.element)


def _inner_pixels(roles: Roles, schedule: RegisterTile) -> list[Dim]:
    """
    Returns the dimensions of pixels that meet the filters of a tile of blocks one after the other.
    """
    if not roles.blocks:
        return []
    block = schedule.order.index(roles.blocks[-1])
    return [d for d in schedule.order[block + 1 :] if d in roles.pixels]


def _spreads(nest: Nest, roles: Roles, schedule: RegisterTile, machine: MachineDescription) -> bool:
    """
    Returns whether to read the filters of the next tile of blocks from memory all the while that
    pixels meet the present ones. While the first pixels meet them, they are needed faster than
    memory gives them. The filters of two tiles must fit into the cache, however, beside the image.
    """
    pixels = _inner_pixels(roles, schedule)
    if not pixels:
        return False
    if streams(nest, roles.filter):
        return True
    if _panel(roles, schedule) < TIMINGS.least_pixel_filters * prod(d.size for d in pixels):
        return False
    # of a batch, one image at a time meets all filters
    images = prod(d.size for d in roles.pixels if d not in pixels)
    beside = nest.touched_bytes(roles.image) // images + 2 * _panel_bytes(roles, schedule)
    far = nest.touched_bytes(roles.filter) > prefetched_bytes(machine)
    return far and beside <= machine.l2_bytes


def _next_filters(nest: Nest, roles: Roles, schedule: RegisterTile) -> Lines:
    """
    Returns the lines to prefetch in each step, so that the filters of the next tile of blocks are
    near when all pixels have met the present ones.
    """
    pixels, panel = _inner_pixels(roles, schedule), _panel(roles, schedule)
    place = Affine({}, roles.filter.place.constant + panel)
    for dim in nest.parallel:
        if dim is not roles.vector:
            place += Affine({dim: roles.filter.stride(dim)})
    reduced, share = nest.reduced, panel
    if schedule.chunks is not None:
        share //= schedule.chunks.number.size
        place += schedule.chunks.number * share
        reduced = reduced[1:]
    # each tile of pixels prefetches its share, the largest of them without a gap
    most = max((p.tile for p in schedule.parts_of(pixels[-1])), default=1)
    count = prod(p.size for p in pixels)
    step = -(-share * most // (count * prod(d.size for d in reduced)))
    for position, pixel in enumerate(pixels):
        inner = prod(d.size for d in pixels[position + 1 :])
        place += pixel * (share * inner // count)
    for position, dim in enumerate(reduced):
        place += dim * (step * prod(d.size for d in reduced[position + 1 :]))
    line = LINE_BYTES // element_bytes(roles.filter.element)
    return Lines(roles.filter_number, place, -(-step // line), line)


def _of_amx_tile(nest: Nest, schedule: AmxTile) -> AmxTile:
    """Prefetches the filter of a product in tile registers if it comes from memory."""
    roles = TilePlan.of(nest, schedule).roles
    if streams(nest, roles.filter):
        return replace(schedule, prefetch_next=True)
    far = filter_bytes(nest, roles) > TIMINGS.amx_prefetched_bytes
    distance = TIMINGS.prefetch_bytes // roles.filter_size if far else 0
    return replace(schedule, prefetch_distance=distance)


# by the loops around nests


def loops_around(steps: KernelSteps, machine: MachineDescription) -> Mapping[NestOp, Around]:
    """Returns, for nests in loops of a kernel, the facts that prefetches depend on."""
    found: dict[NestOp, Around] = {}
    _look_around(steps, steps.kernel.body.block, machine, found)
    return found


def _look_around(
    steps: KernelSteps, block: Block, machine: MachineDescription, found: dict[NestOp, Around]
) -> None:
    for op in block.ops:
        if isinstance(op, RepeatOp):
            _look_around(steps, op.body.block, machine, found)
            found.update(_next_panels(steps, op, machine))
        elif isinstance(op, RepeatListedOp):
            nests = (n for n in op.body.block.ops if isinstance(n, NestOp))
            found.update({nest: Around(chosen=True) for nest in nests})


@dataclass(frozen=True)
class _Product:
    """A nest `sum(rows[i, t] * panels[p, t, j])` within a loop over `p`."""

    op: NestOp
    panel: Access
    term: Dim
    row: Affine
    """The number of the row, counted from an arbitrary first one."""
    rows: int
    """The number of rows, including the loops between the one over `p` and the nest."""
    is_limited: bool
    """Whether a call may have fewer rows."""


def _next_panels(
    steps: KernelSteps, loop: RepeatOp, machine: MachineDescription
) -> Mapping[NestOp, Around]:
    """
    Lets each step of the products of a register tile prefetch its share of the next panel, so that
    the panel is complete when all rows have met the present one. If a call has fewer rows, they
    prefetch less; so where the number is not known, all of them prefetch several panels, which stay
    near.
    """
    p = steps.variable(loop.variable)
    found = [_as_product(p, *at) for at in _products(steps, loop.body.block, ())]
    products = [product for product in found if product is not None]
    if not products or len(products) < len(found):
        return {}
    first = products[0]
    width, first_row = stride_of(first.panel, first.term), min(p.row.constant for p in products)
    step = -(-width * TIMINGS.panel_rows // sum(p.rows for p in products))
    # so few rows would prefetch a line several times
    if step > TIMINGS.most_panel_step:
        return {}
    if any(p.is_limited for p in products):
        size = width * first.term.size * element_bytes(first.panel.element)
        step = min(step * max(1, near_bytes(machine) // size), TIMINGS.most_panel_step)
    shares: dict[NestOp, Around] = {}
    for each in products:
        panel = stride_of(first.panel, p)
        place = Affine({p: panel}, each.panel.place.constant + panel)
        place += (each.row + -first_row) * (each.term.size * step // TIMINGS.panel_rows)
        place += each.term * step
        # a schedule has no loops of the nest that run once
        own = [d for d in own_loops(steps.nest(each.op)) if d.size == 1]
        shares[each.op] = Around(Lines(1, place.at(dict.fromkeys(own, Affine()))))
    return shares


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


def _as_product(loop: Dim, op: NestOp, nest: Nest, around: tuple[Dim, ...]) -> _Product | None:
    if len(nest.reduced) != 1 or len(nest.parallel) != 2:
        return None
    rows, panel = nest.reduced_reads
    (term,), (row, column) = nest.reduced, nest.parallel
    outside = (*around, row)
    strides = [panel.stride(d) for d in (loop, term, column)]
    if strides != [term.size * column.size, column.size, 1] or any(map(panel.stride, outside)):
        return None
    place = _row_number(rows, row, outside)
    if place is None:
        return None
    limited = any(d.limit is not None for d in outside)
    return _Product(op, panel, term, place, prod(d.size for d in outside), limited)


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
