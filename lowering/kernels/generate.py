"""From a nest and its schedule to loops: the only place that writes structured control flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from .affine import Access, Dim
from .algebra import ArithAlgebra, Value, identity
from .emit import REASSOCIATE, Emitter, scalar_of
from .machine import MachineDescription
from .memory import Memory, Place
from .nest import Combine, Nest, Repeat, Step, simplified
from .register_tile import tiled_product
from .schedule import Part, Schedule, choose_schedule
from .types import computes_in_float, vector_type

Places = Mapping[Access, Place]
Point = Mapping[Dim, int]
"""Where an element of a register tile is, relative to the tile."""


def generate(
    steps: Sequence[Step],
    emitter: Emitter,
    memory: Memory,
    machine: MachineDescription,
    bound: Mapping[Dim, SSAValue | int] | None = None,
) -> None:
    """Emit steps one after the other; `bound` has the values of enclosing loop variables."""
    bound = bound or {}
    for step in steps:
        if isinstance(step, Repeat):

            def body(
                iv: SSAValue | int, _: Sequence[SSAValue], step: Repeat = step
            ) -> Sequence[SSAValue]:
                generate(step.steps, emitter, memory, machine, {**bound, step.dim: iv})
                return ()

            emitter.loop(step.dim.size, 1, (), body)
            continue
        nest = simplified(step)
        if not nest.is_empty:
            tiled = tiled_product(nest, machine)
            nest, schedule = tiled or (nest, choose_schedule(nest, machine))
            _NestGenerator(nest, schedule, emitter, memory, machine).run(bound)


class _NestGenerator:
    def __init__(
        self,
        nest: Nest,
        schedule: Schedule,
        emitter: Emitter,
        memory: Memory,
        machine: MachineDescription,
    ):
        self.nest = nest
        self.schedule = schedule
        self.e = emitter
        self.memory = memory
        self.machine = machine
        self.across = schedule.vector in nest.reduced
        """Whether lanes run over a reduced dimension, so that a result is one lane."""
        self.wide = ArithAlgebra(emitter, machine, schedule.lanes)
        self.narrow = ArithAlgebra(emitter, machine, 1) if self.across else self.wide
        self.tile_of: dict[Dim, range] = {}
        """For dimensions with parts: the elements of the present tile, from where it is."""

    def run(self, bound: Mapping[Dim, SSAValue | int]) -> None:
        accesses = self.nest.accesses()
        accesses += [a.indirect.access for a in accesses if a.indirect is not None]
        places: Places = {a: self.memory.start(a) for a in accesses}
        for dim, value in bound.items():
            places = self.memory.advance(places, dim, value)
        self._parallel(0, places, None)

    # loops over tiles

    def _parallel(self, level: int, places: Places, stale: SSAValue | int | None) -> None:
        """`stale`: how many of the tile's first elements along the vectors were already visited."""
        if level == len(self.schedule.order):
            self._tile(places, stale)
            return
        dim = self.schedule.order[level]
        if dim in self.schedule.parts:
            for part in self.schedule.parts[dim]:
                self._part(level, part, places, stale)
            return
        step = self.schedule.step(dim)
        overlaps = dim.size % step != 0
        peeled = overlaps and self.nest.reduction is None
        masked = self.nest.in_place and overlaps and dim is self.schedule.vector

        def body(iv: SSAValue | int, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            start, skip = iv, stale
            if overlaps and not peeled:
                assert not isinstance(iv, int)
                # the last tile is moved back to end with the dimension
                start = self.e.binary(arith.MinSIOp, iv, self.e.index(dim.size - step))
                if masked:
                    skip = self.e.binary(arith.SubiOp, iv, start)
            self._parallel(level + 1, self.memory.advance(places, dim, start), skip)
            return ()

        if not peeled:
            self.e.loop(dim.size, step, (), body)
            return
        full = dim.size // step * step
        self.e.loop(full, step, (), body)
        last = dim.size - step
        skip = full - last if masked else stale
        self._parallel(level + 1, self.memory.advance(places, dim, last), skip)

    def _part(self, level: int, part: Part, places: Places, stale: SSAValue | int | None) -> None:
        """The tiles of one part of a dimension."""
        dim = self.schedule.order[level]
        if dim in self.schedule.static:
            for start in range(part.start, part.stop, part.tile):
                self.tile_of[dim] = range(start, start + part.tile)
                self._parallel(level + 1, places, stale)
            return

        def body(iv: SSAValue | int, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.tile_of[dim] = range(part.tile)
            there = self.memory.advance(places, dim, part.start)
            self._parallel(level + 1, self.memory.advance(there, dim, iv), stale)
            return ()

        self.e.loop(part.stop - part.start, part.tile, (), body)

    def _points(self, dims: Sequence[Dim]) -> list[Point]:
        """The elements of the register tile: for vectors, where their first lane is."""
        tiled = [d for d in dims if self.schedule.tiles(d) > 1 or d in self.tile_of]
        tiled.sort(key=lambda d: d is self.schedule.fastest)
        unit = {d: self.schedule.lanes if d is self.schedule.vector else 1 for d in tiled}
        ranges = [self.tile_of.get(d, range(self.schedule.tiles(d))) for d in tiled]
        return [
            {d: i * unit[d] for d, i in zip(tiled, place, strict=True)}
            for place in product(*ranges)
        ]

    # one tile

    def _tile(self, places: Places, stale: SSAValue | int | None) -> None:
        points = self._points(self.schedule.order)
        results: Sequence[Value | None] = [None] * len(points)
        if self.nest.reduction is not None:
            results = self._reduction(places, points)
        places = self._resolved(places, self.nest.operands)
        loads = _Loads(self, places, self.narrow)
        stride = 0 if self.across else 1
        for point, result in zip(points, results, strict=True):
            operands = [loads(a, point) for a in self.nest.operands]
            arguments = operands if result is None else [result, *operands]
            values = arguments if self.nest.raw else self.nest.body(self.narrow, arguments)
            mask = self._fresh(point, stale) if stride else None
            for value, access in zip(values, self.nest.writes, strict=True):
                self._store(value, access, places[access], point, mask)

    def _store(
        self, value: Value, access: Access, place: Place, point: Point, mask: SSAValue | None
    ) -> None:
        vector_dim = self.schedule.vector
        stride = access.stride(vector_dim) if vector_dim is not None else 0
        assert isinstance(stride, int)
        offset = _offset(access, point)
        self.memory.store(value, access, place, offset, stride, mask, self.narrow, self.nest.raw)

    def _fresh(self, point: Point, stale: SSAValue | int | None) -> SSAValue | None:
        """The mask of lanes that were not visited yet; None for all."""
        vector_dim, lanes = self.schedule.vector, self.schedule.lanes
        if stale is None or vector_dim is None or lanes == 1:
            return None
        before = point.get(vector_dim, 0)
        t = vector_type(i1, lanes)
        if isinstance(stale, int):
            count = stale - before
            return (
                self.e.constant(t, [int(i >= count) for i in range(lanes)]) if count > 0 else None
            )
        count = self.e.binary(arith.SubiOp, stale, self.e.index(before)) if before else stale
        visited = self.e.first_lanes(count, lanes)
        return self.e.binary(arith.XOrIOp, visited, self.e.constant(t, 1))

    def _resolved(self, places: Places, accesses: Sequence[Access]) -> Places:
        """Places with the indices that memory holds applied."""
        resolved = dict(places)
        for access in accesses:
            if access.indirect is not None:
                index = places[access.indirect.access]
                resolved[access] = self.memory.indirect(access, places[access], index)
        return resolved

    # reductions

    def _reduction(self, places: Places, points: Sequence[Point]) -> list[Value]:
        reduction = self.nest.reduction
        assert reduction is not None
        start = self.wide.number(identity(reduction.combine, reduction.element), reduction.element)
        # lanes over a reduced dimension may have several accumulators for each point
        inner = self._points([self.schedule.vector]) if self.across else [{}]  # pyright: ignore
        spread = [{**p, **q} for p in points for q in inner]
        accumulators = self._reduced(0, places, spread, [start.ssa] * len(spread), None)
        if not self.across:
            return [Value(a, reduction.element) for a in accumulators]
        n = len(inner)
        groups = [accumulators[i : i + n] for i in range(0, len(accumulators), n)]
        return [self._across_lanes(group) for group in groups]

    def _reduced(
        self,
        level: int,
        places: Places,
        points: Sequence[Point],
        accumulators: Sequence[SSAValue],
        stale: int | None,
    ) -> Sequence[SSAValue]:
        if level == len(self.schedule.reduction_order):
            return self._accumulate(places, points, accumulators, stale)
        dim = self.schedule.reduction_order[level]
        if dim in self.schedule.unrolled:
            for i in range(dim.size):
                there = self.memory.advance(places, dim, i)
                accumulators = self._reduced(level + 1, there, points, accumulators, stale)
            return accumulators

        def body(iv: SSAValue | int, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            there = self.memory.advance(places, dim, iv)
            return self._reduced(level + 1, there, points, carried, stale)

        if level == len(self.schedule.reduction_order) - 1:
            self._prefetch_next(places, points)
        step = self.schedule.step(dim)
        full = dim.size // step * step
        accumulators = self.e.loop(full, step, accumulators, body)
        if full < dim.size:
            # the rest: a tile that ends with the dimension, without the lanes that were counted
            last = self.memory.advance(places, dim, dim.size - step)
            counted = full - (dim.size - step)
            accumulators = self._reduced(level + 1, last, points, accumulators, counted)
        return accumulators

    def _prefetch_next(self, places: Places, points: Sequence[Point]) -> None:
        reduction = self.nest.reduction
        assert reduction is not None
        for number, dim in self.schedule.next_tile.items():
            access = reduction.reads[number]
            distance = _offset(access, {dim: len(self.tile_of[dim])})
            for offset in sorted({_offset(access, point) for point in points}):
                self.memory.prefetch(access, places[access], offset + distance)

    def _accumulate(
        self,
        places: Places,
        points: Sequence[Point],
        accumulators: Sequence[SSAValue],
        stale: int | None,
    ) -> list[SSAValue]:
        reduction = self.nest.reduction
        assert reduction is not None
        loads = _Loads(self, places, self.wide)
        results = []
        for point, accumulator in zip(points, accumulators, strict=True):
            mask = self._fresh(point, stale)
            acc = Value(accumulator, reduction.element)
            values = [loads(a, point) for a in reduction.reads]
            if reduction.is_product:
                new = self.wide.multiply_add(values[1], values[0], acc)
            else:
                mapped = values if reduction.map is None else reduction.map(self.wide, values)
                new = self.wide.combine(reduction.combine, acc, mapped[0])
            ssa = new.ssa if mask is None else self.e.select(mask, new.ssa, accumulator)
            results.append(ssa)
        for number, distance in self.schedule.ahead.items():
            access = reduction.reads[number]
            for offset in sorted({_offset(access, point) for point in points}):
                self.memory.prefetch(access, places[access], offset + distance)
        return results

    def _across_lanes(self, group: Sequence[SSAValue]) -> Value:
        """Combines accumulators, then their lanes."""
        reduction = self.nest.reduction
        assert reduction is not None
        total = Value(group[0], reduction.element)
        for other in group[1:]:
            total = self.wide.combine(reduction.combine, total, Value(other, reduction.element))
        kind = _LANE_REDUCTIONS.get(reduction.combine)
        if kind is not None and computes_in_float(reduction.element):
            properties = {"kind": kind, "fastmath": REASSOCIATE}
            t = scalar_of(total.ssa.type)
            ssa = self.e.op(vector.ReductionOp, (total.ssa,), t, dict(properties))
            return Value(ssa, reduction.element)
        lanes = self.schedule.lanes
        while lanes > 2:
            lanes //= 2
            halves = (range(lanes), range(lanes, 2 * lanes))
            low, high = (self.e.shuffle(total.ssa, total.ssa, half) for half in halves)
            total = self.wide.combine(
                reduction.combine, Value(low, total.element), Value(high, total.element)
            )
        low, high = (Value(self.e.extract(total.ssa, i), total.element) for i in (0, 1))
        return self.narrow.combine(reduction.combine, low, high)


_LANE_REDUCTIONS = {
    Combine.ADD: vector.CombiningKindAttr(vector.CombiningKindFlag.ADD),
    Combine.MUL: vector.CombiningKindAttr(vector.CombiningKindFlag.MUL),
    Combine.MAXIMUM: vector.CombiningKindAttr(vector.CombiningKindFlag.MAXIMUMF),
    Combine.MINIMUM: vector.CombiningKindAttr(vector.CombiningKindFlag.MINIMUMF),
}


class _Loads:
    """Loads of one tile: what several of its elements need is loaded once."""

    def __init__(self, generator: _NestGenerator, places: Places, algebra: ArithAlgebra):
        self._generator = generator
        self._places = places
        self._algebra = algebra
        self._done: dict[tuple[Access, int], Value] = {}

    def __call__(self, access: Access, point: Point) -> Value:
        offset = _offset(access, point)
        key = (access, offset)
        if key not in self._done:
            generator = self._generator
            vector_dim = generator.schedule.vector
            stride = access.stride(vector_dim) if vector_dim is not None else 0
            assert isinstance(stride, int)
            self._done[key] = generator.memory.load(
                access, self._places[access], offset, stride, self._algebra, generator.nest.raw
            )
        return self._done[key]


def _offset(access: Access, point: Point) -> int:
    total = 0
    for dim, value in point.items():
        stride = access.stride(dim)
        total += stride * value if isinstance(stride, int) else stride[value]
    return total
