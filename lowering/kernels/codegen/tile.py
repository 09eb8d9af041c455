"""A tile of vectors of a nest: where it is, and which elements it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ....glow_dialects.glow_nest.affine import Access, Dim, TableRows
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import RegisterTile, VectorSchedule
from ....glow_dialects.timings import TIMINGS
from ..threads.split import TileSpan
from .emit import Emitter, IndexLike
from .memory import Address, Addresses, FlatBuffers, Point, offset_of
from .types import vector_type


@dataclass(frozen=True)
class Tile:
    """A register tile, as far as the loops around it say where it is."""

    nest: Nest
    schedule: VectorSchedule
    memory: FlatBuffers
    places: Addresses
    elements: Mapping[Dim, range] = field(default_factory=dict)
    """For dimensions with parts: the elements of the tile, from where it is."""
    starts: Mapping[Dim, IndexLike] = field(default_factory=dict)
    """For dimensions whose tables are rows: the number of the first element."""
    listed: dict[object, IndexLike] = field(default_factory=dict)
    """The places of elements in tables that were computed for this tile."""
    revisited: IndexLike | None = None
    """The number of first elements along the vectors that were already visited."""
    until: SSAValue | None = None
    """The number of elements along the vectors that count; None for all."""
    counts: Mapping[Dim, SSAValue] = field(default_factory=dict)
    """How many values limited loops have."""
    has_sums: SSAValue | None = None
    """In a chunk of the reduction: whether there are sums of former chunks."""
    goes_on: SSAValue | None = None
    """In a chunk of the reduction: whether chunks follow."""
    is_minor: bool = False
    """Whether a small part of the elements is in tiles with the same code."""

    def at(self, dim: Dim, span: TileSpan, number: IndexLike) -> Tile:
        """Returns the tile that begins `number` elements behind the start of a span of a loop."""
        e, revisited = self.memory.emitter, self.revisited
        has_sums, goes_on = self.has_sums, self.goes_on
        chunks = self.schedule.chunks if isinstance(self.schedule, RegisterTile) else None
        if chunks is not None and dim is chunks.number:
            has_sums = e.compare("ne", e.index(number), e.index(0))
            goes_on = e.compare("ne", e.index(number), e.index(dim.size - 1))
        elements = self.elements if span.tile is None else {**self.elements, dim: span.tile}
        starts, moved = self.starts, self.places
        if span.in_rows:
            starts = {**starts, dim: _sum(e, number, span.start)}
            moved = {a: p for a, p in moved.items() if isinstance(a.stride(dim), int)}
        there = self.memory.advance(moved, dim, span.start)
        if span.clamp is not None:
            assert not isinstance(number, int)
            start = e.smaller(number, span.clamp)
            if self.nest.in_place and dim is self.schedule.vector:
                revisited = e.minus(number, start)
            number = start
        if span.revisited is not None:
            revisited = span.revisited
        return replace(
            self,
            places={**self.places, **self.memory.advance(there, dim, number)},
            elements=elements,
            starts=starts,
            listed={},
            revisited=revisited,
            has_sums=has_sums,
            goes_on=goes_on,
            is_minor=self.is_minor or span.stop < TIMINGS.least_unrolled_part * dim.size,
        )

    def moved(self, dim: Dim, number: IndexLike) -> Tile:
        """Returns the same tile so many elements further along a loop."""
        return replace(self, places=self.memory.advance(self.places, dim, number))

    def place(self, access: Access, point: Point) -> Address:
        """Returns the place of an access at a point of the tile."""
        place = self.places[access]
        if not self.starts:
            return place.moved(offset_of(access, point))
        tables = {d: t for d in self.starts if isinstance(t := access.stride(d), tuple)}
        for dim, table in tables.items():
            place = self.memory.further(place, self._listed(table, dim, point.get(dim, 0)))
        return place.moved(offset_of(access, {d: n for d, n in point.items() if d not in tables}))

    def _listed(self, table: tuple[int, ...], dim: Dim, element: int) -> IndexLike:
        """Returns the place in a table of an element of the tile, which is computed once."""
        e, key = self.memory.emitter, (table, dim, element)
        if key not in self.listed:
            rows = TableRows.of(table)
            assert rows is not None
            number = _sum(e, self.starts[dim], element)
            if isinstance(number, int):
                self.listed[key] = rows.place(number)
            else:
                row = e.times(e.quotient(number, rows.size), rows.apart - rows.size * rows.step)
                self.listed[key] = e.plus(row, e.times(number, rows.step))
        return self.listed[key]

    def points(self, dims: Sequence[Dim], schedule: VectorSchedule) -> list[Point]:
        """Returns the elements of the tile: for vectors, where their first lane is."""
        tiled = [d for d in dims if schedule.tiles(d) > 1 or d in self.elements]
        tiled.sort(key=lambda d: d is schedule.fastest)
        unit = {d: schedule.lanes if d is schedule.vector else 1 for d in tiled}
        ranges = [self.elements.get(d, range(schedule.tiles(d))) for d in tiled]
        return [
            {d: i * unit[d] for d, i in zip(tiled, place, strict=True)}
            for place in product(*ranges)
        ]

    def fresh(self, point: Point) -> SSAValue | None:
        """Returns the mask of lanes that count and were not visited yet; None for all."""
        vector_dim, lanes, until = self.schedule.vector, self.schedule.lanes, self.until
        if vector_dim is None or lanes == 1:
            return None
        before = point.get(vector_dim, 0)
        fresh = self._unvisited(before, lanes)
        if until is None:
            return fresh
        e = self.memory.emitter
        inside = e.first_lanes(e.minus(until, before), lanes)
        return inside if fresh is None else e.binary(arith.AndIOp, fresh, inside)

    def _unvisited(self, before: int, lanes: int) -> SSAValue | None:
        """Returns the mask of the lanes behind those that were visited; None for all."""
        e, revisited, t = self.memory.emitter, self.revisited, vector_type(i1, lanes)
        if revisited is None:
            return None
        if isinstance(revisited, int):
            count = revisited - before
            return e.constant(t, [int(i >= count) for i in range(lanes)]) if count > 0 else None
        visited = e.first_lanes(e.minus(revisited, before), lanes)
        return e.binary(arith.XOrIOp, visited, e.constant(t, 1))

    def resolved(self, accesses: Sequence[Access]) -> Tile:
        """Returns the tile with the indices applied that memory holds for accesses."""
        # several accesses may depend on one index
        known: dict[object, SSAValue] = {}
        # an access may be both read and written
        resolved = {a: self._resolved(a, known) for a in dict.fromkeys(accesses)}
        return replace(self, places={**self.places, **resolved})

    def _resolved(self, access: Access, known: dict[object, SSAValue]) -> Address:
        if access.indirect is None:
            return self.places[access]
        of = access.indirect
        index = self._resolved(of.access, known)
        key = (of.access.buffer, index, of.size, of.stride, of.unsigned)
        if key not in known:
            known[key] = self.memory.distance(of, self.memory.load_one(of.access, index))
        place = self.places[access]
        return Address(self.memory.emitter.plus(known[key], place.dynamic or 0), place.constant)


def _sum(e: Emitter, a: IndexLike, b: int) -> IndexLike:
    """Returns the sum of two numbers, which is known if both are."""
    return a + b if isinstance(a, int) else e.plus(a, b)
