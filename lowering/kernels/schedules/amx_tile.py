"""
Schedules for AMX tiles: products of bytes or of bf16, 16 pixels times 16 channels at once.

A tile of the image has a row for each of up to 16 pixels, with up to 64 bytes of neighbouring
channels. A tile of the filter has as many channels of 16 outputs. A step loads some tiles of both
and adds their products to accumulators, one for each pair. A nest qualifies if its filter and image
have groups of terms that take four bytes together, its filter has 16 outputs in a row of 64 bytes,
and its pixels are equally far apart.

Numbers of f32 may be multiplied as sums of parts in bf16. Then one of the reduced dimensions is
that of pairs of parts, whose places are tables; the image has words of two bf16.

Rows of pixels are cut into tiles of equal size. If rows are short, a tile has one row, and several
rows make a group; or the rows of a whole image form one list with the places between them, whose
results are dropped at the end. Measured on a Sapphire Rapids, two by two accumulators are best
nearly everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import prod

from xdsl.dialects.builtin import bf16, f32, i32

from ....glow_dialects.costs import amx_group, results
from ....glow_dialects.elements import element_bytes, is_byte, is_unsigned, storage_type
from ....glow_dialects.glow_nest.affine import Access, Dim, stride_of
from ....glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from ....glow_dialects.glow_nest.schedule import AmxTile, TileGroup
from ....glow_dialects.glow_vec import TileProduct
from ....glow_dialects.glow_vec.tiles import QUAD, TILE_BYTES, TILE_ROWS, TILES
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.timings import TIMINGS
from ....lazy import lazy_property
from .costed import Costed

COLUMNS = TILE_BYTES // QUAD
"""Outputs of a tile of the filter."""
_WITH_TILES = MachineDescription(has_int8_tiles=True, has_bf16_tiles=True)


@dataclass(frozen=True)
class TileRoles:
    """The roles of the dimensions of a product that qualifies for AMX tiles."""

    image: Access
    filter: Access
    product: TileProduct
    lane: Dim
    """The dimension of the outputs that lie in a row of the filter."""
    depth: Dim | None
    """The dimension of the groups of four terms that are neighbours in the image."""
    quads: int
    """The number of groups of four in a tile."""
    pitch: int
    """The distance in elements from a group of four to the next in the filter."""
    parts: Dim | None
    """The dimension of pairs of parts of numbers, at places that tables hold."""
    pixels: tuple[Dim, ...]
    """The parallel dimensions that only the image depends on; the last one is that of tiles."""
    panels: tuple[Dim, ...]
    """The parallel dimensions that only the filter depends on, without `lane`."""
    others: tuple[Dim, ...]

    @lazy_property
    def line(self) -> tuple[Dim, Dim]:
        """The dimensions of groups; dimensions that the nest lacks have size 1."""
        outer, inner = (Dim("row", 1), Dim("pixel", 1), *self.pixels)[-2:]
        return outer, inner

    @property
    def filter_size(self) -> int:
        """The bytes of an element of the filter."""
        return element_bytes(self.filter.element)


def tile_roles(nest: Nest, machine: MachineDescription) -> TileRoles | None:
    """Returns the roles of the dimensions of a simplified nest; None if it does not qualify."""
    reduction = nest.reduction
    if reduction is None or reduction.combine is not Combine.ADD or len(reduction.reads) != 2:
        return None
    image, filters = reduction.reads
    product = _product(reduction, machine)
    parts = next((d for d in nest.reduced if isinstance(image.stride(d), tuple)), None)
    if product is None or len(nest.writes) != 1 or not _is_plain(nest, parts):
        return None
    lane = next((d for d in nest.parallel if _is_lane(nest, d)), None)
    if lane is None:
        return None
    neighbours = QUAD // element_bytes(image.element)
    depth = next((d for d in nest.reduced if image.stride(d) == neighbours), None)
    quads, pitch = 1, COLUMNS * reduction.terms
    if depth is not None:
        quads = max(n for n in range(1, TILE_ROWS + 1) if depth.size % n == 0)
        pitch = stride_of(filters, depth)
        if pitch < COLUMNS * reduction.terms or quads < min(TIMINGS.least_amx_quads, depth.size):
            return None
    rest = [d for d in nest.parallel if d is not lane]
    pixels = tuple(d for d in rest if stride_of(filters, d) == 0 and stride_of(image, d) > 0)
    panels = tuple(d for d in rest if stride_of(image, d) == 0 and stride_of(filters, d) != 0)
    others = tuple(d for d in rest if d not in (*pixels, *panels))
    return TileRoles(
        image, filters, product, lane, depth, quads, pitch, parts, pixels, panels, others
    )


def _product(reduction: Reduction, machine: MachineDescription) -> TileProduct | None:
    """
    Returns the tile product that sums groups of four as a reduction does, if the machine has it.
    """
    image, filters = (storage_type(a.element) for a in reduction.reads)
    if machine.has_bf16_tiles and image in (bf16, i32) and filters == bf16:
        return TileProduct.BF16 if (reduction.element, reduction.terms) == (f32, 2) else None
    if not machine.has_int8_tiles or (reduction.element, reduction.terms) != (i32, QUAD):
        return None
    if not (is_byte(image) and is_byte(filters)):
        return None
    return TileProduct("_".join("u8" if is_unsigned(t) else "i8" for t in (image, filters)))


def _is_plain(nest: Nest, parts: Dim | None) -> bool:
    dims = [d for d in (*nest.parallel, *nest.reduced) if d is not parts]
    return all(
        a.indirect is None and all(isinstance(a.stride(d), int) for d in dims)
        for a in nest.accesses()
    )


def _is_lane(nest: Nest, dim: Dim) -> bool:
    """
    Returns whether a dimension consists of whole rows of the filter, or is a part of one that is
    alone.
    """
    assert nest.reduction is not None
    image, filters = nest.reduction.reads
    if (image.stride(dim), filters.stride(dim)) != (0, nest.reduction.terms):
        return False
    return nest.writes[0].stride(dim) == 1 and (dim.size < COLUMNS or dim.size % COLUMNS == 0)


@dataclass(frozen=True, kw_only=True)
class TilePlan(AmxTile):
    """A schedule with what the loops of its nest do."""

    roles: TileRoles

    @property
    def schedule(self) -> AmxTile:
        """The schedule alone."""
        return AmxTile(**{f.name: getattr(self, f.name) for f in fields(AmxTile)})

    @staticmethod
    def of(nest: Nest, schedule: AmxTile) -> TilePlan:
        """
        Returns the plan of a schedule. Raises ValueError if the nest is no product of AMX tiles.
        """
        roles = tile_roles(nest, _WITH_TILES)
        if roles is None:
            raise ValueError("expected a product that tile registers compute")
        return TilePlan(roles=roles, **vars(schedule))

    @property
    def line(self) -> tuple[Dim, Dim]:
        """The dimensions of groups."""
        return self.roles.line

    @property
    def repeats(self) -> int:
        """The number of times that all groups are computed, for other pixels and panels."""
        roles = self.roles
        outer = (*roles.others, *roles.pixels[:-2], *roles.panels)
        return prod(d.size for d in outer if d is not self.joined) * self.columns

    @property
    def units(self) -> int:
        """The number of groups of accumulators, which threads divide."""
        return self.repeats * sum(prod(g.counts) for g in self.groups)

    @property
    def columns(self) -> int:
        """The number of groups along the dimension of several panels."""
        whole = self.joined.size if self.joined is not None else self.roles.lane.size // COLUMNS
        return max(1, whole // self.panels)

    @property
    def panels_step(self) -> int:
        """The distance of groups along the dimension of several panels."""
        return self.panels * (1 if self.joined is not None else COLUMNS)

    @property
    def panel_bytes(self) -> int:
        """The bytes from one panel of the filter to the next."""
        if self.joined is None:
            return TILE_BYTES
        return stride_of(self.roles.filter, self.joined) * self.roles.filter_size

    @property
    def places(self) -> int:
        """The pixels that the memory for the results of a group holds."""
        return max(at + self.rows for g in self.groups for *_, at in g.tiles)

    @property
    def images(self) -> int:
        """The largest number of image tiles in a group."""
        return max(len(g.tiles) for g in self.groups)


def plan_tiles(nest: Nest, machine: MachineDescription) -> TilePlan | None:
    """Returns the plan of a simplified nest with AMX tiles; None if it does not qualify."""
    return next(iter(tile_plans(nest, machine)), None)


def tile_plans(nest: Nest, machine: MachineDescription) -> Sequence[TilePlan]:
    """Returns all plans of a simplified nest with AMX tiles, the fastest by estimate first."""
    roles = tile_roles(nest, machine)
    if roles is None:
        return []
    return sorted(_plans(roles), key=lambda plan: _cost(nest, plan))


def amx_product(nest: Nest, machine: MachineDescription) -> Costed | None:
    """Returns a product in tile registers; None if they do not compute it."""
    plan = plan_tiles(nest, machine)
    if plan is None:
        return None
    vectors = prod(d.size for d in nest.parallel) / COLUMNS
    cycles = _cost(nest, plan) + results(vectors, nest.weight)
    return Costed(cycles, nest, plan.schedule)


def _plans(roles: TileRoles) -> Iterator[TilePlan]:
    joined, whole = None, roles.lane.size // COLUMNS
    if whole <= 1:
        joined = roles.panels[-1] if roles.panels else None
        whole = joined.size if joined is not None else 1
    for panels in (n for n in (1, 2, 3) if whole % n == 0):
        most = min(4, (TILES - 1 - panels) // panels)
        for rows, groups in _groupings(roles, most):
            yield TilePlan(
                roles=roles, rows=rows, panels=panels, joined=joined, groups=tuple(groups)
            )


def _groupings(roles: TileRoles, most: int) -> Iterator[tuple[int, list[TileGroup]]]:
    """Yields the rows of a tile, and groups of at most `most` tiles."""
    image, (outer, inner) = roles.image, roles.line
    for tiles in range(1, most + 1):
        yield _along(outer.size, inner.size, tiles, 1)
        yield _along(outer.size, inner.size, tiles, tiles)
        if inner.size <= TILE_ROWS and tiles <= outer.size:
            yield inner.size, list(_across(outer.size, inner.size, tiles))
    pitch, odd = divmod(stride_of(image, outer), stride_of(image, inner) or 1)
    length = (outer.size - 1) * pitch + inner.size
    if outer.size > 1 and not odd and pitch >= inner.size and length <= most * TILE_ROWS:
        tiles = -(-length // TILE_ROWS)
        rows = -(-length // tiles)
        places = [min(i * rows, length - rows) for i in range(tiles)]
        whole = tuple((0, at, at) for at in places)
        yield rows, [TileGroup((0, 0), (1, 1), (outer.size, inner.size), whole, 0, pitch)]


def _along(lines: int, size: int, tiles: int, multiple: int) -> tuple[int, list[TileGroup]]:
    """
    Returns tiles beside each other in a line: the fewest, or the fewest that are a multiple of a
    number. The tiles of the last group end with the line.
    """
    rows = -(-size // (-(-size // (TILE_ROWS * multiple)) * multiple))
    width = rows * tiles
    full, rest = divmod(size, width)
    groups = []
    if full:
        places = tuple((0, i * rows, i * rows) for i in range(tiles))
        groups.append(TileGroup((0, 0), (lines, full), (1, width), places, 0, width))
    if rest:
        last = -(-rest // rows)
        first = max(rest - last * rows, -full * width)
        ends = [min(first + i * rows, rest - rows) for i in range(last)]
        places = tuple((0, at, at - first) for at in ends)
        groups.append(TileGroup((0, full * width), (lines, 1), (1, rest), places, -first, rest))
    return rows, groups


def _across(lines: int, size: int, tiles: int) -> Iterator[TileGroup]:
    """Yields tiles of one line each."""
    full, rest = divmod(lines, tiles)
    for start, count, some in ((0, full, tiles), (full * tiles, 1, rest)):
        if count and some:
            places = tuple((i, 0, i * size) for i in range(some))
            yield TileGroup((start, 0), (count, 1), (some, size), places, 0, size)


def _cost(nest: Nest, plan: TilePlan) -> float:
    """Returns the cycles of all groups, without the rest of the nest on their results."""
    total, steps = 0.0, prod(d.size for d in nest.reduced) // plan.roles.quads
    for group in plan.groups:
        sizes = (len(group.tiles), plan.panels, plan.rows, plan.roles.quads)
        total += prod(group.counts) * amx_group(*sizes, steps)
    return total * plan.repeats


def filter_bytes(nest: Nest, roles: TileRoles) -> int:
    """
    Returns the bytes of the filter that a nest reads for each point of the dimensions that both
    operands have.
    """
    dims = [d for d in (*nest.parallel, *nest.reduced) if d not in (*roles.others, roles.parts)]
    copies = 1 if roles.parts is None else len(set(table_of(roles.filter, roles.parts)))
    return QUAD * copies * prod(d.size for d in dims if stride_of(roles.filter, d))


def image_bytes(nest: Nest, roles: TileRoles) -> int:
    """Returns the bytes from the first to the last element of the image, for each such point."""
    last = sum(
        (d.size - 1) * stride_of(roles.image, d)
        for d in (*nest.parallel, *nest.reduced)
        if d not in (*roles.others, roles.parts)
    )
    last += 0 if roles.parts is None else max(table_of(roles.image, roles.parts))
    return (last + 1) * element_bytes(roles.image.element)


def table_of(access: Access, dim: Dim) -> tuple[int, ...]:
    """Returns the place of an access for each value of a dimension."""
    stride = access.stride(dim)
    return stride if isinstance(stride, tuple) else tuple(stride * i for i in range(dim.size))
