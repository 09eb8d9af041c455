"""The loads of a register tile."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....glow_dialects.glow_nest.affine import Access, Dim, stride_of
from ....glow_dialects.glow_nest.schedule import Elementwise
from .algebra import ArithAlgebra, Value
from .memory import Address, Point
from .tile import Tile
from .types import memory_type

Loaded = dict[tuple[Access, Address], Value]


@dataclass(frozen=True)
class Loads:
    """
    Loads at the points of a tile. An element that several points need is loaded once, and once for
    several tiles of one block of code if they share `loaded`.
    """

    tile: Tile
    algebra: ArithAlgebra
    reduces: bool = False
    """Whether these are the reads of the reduction."""
    loaded: Loaded = field(default_factory=dict)

    def __call__(self, access: Access, point: Point) -> Value:
        vector, lanes = self.tile.schedule.vector, self.tile.schedule.lanes
        if vector is not None:
            if isinstance(table := access.stride(vector), tuple):
                return self._spread(access, point, vector, table)
            if lanes > 1 and access.is_chosen_along(vector):
                return self._chosen(access, point, vector)
        return self._once(access, point)

    def _chosen(self, access: Access, point: Point, vector: Dim) -> Value:
        """Returns lanes each of which an index of its own places."""
        memory, algebra, indirect = self.tile.memory, self.algebra, access.indirect
        assert indirect is not None
        place, index_place = (self.tile.place(a, point) for a in (access, indirect.access))
        step, stride = stride_of(indirect.access, vector), stride_of(access, vector)
        indices = memory.load(indirect.access, index_place, step, algebra).ssa
        e, buffer = memory.emitter, memory.flat[access.buffer]
        lookup = algebra.machine.byte_lookup(algebra.lanes)
        if lookup is not None and access.looks_up_bytes and not stride:
            # the bits of an index that counts from either end are the place of its byte
            found = e.lookup(lookup, buffer, memory.at(place), indices)
        else:
            offsets = memory.distance(indirect, indices)
            if stride:
                offsets = e.plus(offsets, e.multiples(stride, algebra.lanes))
            found = e.gather(buffer, memory.at(place), memory_type(access.element), offsets)
        return algebra.from_memory(found, access.element)

    def _once(self, access: Access, point: Point) -> Value:
        key = (access, self.tile.place(access, point))
        if key not in self.loaded:
            self.loaded[key] = self._load(*key)
        return self.loaded[key]

    def _spread(self, access: Access, point: Point, vector: Dim, table: tuple[int, ...]) -> Value:
        """
        Returns lanes that a table selects from one vector, which is loaded as it lies in memory.
        """
        lanes, first = self.tile.schedule.lanes, point.get(vector, 0)
        start = table[first] // lanes * lanes
        # the place that the table gives for the first lane of that vector
        loaded = self._once(access, {**point, vector: table.index(start)})
        mask = [t - start for t in table[first : first + lanes]]
        return loaded._replace(ssa=self.algebra.emitter.shuffle(loaded.ssa, loaded.ssa, mask))

    def _load(self, access: Access, place: Address) -> Value:
        memory, nest, schedule = self.tile.memory, self.tile.nest, self.tile.schedule
        stride = access.stride(schedule.vector) if schedule.vector is not None else 0
        stride = 1 if isinstance(stride, tuple) else stride
        if isinstance(schedule, Elementwise) and schedule.prefetch_distance:
            distance = schedule.prefetch_distance.get(nest.operands.index(access))
            if distance is not None:
                memory.prefetch(access, place.moved(distance), locality=2)
        of, lanes = nest.reduction, schedule.lanes
        if not self.reduces or of is None or of.terms == 1:
            return memory.load(access, place, stride, self.algebra)
        if of.fields and access is of.reads[0]:
            ssa = memory.load_fields(access, place, of.fields, of.terms, lanes)
        else:
            ssa = memory.load_neighbours(access, place, stride, of.terms, lanes)
        return Value(ssa, access.element)


def loaded_before(tile: Tile, algebra: ArithAlgebra) -> Loaded:
    """
    Loads the operands of a nest without reduction that are the same at all points and that it does
    not write.
    """
    nest, loads = tile.nest, Loads(tile, algebra)
    written = {a.buffer for a in nest.writes}
    for access in nest.operands if nest.reduction is None else ():
        is_fixed = access.indirect is None and not any(access.stride(d) for d in nest.parallel)
        if is_fixed and access.buffer not in written:
            loads(access, {})
    return loads.loaded
