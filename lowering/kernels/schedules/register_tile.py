"""
Register tiles for products whose vectors are blocks: the schedule of direct convolution.

In such a nest, the lanes of one or a few vectors run over a dimension of exactly that size. One
operand (the filter) and the result are contiguous along it, and the other operand (the image) does
not depend on it. A tile is `blocks` blocks of the filter, of one or a few vectors each, times
`pixels` elements of the image, which are broadcast. All of its accumulators, the filter's vectors
and one vector to broadcast must fit into the registers (`MachineDescription.fits`).

A dimension is cut into parts as equal as possible (55 pixels into 14, 14, 14, 13) rather than into
full tiles and a remainder, because small tiles load more for each multiplication. If rows are
short, tiles cross them: the pixels of several dimensions become one list, each tile of which has
its own code with constant offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod
from operator import itemgetter

from ....glow_dialects.costs import near_bytes, tile, waiting_sums
from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, stride_of
from ....glow_dialects.glow_nest.nest import Nest, mapped
from ....glow_dialects.glow_nest.schedule import Chunks, LoopPart, RegisterTile
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.timings import TIMINGS
from ....lazy import lazy_property
from ..codegen.types import bits, computes_in_float, value_type
from .costed import Costed
from .steps import steps_together


@dataclass(frozen=True)
class Roles:
    """The roles of the dimensions of a product with vectors over blocks, on a machine."""

    nest: Nest
    machine: MachineDescription
    vector: Dim
    vectors: int
    """The number of vectors that the lanes of a block fill."""
    image: Access
    filter: Access
    blocks: tuple[Dim, ...]
    """The parallel dimensions that only the filter depends on, without the vector."""
    pixels: tuple[Dim, ...]
    """The parallel dimensions that only the image depends on."""

    def inside(self, order: Sequence[Dim]) -> Sequence[Dim]:
        """Returns the loops inside that over tiles of blocks; none if there are no blocks."""
        return order[order.index(self.blocks[-1]) + 1 :] if self.blocks else ()

    @lazy_property
    def filter_bytes(self) -> int:
        """The bytes of the filters of a block that a step reads."""
        elements = self.vector.size * stride_of(self.filter, self.vector)
        return elements * element_bytes(self.filter.element)

    @lazy_property
    def all_filters_bytes(self) -> int:
        """The bytes of the filters that the nest reads."""
        return self.nest.touched_bytes(self.filter)

    @lazy_property
    def image_bytes(self) -> int:
        """The bytes of the image that the nest reads."""
        return self.nest.touched_bytes(self.image)

    @lazy_property
    def steps(self) -> int:
        """The steps of the reduction."""
        return prod(d.size for d in self.nest.reduced)

    @lazy_property
    def far_share(self) -> float:
        """
        The share of the pixels of a tile that come from a far cache; windows read a pixel several
        times.
        """
        if self.image_bytes <= near_bytes(self.machine):
            return 0.0
        points = prod(d.size for d in self.nest.parallel if self.image.stride(d))
        elements = self.image_bytes / element_bytes(self.image.element)
        return min(1.0, elements / (points * self.steps))

    def prefetches_pixels(self, chunks: Chunks | None = None) -> bool:
        """
        Returns whether tiles prefetch the pixels of the next tile, unless they are a list: the
        image comes from a far cache, and no window of the same tile reads a pixel before.
        """
        far = self.image_bytes > near_bytes(self.machine)
        reduced = len(self.nest.reduced) - (chunks is not None)
        return far and bool(self.pixels) and reduced == 2


def roles_of(nest: Nest, machine: MachineDescription) -> Roles | None:
    """
    Returns the roles of the dimensions; None if the nest is no product with vectors over blocks.
    """
    if nest.reduction is None or not nest.reduction.is_product or nest.range is not None:
        return None
    lanes = machine.lanes(bits(value_type(nest.reduction.element)))
    a, b = nest.reduction.reads
    for vector in nest.parallel:
        fits = vector.size in (lanes, machine.channel_block) and vector.size >= lanes
        if not fits or any(w.stride(vector) != 1 for w in nest.writes):
            continue
        for image, filters in ((a, b), (b, a)):
            if (image.stride(vector), filters.stride(vector)) == (0, nest.reduction.terms):
                others = [d for d in nest.parallel if d is not vector]
                blocks = [d for d in others if image.stride(d) == 0 != filters.stride(d)]
                pixels = [d for d in others if filters.stride(d) == 0 != image.stride(d)]
                # a tile reads one index, so what an index places is the same for all of the tile
                if any(filters.is_chosen_along(d) for d in (vector, *pixels)):
                    continue
                if any(image.is_chosen_along(d) for d in (vector, *blocks)):
                    continue
                found = (vector, vector.size // lanes, image, filters, tuple(blocks), tuple(pixels))
                return Roles(nest, machine, *found)
    return None


def balanced(size: int, most: int) -> tuple[LoopPart, ...]:
    """Returns the fewest tiles of at most `most` that cover `size`, as equal as possible."""
    count = -(-size // most)
    small, larger = divmod(size, count)
    border = larger * (small + 1)
    parts = (LoopPart(0, border, small + 1), LoopPart(border, size, small))
    return tuple(part for part in parts if part.start < part.stop)


def flattened(nest: Nest, dims: Sequence[Dim]) -> tuple[Nest, Dim]:
    """Returns the nest with one table of points in place of neighbouring parallel dimensions."""
    one = Dim("".join(d.name for d in dims), prod(d.size for d in dims))
    points = list(product(*(range(d.size) for d in dims)))

    def renamed(place: Affine) -> Affine:
        terms = {d: s for d, s in place.terms.items() if d not in dims}
        strides = [place.terms.get(d, 0) for d in dims]
        if any(strides):
            table = [sum(s * i for s, i in zip(strides, p, strict=True)) for p in points]  # pyright: ignore
            step = table[1] - table[0]
            is_linear = all(t == i * step for i, t in enumerate(table))
            terms[one] = step if is_linear else tuple(table)
        return Affine(terms, place.constant)

    at = nest.parallel.index(dims[0])
    rest = [d for d in nest.parallel if d not in dims]
    parallel = (*rest[:at], one, *rest[at:])
    return replace(mapped(nest, renamed), parallel=parallel), one


@dataclass(frozen=True)
class Tiling:
    """A register tile."""

    parts: dict[Dim, tuple[LoopPart, ...]]
    order: tuple[Dim, ...]
    """The order of the parallel loops."""
    static: tuple[Dim, ...] = ()
    """The dimensions whose points become a list."""
    chunk: int | None = None
    """The size of chunks of the outermost reduced loop, if there are any."""


def tiled_product(nest: Nest, machine: MachineDescription) -> Costed | None:
    """Returns a product, perhaps with a list of pixels; None if it has no vectors over blocks."""
    roles = roles_of(nest, machine)
    if roles is None:
        return None
    cost, best = min(tilings(roles), key=itemgetter(0))
    return Costed(cost, *tiled(roles, best))


def tiled(roles: Roles, tiling: Tiling) -> tuple[Nest, RegisterTile]:
    """
    Returns the nest and its schedule with a tile. The nest may get a list of pixels, or chunks of
    the reduction.
    """
    parts, order, one, chunks = dict(tiling.parts), tiling.order, None, None
    if tiling.static:
        nest, one = flattened(replace(roles.nest, parallel=order), tiling.static)
        order = nest.parallel
        parts[one] = parts.pop(tiling.static[-1])
    else:
        nest, chunks = in_chunks(roles, tiling)
    schedule = RegisterTile(
        order=order,
        reduced=nest.reduced,
        vector=roles.vector,
        lanes=roles.vector.size // roles.vectors,
        vectors=roles.vectors,
        unrolled=nest.tabled,
        parts=parts,
        listed=one,
        blocks=roles.blocks[-1] if roles.blocks else None,
        chunks=chunks,
    )
    return nest, replace(schedule, steps=steps_together(nest, schedule))


def in_chunks(roles: Roles, tiling: Tiling) -> tuple[Nest, Chunks | None]:
    """Returns the nest with chunks of the reduction, if there are any."""
    nest, size = roles.nest, tiling.chunk
    if size is None:
        return nest, None
    outer, *rest = nest.reduced
    number, place = Dim("chunk", outer.size // size), Dim(outer.name, size)
    change = {outer: number * size + place}
    nest = replace(mapped(nest, lambda at: at.at(change)), reduced=(number, place, *rest))
    return nest, Chunks(number, roles.inside(tiling.order)[0])


def chunk_size(roles: Roles, tiling: Tiling) -> int | None:
    """
    Returns the size of chunks of the outermost reduced loop whose filters fit into the L1 cache, if
    many tiles of pixels, which are no list, meet the filters of a tile of blocks and these do not
    fit.
    """
    nest, parts, within = roles.nest, tiling.parts, roles.inside(tiling.order)
    if tiling.static or not within or within[0] not in roles.pixels or not nest.reduced:
        return None
    if not nest.keeps_sums or stride_of(roles.filter, roles.vector) > 1:
        return None
    pixels = [d for d in within if d in roles.pixels]
    tiles = prod(sum(p.tiles for p in parts[d]) if d in parts else d.size for d in pixels)
    if tiles < TIMINGS.least_chunk_tiles or not parts.get(roles.blocks[-1]):
        return None
    outer, *rest = nest.reduced
    steps = prod(d.size for d in rest)
    step_bytes = parts[roles.blocks[-1]][0].tile * roles.filter_bytes * steps
    most = int(TIMINGS.chunk_l1_share * roles.machine.l1_bytes) // step_bytes
    size = max((n for n in range(1, most + 1) if outer.size % n == 0), default=0)
    return size if TIMINGS.least_chunk_steps <= size * steps < outer.size * steps else None


def _order(roles: Roles, is_list: bool) -> tuple[Dim, ...]:
    """
    Returns the order of the parallel loops. Blocks are outside pixels, so that the filters of a
    tile stay in the nearest cache while all pixels meet them. If the image does not stay in a near
    cache, but a row of it does beside all filters, rows are outside blocks. Else blocks are inside
    pixels if all filters are near, and tiles do not prefetch their pixels or these come from
    memory.
    """
    nest, machine = roles.nest, roles.machine
    image, filters = roles.image_bytes, roles.all_filters_bytes
    if image <= near_bytes(machine) or not roles.blocks:
        return nest.parallel
    is_prefetched = not is_list and roles.prefetches_pixels()
    *rows, row = [d for d in roles.pixels if d.size > 1] or [roles.vector]
    rows_bytes = image // prod(d.size for d in rows)
    near = TIMINGS.resident_l2_share * machine.l2_bytes
    if rows and is_prefetched and filters + rows_bytes <= near:
        inner = (*roles.blocks, row, roles.vector)
    elif filters <= near_bytes(machine) and not (is_prefetched and image <= machine.l3_bytes):
        inner = (*roles.blocks, roles.vector)
    else:
        return nest.parallel
    return (*(d for d in nest.parallel if d not in inner), *inner)


def tilings(roles: Roles) -> Iterator[tuple[float, Tiling]]:
    """Yields all register tiles that fit into the registers, with their estimated cycles."""
    # one instruction multiplies and adds; for words, it comes with bytes
    machine = roles.machine
    is_float = computes_in_float(roles.filter.element)
    is_fused = machine.has_fma if is_float else bool(machine.int8_dots)
    last, blocks = roles.pixels[-1:], roles.blocks[-1:]
    choices, pair = [last], roles.pixels[-2:]
    if pair in set(pairwise(roles.nest.parallel)) and not any(d.limit for d in pair):
        choices.append(pair)
    block_size = prod(d.size for d in blocks)
    for together, pixels in product(range(1, min(8, block_size) + 1), choices):
        block_parts, size = balanced(block_size, together), prod(d.size for d in pixels)
        points = machine.most_points(together * roles.vectors, is_fused)
        is_list = len(pixels) > 1
        order = _order(roles, is_list)
        for most in range(1, min(size, points) + 1):
            pixel_parts = balanced(size, most)
            if is_list and sum(p.tiles for p in pixel_parts) > TIMINGS.most_listed_tiles:
                continue
            parts = {**dict.fromkeys(last, pixel_parts), **dict.fromkeys(blocks, block_parts)}
            tiling = Tiling(parts, order, pixels if is_list else ())
            chunk = chunk_size(roles, tiling)
            if chunk is None or not roles.nest.writes_sums:
                yield _cost(roles, tiling), tiling
            if chunk is not None:
                chunked = replace(tiling, chunk=chunk)
                yield _cost(roles, chunked), chunked


def _cost(roles: Roles, tiling: Tiling) -> float:
    """Returns the cycles of a nest with a register tile."""
    nest, machine = roles.nest, roles.machine
    pixels, blocks = tiling.static or roles.pixels[-1:], roles.blocks[-1:]
    pixel_parts, block_parts = (
        tiling.parts[dims[-1]] if dims else (LoopPart(0, 1, 1),) for dims in (pixels, blocks)
    )
    far = roles.far_share
    chunks = 1 if tiling.chunk is None else nest.reduced[0].size // tiling.chunk
    if not tiling.static and roles.prefetches_pixels():
        far *= TIMINGS.prefetched_pixel_share
    if blocks and tiling.order != nest.parallel:
        # only the first of the blocks that meet pixels inside of a loop finds them far
        far /= sum(p.tiles for p in block_parts)
    from_l2 = 0.0
    if chunks == 1 and not _filters_are_near(roles, tiling):
        from_l2 = roles.filter_bytes / roles.vectors / (machine.vector_bits // 8)
    cycles = 0.0
    for b, p in product(block_parts, pixel_parts):
        filters = b.tile * roles.vectors
        each = tile(filters, p.tile, far, roles.steps, nest.weight, machine, from_l2)
        each += (chunks - 1) * waiting_sums(filters * p.tile)
        cycles += each * b.tiles * p.tiles
    cycles *= 1 + TIMINGS.tile_variant_share * len(block_parts) * len(pixel_parts)
    # as a list replaces one dimension, others are run more often
    total = prod(d.size for d in nest.parallel if d is not roles.vector)
    return cycles * total / prod(d.size for d in (*pixels, *blocks))


def _filters_are_near(roles: Roles, tiling: Tiling) -> bool:
    """
    Returns whether the filters that pixels meet stay in the nearest cache until others meet them.
    """
    used = roles.all_filters_bytes
    if not roles.blocks or any(d in roles.pixels for d in roles.inside(tiling.order)):
        blocks = tiling.parts[roles.blocks[-1]][0].tile if roles.blocks else 1
        used = blocks * roles.filter_bytes * roles.steps
    return used <= TIMINGS.chunk_l1_share * roles.machine.l1_bytes
