"""
Schedules of products whose terms are not neighbours in memory: depthwise convolutions of bytes.

Lanes are channels. The terms of a lane are neighbouring pixels of a row of the window, which are
gathered in registers when they are loaded. All rows of the window are unrolled, so that outputs in
a column share the rows that their windows have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from ....glow_dialects.glow_nest.affine import Access, Dim
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import GatheredDot
from ....glow_dialects.machine import MachineDescription
from ..costs import gathered_dot
from .register_tile import balanced

_MOST_ROWS, _MOST_COLUMNS = 4, 6


def field_schedule(nest: Nest, machine: MachineDescription) -> GatheredDot | None:
    """Returns the schedule of a product of gathered fields; None if lanes cannot be channels."""
    reduction = nest.reduction
    if reduction is None or not reduction.fields:
        return None
    lanes = machine.lanes(32)
    image, filters = reduction.reads
    wanted = (1, reduction.terms)
    vector = next(
        (d for d in nest.parallel if (image.stride(d), filters.stride(d)) == wanted), None
    )
    if vector is None or vector.size % lanes or any(w.stride(vector) != 1 for w in nest.writes):
        return None
    pixels = [d for d in nest.parallel if image.stride(d) and not filters.stride(d)][-2:]
    best = min(_tiles(nest, image, pixels, machine), default=(0.0, ()))[1]
    return GatheredDot(
        order=nest.parallel,
        reduced=nest.reduced,
        vector=vector,
        lanes=lanes,
        unrolled=frozenset(nest.reduced),
        parts={d: balanced(d.size, n) for d, n in zip(pixels, best, strict=True)},
    )


def _tiles(
    nest: Nest, image: Access, pixels: Sequence[Dim], machine: MachineDescription
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """
    Yields tiles of outputs: the instructions for each output, and the numbers of rows and columns.
    """
    most = [_MOST_ROWS, _MOST_COLUMNS][-len(pixels) :] if pixels else []
    places = [list(range(d.size)) for d in nest.reduced]
    for sizes in product(
        *(range(1, min(m, d.size) + 1) for m, d in zip(most, pixels, strict=True))
    ):
        points = 1
        for n in sizes:
            points *= n
        loaded = {
            _place(image, (*pixels, *nest.reduced), at)
            for at in product(*map(range, sizes), *places)
        }
        steps = len(list(product(*places)))
        # half of the registers hold sums, the others the rows that windows share
        if 2 * points + steps + 1 <= machine.vector_registers:
            yield gathered_dot(points, steps, len(loaded)), sizes


def _place(image: Access, dims: Sequence[Dim], at: Sequence[int]) -> int:
    total = 0
    for dim, i in zip(dims, at, strict=True):
        stride = image.stride(dim)
        assert isinstance(stride, int)
        total += stride * i
    return total
