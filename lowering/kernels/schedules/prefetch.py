"""
Prefetches of nests: the part of their schedules that is decided last.

- Register tiles of products spread the filters of the next tile of blocks over the steps of the
  present one, or read filters some way ahead, as any reduction does with large packed operands.
- In a loop over panels of weights, the next panel is read while rows meet the present one
  (`around.py`).
- A processor cannot predict which rows a list or an index chooses, so they are prefetched some way
  ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ....glow_dialects.costs import prefetched_bytes
from ....glow_dialects.elements import element_bytes, row_major_strides
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, stride_of
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import (
    AmxTile,
    Elementwise,
    Lines,
    Reduce,
    Reducing,
    RegisterTile,
    Schedule,
)
from ....glow_dialects.machine import LINE_BYTES, MachineDescription
from ....glow_dialects.timings import TIMINGS
from .amx_tile import TilePlan, filter_bytes
from .around import ALONE, Around
from .register_tile import Roles, roles_of
from .streams import stream_distances


def with_prefetches(
    nest: Nest, schedule: Schedule, machine: MachineDescription, around: Around = ALONE
) -> Schedule:
    """Returns the schedule of a nest, with what is prefetched."""
    if isinstance(schedule, Reducing):
        panel = around.next_panel
        lines = None if panel is None else panel.lines(schedule)
        schedule = replace(schedule, prefetch_lines=lines)
    match schedule:
        case RegisterTile():
            return _of_register_tile(nest, schedule, machine)
        case Reduce():
            distance = stream_distances(nest, schedule, machine)
            steps = _steps_ahead(nest, schedule, machine)
            return replace(schedule, prefetch_distance=distance, prefetch_steps=steps)
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
    read of them besides vectors. What is on the way takes an eighth of the L1 cache, but for long
    rows: more of it would drive out what is read before.
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
    # a row begins and ends somewhere in a line
    row_bytes = sum(schedule.step(vector) * size + LINE_BYTES for size in rows.values())
    most = TIMINGS.rows_ahead
    ahead = max(most // 8, min(most, machine.l1_bytes // 8 // max(1, row_bytes)))
    return {n: ahead for n, a in chosen.items() if a.buffer in rows}


def _of_register_tile(
    nest: Nest, schedule: RegisterTile, machine: MachineDescription
) -> RegisterTile:
    """Returns the schedule with prefetches beside those of the next panel."""
    roles = roles_of(nest, machine)
    assert roles is not None
    lines, far = schedule.prefetch_lines, prefetched_bytes(machine)
    if _spreads(roles, schedule):
        lines = _next_filters(roles, schedule)
    number, distance, next_tile = nest.reduced_reads.index(roles.filter), {}, {}
    # what the lines bring is far only if it does not stay
    goes = lines is None or (roles.blocks and _panel_bytes(roles, schedule) > far)
    # filters of a chunk stay in the first cache
    if goes and schedule.chunks is None and roles.all_filters_bytes > far:
        distance = {number: TIMINGS.prefetch_bytes // element_bytes(roles.filter.element)}
    if roles.prefetches_pixels(schedule.chunks):
        pixel = _next_pixel(roles, schedule)
        next_tile = {} if pixel is None else {1 - number: pixel}
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
    return [d for d in roles.inside(schedule.order) if d in roles.pixels]


def _spreads(roles: Roles, schedule: RegisterTile) -> bool:
    """
    Returns whether to read the filters of the next tile of blocks from memory all the while that
    pixels meet the present ones. While the first pixels meet them, they are needed faster than
    memory gives them. The filters of two tiles must fit into the cache, however, beside the image.
    """
    nest, pixels = roles.nest, _inner_pixels(roles, schedule)
    if not pixels:
        return False
    if streams(nest, roles.filter):
        return True
    if _panel(roles, schedule) < TIMINGS.least_pixel_filters * prod(d.size for d in pixels):
        return False
    # of a batch, one image at a time meets all filters
    images = prod(d.size for d in roles.pixels if d not in pixels)
    beside = roles.image_bytes // images + 2 * _panel_bytes(roles, schedule)
    far = roles.all_filters_bytes > prefetched_bytes(roles.machine)
    return far and beside <= roles.machine.l2_bytes


def _next_filters(roles: Roles, schedule: RegisterTile) -> Lines:
    """
    Returns the lines to prefetch in each step, so that the filters of the next tile of blocks are
    near when all pixels have met the present ones.
    """
    nest, pixels, panel = roles.nest, _inner_pixels(roles, schedule), _panel(roles, schedule)
    terms = {d: roles.filter.stride(d) for d in nest.parallel if d is not roles.vector}
    place = Affine(terms, roles.filter.place.constant + panel)
    reduced, share = nest.reduced, panel
    if schedule.chunks is not None:
        share //= schedule.chunks.number.size
        place += schedule.chunks.number * share
        reduced = reduced[1:]
    # each tile of pixels prefetches its share, the largest of them without a gap
    most = max((p.tile for p in schedule.parts_of(pixels[-1])), default=1)
    count = prod(p.size for p in pixels)
    step = -(-share * most // (count * prod(d.size for d in reduced)))
    for pixel, inner in zip(pixels, row_major_strides([d.size for d in pixels]), strict=True):
        place += pixel * (share * inner // count)
    for dim, inner in zip(reduced, row_major_strides([d.size for d in reduced]), strict=True):
        place += dim * (step * inner)
    line = LINE_BYTES // element_bytes(roles.filter.element)
    number = nest.reduced_reads.index(roles.filter)
    return Lines(number, place, -(-step // line), line)


def _of_amx_tile(nest: Nest, schedule: AmxTile) -> AmxTile:
    """Prefetches the filter of a product in tile registers if it comes from memory."""
    roles = TilePlan.of(nest, schedule).roles
    if streams(nest, roles.filter):
        return replace(schedule, prefetch_next=True)
    far = filter_bytes(nest, roles) > TIMINGS.amx_prefetched_bytes
    distance = TIMINGS.prefetch_bytes // roles.filter_size if far else 0
    return replace(schedule, prefetch_distance=distance)
