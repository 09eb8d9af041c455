"""
Arrays that a reduction reads from front to back, such as packed weights that few rows meet: they
come from a far cache or from memory, which is faster if several streams are read at once, each of
them long. So lines are prefetched some way ahead, and the panels that a tile reads are as far from
each other as possible: the next tiles go on where these end.

A loop inside another one reads again what does not depend on the outer loop. Where one of two
arrays comes from memory and the other one from a cache, the former is better read once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ....glow_dialects.costs import cached_bytes, prefetched_bytes
from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Access, Dim
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import Reduce
from ....glow_dialects.machine import LINE_BYTES, MachineDescription
from ....glow_dialects.timings import TIMINGS


def stream_distances(
    nest: Nest, schedule: Reduce, machine: MachineDescription
) -> Mapping[int, int]:
    """
    Returns the distances of prefetches for large arrays of which each step of the reduction reads
    the next part, by the number of the read. Reads are left out where points of a tile read what
    others read in their next steps, as neighbouring windows of an image do. Where the vectors of a
    reduction are rows of such windows, the next tile of windows is prefetched.
    """
    vector = schedule.vector
    if vector is None or not nest.reduced:
        return {}
    if vector in nest.reduced:
        return _next_windows(nest, schedule.tile, vector, machine)
    found: dict[int, int] = {}
    for number, access in enumerate(nest.reduced_reads):
        size = element_bytes(access.element)
        part = _part_of_step(nest, access, schedule.step(vector))
        # a step may leave out the end of a line
        apart = max(len(part), LINE_BYTES // size)
        next_part = access.stride(nest.reduced[-1])
        follows = access.stride(vector) == 1 and next_part in range(len(part), apart + 1)
        strides = (access.stride(d) for d in schedule.tile if d is not vector)
        run = len(part) * nest.reduced[-1].size
        shared = any(isinstance(s, int) and 0 < abs(s) < run for s in strides)
        begins_line = (access.place.constant - part.start) * size % LINE_BYTES == 0
        if is_far(access, machine) and follows and not shared and begins_line:
            found[number] = _lines_ahead(access, schedule) * (LINE_BYTES // size)
    return found


def is_far(access: Access, machine: MachineDescription) -> bool:
    """Returns whether an array is so large that it comes from a far cache or from memory."""
    elements = access.buffer.high - access.buffer.low
    return elements * element_bytes(access.element) > prefetched_bytes(machine)


def _next_windows(
    nest: Nest, tile: Mapping[Dim, int], vector: Dim, machine: MachineDescription
) -> Mapping[int, int]:
    """
    Returns the distances to the next tile of windows that overlap, whose rows are vectors, by the
    number of the read. A window has more rows than a processor follows, in all channels.
    """
    found: dict[int, int] = {}
    for number, access in enumerate(nest.reduced_reads):
        if access.stride(vector) != 1 or not is_far(access, machine):
            continue
        for dim, count in tile.items():
            apart = access.stride(dim)
            if dim in nest.parallel and isinstance(apart, int) and 0 < apart < vector.size:
                found[number] = count * apart
    return found


def _lines_ahead(access: Access, schedule: Reduce) -> int:
    """Returns how many lines ahead each of the streams of a tile is prefetched."""
    others = {d: n for d, n in schedule.tile.items() if d is not schedule.vector}
    streams = prod(n for d, n in others.items() if access.stride(d))
    meets_once = all(n == 1 or access.stride(d) for d, n in others.items())
    ahead = TIMINGS.stream_prefetch_bytes if meets_once else TIMINGS.prefetch_bytes
    return max(1, ahead // LINE_BYTES // streams)


def _part_of_step(nest: Nest, access: Access, width: int) -> range:
    """
    Returns the part of a buffer that the reads of a step see which differ from `access` in their
    first element alone, if each sees `width` elements.
    """
    reads = [a for a in nest.reduced_reads if a.buffer is access.buffer]
    starts = [a.place.constant for a in reads if a.place.terms == access.place.terms]
    return range(min(starts), max(starts) + width)


def spread(nest: Nest, schedule: Reduce, machine: MachineDescription) -> Reduce:
    """
    Returns a schedule whose tiles have one element of each of equal parts of a loop, if these are
    streams. If the tile does not divide the loop, it becomes smaller.
    """
    reads = [nest.reduced_reads[number] for number in stream_distances(nest, schedule, machine)]
    for dim, tile in schedule.tile.items():
        is_whole = dim not in nest.parallel or dim.size == tile or dim.limit is not None
        if is_whole or dim in (schedule.vector, schedule.rows):
            continue
        count = max(n for n in range(1, tile + 1) if dim.size % n == 0)
        if count > 1 and any(a.stride(dim) for a in reads):
            return replace(schedule, tile={**schedule.tile, dim: count}, spread=dim)
    return schedule


def far_array_outside(nest: Nest, machine: MachineDescription) -> tuple[Dim, ...]:
    """
    Returns the parallel loops of a reduction. Those of an array that comes from memory are outside
    those of an array that stays in a cache; others have the order of the nest.
    """
    reads = nest.reduced_reads
    if nest.range is not None or nest.is_limited or len(reads) != 2:
        return nest.parallel
    stays = [nest.touched_bytes(a) <= cached_bytes(machine) for a in reads]
    if stays[0] == stays[1]:
        return nest.parallel
    near, far = reads if stays[0] else reversed(reads)
    inside = [d for d in nest.parallel if _depends(near, d) and not _depends(far, d)]
    return (*(d for d in nest.parallel if d not in inside), *inside)


def _depends(access: Access, dim: Dim) -> bool:
    return any(a.stride(dim) != 0 for a in (access, *access.indices))
