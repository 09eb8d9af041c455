"""
Schedules of products whose terms are not neighbours in memory: depthwise convolutions of bytes.

Lanes are channels. The terms of a lane are neighbouring pixels of a row of the window, which are
gathered in registers when they are loaded. All rows of the window are unrolled, so that outputs in
a column share the rows that their windows have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from operator import mul

from ....glow_dialects.costs import gathered_tile
from ....glow_dialects.glow_nest.affine import Access, Dim, stride_of
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import GatheredDot
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.timings import TIMINGS
from .costed import Costed
from .register_tile import balanced


def gathered_product(nest: Nest, machine: MachineDescription) -> Costed | None:
    """Returns a product whose terms are gathered; None if lanes cannot be channels."""
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
    cycles, sizes = min(_tiles(nest, image, pixels, machine), default=(0.0, ()))
    schedule = GatheredDot(
        order=nest.parallel,
        reduced=nest.reduced,
        vector=vector,
        lanes=lanes,
        unrolled=frozenset(nest.reduced),
        parts={d: balanced(d.size, n) for d, n in zip(pixels, sizes, strict=True)},
    )
    return Costed(cycles * prod(d.size for d in nest.parallel) / lanes, nest, schedule)


def _tiles(
    nest: Nest, image: Access, pixels: Sequence[Dim], machine: MachineDescription
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """
    Yields cycles for each vector of outputs, and how many rows and columns of them a tile has.
    """
    most = TIMINGS.most_gathered_pixels[-len(pixels) :] if pixels else ()
    places = [range(d.size) for d in nest.reduced]
    steps = prod(d.size for d in nest.reduced)
    for sizes in product(
        *(range(1, min(m, d.size) + 1) for m, d in zip(most, pixels, strict=True))
    ):
        points, strides = prod(sizes), [stride_of(image, d) for d in (*pixels, *nest.reduced)]
        loaded = {sum(map(mul, strides, at)) for at in product(*map(range, sizes), *places)}
        # half of the registers hold sums, the others the rows that windows share
        if 2 * points + steps + 1 <= machine.vector_registers:
            yield gathered_tile(points, steps, len(loaded)) / points, sizes
