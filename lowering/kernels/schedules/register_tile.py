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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim
from ....glow_dialects.glow_nest.nest import Nest, mapped
from ....glow_dialects.glow_nest.schedule import Chunks, Lines, Part, RegisterTile
from ....glow_dialects.machine import LINE_BYTES, MachineDescription
from ....glow_dialects.timings import TIMINGS
from ..codegen.types import bits, value_type
from ..costs import near_bytes, prefetched_bytes, tile_results, tile_step
from .prefetch import streams

_MOST_LISTED = 10
"""The largest number of tiles in a list of pixels; each has its own code."""
_FEWEST_TILES = 3
"""
The least number of tiles of pixels for which chunks of the reduction pay off; all of them meet the
same filters.
"""
_FEWEST_FILTERS = 4
"""
The least number of filter elements of a tile of blocks for each pixel that meets them. With fewer,
only a small share of the pixels waits for the filters.
"""
_FEWEST_STEPS = 64
"""The least number of steps of a chunk; sums are loaded before it and stored after it."""


@dataclass(frozen=True)
class Roles:
    """The roles of the dimensions of a product with vectors over blocks."""

    vector: Dim
    vectors: int
    """The number of vectors that the lanes of a block fill."""
    image: Access
    filter: Access
    filter_number: int
    """The number of the filter among the reads of the reduction."""
    blocks: tuple[Dim, ...]
    """The parallel dimensions that only the filter depends on, without the vector."""
    pixels: tuple[Dim, ...]
    """The parallel dimensions that only the image depends on."""

    def of(self, nest: Nest) -> Roles:
        """Returns the same roles in a nest with other loops over the reduction."""
        assert nest.reduction is not None
        reads, number = nest.reduction.reads, self.filter_number
        return replace(self, image=reads[1 - number], filter=reads[number])


def roles_of(nest: Nest, machine: MachineDescription) -> Roles | None:
    """
    Returns the roles of the dimensions; None if the nest is no product with vectors over blocks.
    """
    if nest.reduction is None or not nest.reduction.is_product:
        return None
    lanes = machine.lanes(bits(value_type(nest.reduction.element)))
    a, b = nest.reduction.reads
    for vector in nest.parallel:
        fits = vector.size in (lanes, machine.channel_block) and vector.size >= lanes
        if not fits or any(w.stride(vector) != 1 for w in nest.writes):
            continue
        for number, (image, filters) in ((1, (a, b)), (0, (b, a))):
            if (image.stride(vector), filters.stride(vector)) == (0, nest.reduction.terms):
                others = [d for d in nest.parallel if d is not vector]
                blocks = [d for d in others if image.stride(d) == 0 != filters.stride(d)]
                pixels = [d for d in others if filters.stride(d) == 0 != image.stride(d)]
                vectors = vector.size // lanes
                return Roles(vector, vectors, image, filters, number, tuple(blocks), tuple(pixels))
    return None


def balanced(size: int, most: int) -> tuple[Part, ...]:
    """Returns the fewest tiles of at most `most` that cover `size`, as equal as possible."""
    count = -(-size // most)
    small, larger = divmod(size, count)
    parts = []
    if larger:
        parts.append(Part(0, larger * (small + 1), small + 1))
    if larger < count:
        parts.append(Part(larger * (small + 1), size, small))
    return tuple(parts)


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
    """A register tile, with its estimated cycles."""

    cost: float
    parts: dict[Dim, tuple[Part, ...]]
    static: tuple[Dim, ...] = ()
    """The dimensions whose points become a list."""


def tiled_product(nest: Nest, machine: MachineDescription) -> tuple[Nest, RegisterTile] | None:
    """
    Returns the nest, perhaps with a list of pixels, and its schedule; None if it is no such
    product.
    """
    roles = roles_of(nest, machine)
    if roles is None:
        return None
    best = min(tilings(nest, roles, machine), key=lambda t: t.cost)
    if best.cost == inf:
        return None
    return tiled(nest, roles, best, _order(nest, roles, machine), machine)


def tiled(
    nest: Nest,
    roles: Roles,
    tiling: Tiling,
    order: tuple[Dim, ...],
    machine: MachineDescription,
    chunked: bool = True,
) -> tuple[Nest, RegisterTile]:
    """
    Returns the nest and its schedule with a tile and an order of the parallel loops. The nest may
    get a list of pixels and, if it may be `chunked`, chunks of the reduction.
    """
    parts, one = dict(tiling.parts), None
    chunks: Chunks | None = None
    if tiling.static:
        nest, one = flattened(replace(nest, parallel=order), tiling.static)
        order = nest.parallel
        parts[one] = parts.pop(tiling.static[-1])
        pixels = [d for d in roles.pixels if d not in tiling.static]
        roles = replace(roles, pixels=(*pixels, one))
    elif chunked:
        nest, chunks = _chunks(nest, roles, parts, order, machine)
    roles = roles.of(nest)
    soon: Lines | None = None
    if _spreads(nest, roles, parts, order, machine) and nest.reduction is not None:
        soon = _next_filters(nest, roles, parts, order, chunks)
        nest = replace(nest, reduction=replace(nest.reduction, soon=()))
    unrolled = frozenset(
        d for d in nest.reduced if any(isinstance(a.stride(d), tuple) for a in nest.accesses())
    )
    schedule = RegisterTile(
        order=order,
        reduced=nest.reduced,
        vector=roles.vector,
        lanes=roles.vector.size // roles.vectors,
        vectors=roles.vectors,
        unrolled=unrolled,
        parts=parts,
        listed=one,
        blocks=roles.blocks[-1] if roles.blocks else None,
        ahead=_ahead(nest, roles, parts, soon, machine),
        chunks=chunks,
        next_tile=_next_tile(nest, roles, parts, one, machine),
        soon=soon,
    )
    return nest, schedule


def _panel(roles: Roles, parts: Mapping[Dim, Sequence[Part]]) -> int:
    """Returns how many elements the filters of a tile of blocks have."""
    block = roles.blocks[-1]
    stride = roles.filter.stride(block)
    assert isinstance(stride, int)
    return parts[block][0].tile * stride


def _panel_bytes(roles: Roles, parts: Mapping[Dim, Sequence[Part]]) -> int:
    return _panel(roles, parts) * element_bytes(roles.filter.element)


def _spreads(
    nest: Nest,
    roles: Roles,
    parts: Mapping[Dim, Sequence[Part]],
    order: Sequence[Dim],
    machine: MachineDescription,
) -> bool:
    """
    Returns whether to prefetch the filters of the next tile of blocks from memory while pixels meet
    the present ones. Without that, the first pixels need the filters faster than memory delivers
    them. The filters of two tiles must fit into the cache beside the image.
    """
    pixels = _inner_pixels(roles, order)
    if nest.reduction is None or not pixels:
        return False
    if streams(nest, roles.filter):
        return True
    if _panel(roles, parts) < _FEWEST_FILTERS * prod(d.size for d in pixels):
        return False
    size, panel = nest.touched_bytes(roles.filter), _panel_bytes(roles, parts)
    # with several images in a batch, one image at a time meets all filters
    images = prod(d.size for d in roles.pixels if d not in pixels)
    fits = nest.touched_bytes(roles.image) // images + 2 * panel <= machine.l2_bytes
    return size > prefetched_bytes(machine) and fits


def _inner_pixels(roles: Roles, order: Sequence[Dim]) -> list[Dim]:
    """
    Returns the dimensions of the pixels that meet the filters of a tile of blocks one after the
    other.
    """
    if not roles.blocks:
        return []
    block = order.index(roles.blocks[-1])
    return [d for d in order[block + 1 :] if d in roles.pixels]


def _next_filters(
    nest: Nest,
    roles: Roles,
    parts: Mapping[Dim, Sequence[Part]],
    order: Sequence[Dim],
    chunks: Chunks | None,
) -> Lines:
    """
    Returns the prefetches of each step that bring the filters of the next tile of blocks into a
    near cache while pixels meet the present ones.
    """
    pixels, panel = _inner_pixels(roles, order), _panel(roles, parts)
    place = Affine({}, roles.filter.place.constant + panel)
    for dim in nest.parallel:
        if dim is not roles.vector:
            place += Affine({dim: roles.filter.stride(dim)})
    reduced, share = nest.reduced, panel
    if chunks is not None:
        share //= chunks.number.size
        place += chunks.number * share
        reduced = reduced[1:]
    # each tile of pixels prefetches its share; the largest share leaves no gap
    most = max(p.tile for p in parts[pixels[-1]])
    count = prod(p.size for p in pixels)
    step = -(-share * most // (count * prod(d.size for d in reduced)))
    for position, pixel in enumerate(pixels):
        inner = prod(d.size for d in pixels[position + 1 :])
        place += pixel * (share * inner // count)
    for position, dim in enumerate(reduced):
        place += dim * (step * prod(d.size for d in reduced[position + 1 :]))
    line = LINE_BYTES // element_bytes(roles.filter.element)
    return Lines(roles.filter_number, place, -(-step // line), line)


def _chunks(
    nest: Nest,
    roles: Roles,
    parts: Mapping[Dim, Sequence[Part]],
    order: Sequence[Dim],
    machine: MachineDescription,
) -> tuple[Nest, Chunks | None]:
    """
    Returns a nest with chunks of the reduction whose filters fit into the L1 cache, if many tiles
    of pixels meet the filters of a tile of blocks and these do not fit.
    """
    if not roles.blocks or not roles.pixels or not _writes_sums(nest):
        return nest, None
    inside = order[order.index(roles.blocks[-1]) + 1]
    tiles = sum(p.tiles for p in parts.get(inside, ()))
    if inside not in roles.pixels or tiles < _FEWEST_TILES:
        return nest, None
    outer, *rest = nest.reduced
    steps = prod(d.size for d in rest)
    filters = parts[roles.blocks[-1]][0].tile * roles.vector.size * steps
    step_bytes = filters * element_bytes(roles.filter.element)
    most = int(TIMINGS.chunk_l1_share * machine.l1_bytes) // step_bytes
    size = max((n for n in range(1, most + 1) if outer.size % n == 0), default=0)
    if not _FEWEST_STEPS <= size * steps < outer.size * steps:
        return nest, None
    number, place = Dim("chunk", outer.size // size), Dim(outer.name, size)

    def divided(at: Affine) -> Affine:
        stride = at.terms.get(outer, 0)
        assert isinstance(stride, int)
        terms = {d: s for d, s in at.terms.items() if d is not outer}
        return Affine({**terms, number: stride * size, place: stride}, at.constant)

    nest = replace(mapped(nest, divided), reduced=(number, place, *rest))
    return nest, Chunks(number, inside)


def _writes_sums(nest: Nest) -> bool:
    """Returns whether a nest writes only sums, in the type in which they are added."""
    reduction = nest.reduction
    return (
        reduction is not None
        and reduction.terms == 1
        and nest.raw
        and not nest.operands
        and [w.element for w in nest.writes] == [reduction.element]
    )


def _order(nest: Nest, roles: Roles, machine: MachineDescription) -> tuple[Dim, ...]:
    """
    Returns the order of the parallel loops. Blocks are outside pixels, so that the filters of a
    tile stay in a near cache while all pixels meet them; unless the image would not stay in that
    cache but all filters would.
    """
    image, filters = (nest.touched_bytes(a) for a in (roles.image, roles.filter))
    if image <= near_bytes(machine) or filters > near_bytes(machine):
        return nest.parallel
    return blocks_inside(nest, roles)


def blocks_inside(nest: Nest, roles: Roles) -> tuple[Dim, ...]:
    """Returns the order of the parallel loops with blocks inside pixels."""
    rest = [d for d in nest.parallel if d not in roles.blocks and d is not roles.vector]
    return (*rest, *roles.blocks, roles.vector)


def _next_tile(
    nest: Nest,
    roles: Roles,
    parts: Mapping[Dim, Sequence[Part]],
    listing: Dim | None,
    machine: MachineDescription,
) -> dict[int, Dim]:
    """
    Returns the prefetches of an image that comes from a far cache, if no window of the same tile
    reads it before.
    """
    far = nest.touched_bytes(roles.image) > near_bytes(machine)
    if not far or len(nest.reduced) != 2 or not roles.pixels:
        return {}
    dim = roles.pixels[-1]
    return {1 - roles.filter_number: dim} if dim in parts and dim is not listing else {}


def _ahead(
    nest: Nest,
    roles: Roles,
    parts: Mapping[Dim, Sequence[Part]],
    soon: Lines | None,
    machine: MachineDescription,
) -> dict[int, int]:
    """
    Returns the prefetches of filters that come from a far cache, unless the nest has prefetches
    already or the filters of a tile stay in a near cache.
    """
    far = prefetched_bytes(machine)
    if nest.touched_bytes(roles.filter) <= far:
        return {}
    says = soon is not None or (nest.reduction is not None and nest.reduction.soon)
    if says and (not roles.blocks or _panel_bytes(roles, parts) <= far):
        return {}
    return {roles.filter_number: TIMINGS.prefetch_bytes // element_bytes(roles.filter.element)}


def tilings(nest: Nest, roles: Roles, machine: MachineDescription) -> Iterator[Tiling]:
    """Yields all register tiles that fit into the registers."""
    steps = prod(d.size for d in nest.reduced)
    block = roles.blocks[-1] if roles.blocks else None
    choices: list[tuple[tuple[Dim, ...], int]] = [((), 1)]
    if roles.pixels:
        choices = [((roles.pixels[-1],), roles.pixels[-1].size)]
    if len(roles.pixels) > 1:
        last = roles.pixels[-2:]
        if nest.parallel.index(last[1]) == nest.parallel.index(last[0]) + 1:
            choices.append((last, prod(d.size for d in last)))
    for blocks in range(1, min(8, block.size if block else 1) + 1):
        block_parts = balanced(block.size, blocks) if block else ()
        for dims, size in choices:
            for most in range(1, min(size, machine.most_points(blocks * roles.vectors)) + 1):
                pixel_parts = balanced(size, most)
                count = sum(p.tiles for p in pixel_parts)
                if len(dims) > 1 and count > _MOST_LISTED:
                    continue
                parts = {dims[-1]: pixel_parts} if dims else {}
                if block:
                    parts[block] = block_parts
                listing = dims if len(dims) > 1 else ()
                cost = _cost(nest, roles, block_parts, pixel_parts, steps, machine)
                # a list replaces one dimension, so the other loops run more often
                covered = prod(d.size for d in (*dims, *([block] if block else ())))
                total = prod(d.size for d in nest.parallel if d is not roles.vector)
                yield Tiling(cost * total / covered, parts, listing)


def _far_reads(nest: Nest, roles: Roles, steps: int, machine: MachineDescription) -> float:
    """
    Returns the share of the pixels of a tile that come from a far cache; windows read a pixel
    several times.
    """
    size = nest.touched_bytes(roles.image)
    if size <= near_bytes(machine):
        return 0.0
    reads = prod(d.size for d in nest.parallel if roles.image.stride(d)) * steps
    return min(1.0, size / element_bytes(roles.image.element) / reads)


def _cost(
    nest: Nest,
    roles: Roles,
    block_parts: Sequence[Part],
    pixel_parts: Sequence[Part],
    steps: int,
    machine: MachineDescription,
) -> float:
    """Returns the cycles of all tiles."""
    total, variants = 0.0, 0
    far = _far_reads(nest, roles, steps, machine)
    for b in block_parts or (Part(0, 1, 1),):
        for p in pixel_parts or (Part(0, 1, 1),):
            filters = b.tile * roles.vectors
            points = filters * p.tile
            tile = tile_step(filters, p.tile, far) * steps + TIMINGS.tile_cycles
            tile += tile_results(points, nest.weight)
            total += tile * b.tiles * p.tiles
            variants += 1
    return total * (1 + TIMINGS.tile_variant_share * variants)
