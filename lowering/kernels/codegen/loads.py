"""The loads of a register tile."""

from __future__ import annotations

from ....glow_dialects.glow_nest.affine import Access, Dim
from ....glow_dialects.glow_nest.schedule import Elementwise
from .algebra import ArithAlgebra, Value
from .memory import Address, Point
from .tile import Tile

Loaded = dict[tuple[Access, Address], Value]


class Loads:
    """
    Loads at the points of a tile. An element that several points need is loaded once, and once for
    several tiles of one block of code if they share `loaded`.
    """

    def __init__(
        self,
        tile: Tile,
        algebra: ArithAlgebra,
        reduces: bool = False,
        loaded: Loaded | None = None,
    ):
        """`reduces` says whether these are the reads of the reduction."""
        self._tile = tile
        self._lanes = tile.schedule.lanes
        self._vector = tile.schedule.vector
        self._algebra = algebra
        self._reduces = reduces
        self._loaded: Loaded = {} if loaded is None else loaded

    def __call__(self, access: Access, point: Point) -> Value:
        vector = self._vector
        if vector is None:
            return self._once(access, point)
        if isinstance(table := access.stride(vector), tuple):
            return self._spread(access, point, vector, table)
        if self._lanes > 1 and access.is_chosen_along(vector):
            return self._chosen(access, point, vector)
        return self._once(access, point)

    def _chosen(self, access: Access, point: Point, vector: Dim) -> Value:
        """Returns lanes each of which an index of its own places."""
        assert access.indirect is not None
        tile = self._tile
        place, index_place = (tile.place(a, point) for a in (access, access.indirect.access))
        return tile.memory.load_chosen(access, place, index_place, vector, self._algebra)

    def _once(self, access: Access, point: Point) -> Value:
        key = (access, self._tile.place(access, point))
        if key not in self._loaded:
            self._loaded[key] = self._load(*key)
        return self._loaded[key]

    def _spread(self, access: Access, point: Point, vector: Dim, table: tuple[int, ...]) -> Value:
        """
        Returns lanes that a table selects from one vector, which is loaded as it lies in memory.
        """
        lanes, first = self._lanes, point.get(vector, 0)
        start = table[first] // lanes * lanes
        # the place that the table gives for the first lane of that vector
        loaded = self._once(access, {**point, vector: table.index(start)})
        mask = [t - start for t in table[first : first + lanes]]
        return loaded._replace(ssa=self._algebra.emitter.shuffle(loaded.ssa, loaded.ssa, mask))

    def _load(self, access: Access, place: Address) -> Value:
        memory, nest, lanes = self._tile.memory, self._tile.nest, self._lanes
        stride = access.stride(self._vector) if self._vector is not None else 0
        stride = 1 if isinstance(stride, tuple) else stride
        reduction, schedule = nest.reduction, self._tile.schedule
        if isinstance(schedule, Elementwise) and schedule.prefetch_distance:
            distance = schedule.prefetch_distance.get(nest.operands.index(access))
            if distance is not None:
                memory.prefetch(access, place.moved(distance), locality=2)
        if not self._reduces or reduction is None or reduction.terms == 1:
            return memory.load(access, place, stride, self._algebra)
        if reduction.fields and access is reduction.reads[0]:
            ssa = memory.load_fields(access, place, reduction.fields, reduction.terms, lanes)
        else:
            ssa = memory.load_neighbours(access, place, stride, reduction.terms, lanes)
        return Value(ssa, access.element)


def loaded_before(tile: Tile, algebra: ArithAlgebra) -> Loaded:
    """
    Loads the operands of a nest without reduction that are the same at all points and that it does
    not write.
    """
    loaded: Loaded = {}
    nest = tile.nest
    if nest.reduction is not None:
        return loaded
    loads = Loads(tile, algebra, loaded=loaded)
    written = {a.buffer for a in nest.writes}
    for access in nest.operands:
        is_fixed = access.indirect is None and not any(access.stride(d) for d in nest.parallel)
        if is_fixed and access.buffer not in written:
            loads(access, {})
    return loaded
