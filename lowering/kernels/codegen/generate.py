"""The loops of a nest and its schedule: the only place that writes structured control flow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ....glow_dialects.glow_nest.affine import Access, Dim
from ....glow_dialects.glow_nest.nest import Nest, identity, simplified
from ....glow_dialects.glow_nest.schedule import (
    AmxTile,
    Chunks,
    GatheredDot,
    Reducing,
    RegisterTile,
    RegisterTranspose,
    Schedule,
    Split,
    VectorSchedule,
)
from ....glow_dialects.machine import MachineDescription
from ..schedules.amx_tile import TilePlan
from ..schedules.best_schedule import best_schedule
from ..threads.split import Group, Share, Span, groups_of, spans_of, weight_of
from .algebra import ArithAlgebra, Value
from .amx_generator import TileGenerator
from .emit import Emitter
from .interleaved_store import interleaved, interleaves
from .loads import Loaded, Loads, Places, Point, loaded_before, offset_of
from .memory import Memory, Place
from .nonzero_list import Bound
from .register_transpose import copy_turned
from .row_lanes import LaneReduction
from .types import vector_type


class NestGenerator:
    """The code of one nest."""

    def __init__(
        self,
        nest: Nest,
        schedule: VectorSchedule,
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
        self.finishing = schedule.finishing
        """How results are written, if not as they are reduced."""
        is_number = self.across and self.finishing is schedule
        self.narrow = ArithAlgebra(emitter, machine, 1 if is_number else self.finishing.lanes)
        self._loops = schedule.reduced if isinstance(schedule, Reducing) else ()
        self._tile_schedule = schedule if isinstance(schedule, RegisterTile) else None
        lines = schedule.prefetch_lines if isinstance(schedule, Reducing) else None
        self._prefetched = () if lines is None else lines.accesses(nest)
        """What each step of the reduction prefetches."""
        self.tile_of: dict[Dim, range] = {}
        """For dimensions with parts: the elements of the present tile, from where it is."""
        self._fixed: Loaded = {}
        """Operands that are the same at all points."""
        self._loaded: Loaded = {}
        self._has_sums: SSAValue | None = None
        """In a chunk of the reduction: whether there are sums of former chunks."""
        self._split: Split | None = None
        self._share: Share | None = None

    def run(
        self,
        bound: Bound,
        split: Split | None = None,
        share: Share | None = None,
    ) -> None:
        """
        Emit the nest for the values of enclosing loop variables; with a split, only what `share`
        says is this thread's.
        """
        self._split, self._share = split, share
        accesses = self.nest.accesses(self._prefetched)
        accesses += [a.indirect.access for a in accesses if a.indirect is not None]
        places: Places = {a: self.memory.start(a) for a in accesses}
        for dim, value in bound.items():
            places = self.memory.advance(places, dim, value)
        self._fixed = loaded_before(self.nest, self.schedule, self.memory, places, self.narrow)
        self._parallel(0, places, None)

    # loops over tiles

    def _parallel(self, level: int, places: Places, stale: SSAValue | int | None) -> None:
        """`stale`: how many of the tile's first elements along the vectors were already visited."""
        if level == len(self.schedule.order):
            self._tile(places, stale)
            return
        if self._split is not None and level == self._split.first:
            self._divided(self._split, places, stale)
            return
        dim = self.schedule.order[level]
        chunks = self._tile_schedule and self._tile_schedule.chunks
        if chunks is not None and dim is chunks.inside and self._has_sums is None:
            self._chunks(chunks, level, places, stale)
            return
        for span in spans_of(self.nest, self.schedule, dim):

            def body(
                iv: SSAValue | int, _: Sequence[SSAValue], span: Span = span
            ) -> Sequence[SSAValue]:
                self._parallel(level + 1, *self._at(dim, span, iv, places, stale))
                return ()

            self.e.loop(span.stop, span.step, (), body)

    def _chunks(
        self, chunks: Chunks, level: int, places: Places, stale: SSAValue | int | None
    ) -> None:
        """The loops from a level on, for one chunk of the reduction after the other."""

        def body(iv: SSAValue | int, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self._has_sums = self.e.compare("ne", self.e.index(iv), self.e.index(0))
            self._parallel(level, self.memory.advance(places, chunks.number, iv), stale)
            return ()

        self.e.loop(chunks.number.size, 1, (), body)
        self._has_sums = None

    def _at(
        self,
        dim: Dim,
        span: Span,
        iv: SSAValue | int,
        places: Places,
        stale: SSAValue | int | None,
    ) -> tuple[Places, SSAValue | int | None]:
        """Places at the tile that begins `iv` elements behind the start of a span, and `stale`."""
        if span.tile is not None:
            self.tile_of[dim] = span.tile
        there, start = self.memory.advance(places, dim, span.start), iv
        if span.clamp is not None:
            assert not isinstance(iv, int)
            start = self.e.binary(arith.MinSIOp, iv, self.e.index(span.clamp))
            if self.nest.in_place and dim is self.schedule.vector:
                stale = self.e.binary(arith.SubiOp, iv, start)
        if span.stale is not None:
            stale = span.stale
        return self.memory.advance(there, dim, start), stale

    def _divided(self, split: Split, places: Places, stale: SSAValue | int | None) -> None:
        """The loops of a split, as far as they are this thread's."""
        assert self._share is not None
        dims = self.schedule.order[split.first : split.last + 1]
        groups = groups_of([spans_of(self.nest, self.schedule, d) for d in dims])

        def units(group: Group, first: SSAValue, end: SSAValue) -> None:
            def body(numbers: Sequence[SSAValue | int]) -> None:
                there, skip = places, stale
                for dim, span, number in zip(dims, group.spans, numbers, strict=True):
                    iv = number if isinstance(number, int) else self._scaled(number, span.step)
                    there, skip = self._at(dim, span, iv, there, skip)
                self._parallel(split.last + 1, there, skip)

            self.e.loop_units([span.tiles for span in group.spans], first, end, body)

        def together(first: SSAValue, end: SSAValue) -> None:
            for group in groups:
                units(group, self._units_below(first, group), self._units_below(end, group))

        if split.together:
            self._share(weight_of(groups), together)
            return
        for group in groups:
            self._share(group.units, lambda first, end, group=group: units(group, first, end))

    def _units_below(self, weight: SSAValue, group: Group) -> SSAValue:
        """`group.units_below(weight)`"""
        e, ahead = self.e, group.start - group.weight + 1
        reached = e.binary(arith.SubiOp, weight, e.index(ahead))
        reached = e.binary(arith.MaxSIOp, reached, e.index(0))
        units = e.binary(arith.DivUIOp, reached, e.index(group.weight))
        return e.binary(arith.MinSIOp, units, e.index(group.units))

    def _scaled(self, number: SSAValue, step: int) -> SSAValue:
        return number if step == 1 else self.e.binary(arith.MuliOp, number, self.e.index(step))

    def _points(self, dims: Sequence[Dim], schedule: VectorSchedule) -> list[Point]:
        """The elements of the register tile: for vectors, where their first lane is."""
        tiled = [d for d in dims if schedule.tiles(d) > 1 or d in self.tile_of]
        tiled.sort(key=lambda d: d is schedule.fastest)
        unit = {d: schedule.lanes if d is schedule.vector else 1 for d in tiled}
        ranges = [self.tile_of.get(d, range(schedule.tiles(d))) for d in tiled]
        return [
            {d: i * unit[d] for d, i in zip(tiled, place, strict=True)}
            for place in product(*ranges)
        ]

    # one tile

    def _tile(self, places: Places, stale: SSAValue | int | None) -> None:
        if isinstance(self.schedule, RegisterTranspose):
            copy_turned(self.nest, self.schedule, self.memory, places, self.wide)
            return
        schedule = self.finishing
        points = self._points(schedule.order, schedule)
        results: Sequence[Value | None] = [None] * len(points)
        if self.nest.reduction is not None:
            results = self._reduction(places, points)
        places = self._resolved(places, self.nest.operands)
        known = dict(self._fixed)
        loads = Loads(self.nest, schedule, self.memory, places, self.narrow, loaded=known)
        for point, result in zip(points, results, strict=True):
            operands = [loads(a, point) for a in self.nest.operands]
            if self._starts_with_operand:
                operands[0] = self.wide.number(0, operands[0].element)
            arguments = operands if result is None else [result, *operands]
            values = arguments if self.nest.raw else self.narrow.evaluate(self.nest.body, arguments)
            mask = None if self.across else self._fresh(point, stale)
            if schedule.lanes > 1 and interleaves(self.nest, schedule.vector):
                access = self.nest.writes[0]
                fields = [self.narrow.to_memory(v, access.element) for v in values]
                whole = interleaved(self.e, fields, schedule.lanes)
                self.memory.store_whole(whole, access, places[access], offset_of(access, point))
                continue
            for value, access in zip(values, self.nest.writes, strict=True):
                self._store(value, access, places[access], point, mask)

    def _store(
        self, value: Value, access: Access, place: Place, point: Point, mask: SSAValue | None
    ) -> None:
        vector_dim = self.finishing.vector
        stride = access.stride(vector_dim) if vector_dim is not None else 0
        assert isinstance(stride, int)
        offset = offset_of(access, point)
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
        self._loaded = {}
        # lanes over a reduced dimension may have several accumulators for each point
        inner: list[Point] = [{}]
        if self.across and self.schedule.vector is not None:
            inner = self._points([self.schedule.vector], self.schedule)
        spread = [{**p, **q} for p in self._rows(points) for q in inner]
        first = 0 if self._has_sums is None else 1  # the loop over chunks is further outside
        accumulators = self._reduced(first, places, spread, self._starts(places, spread), None)
        if not self.across:
            return [Value(a, reduction.element) for a in accumulators]
        n = len(inner)
        groups = [accumulators[i : i + n] for i in range(0, len(accumulators), n)]
        across = LaneReduction(reduction.combine, reduction.element, self.wide, self.narrow)
        totals = [across.total(group) for group in groups]
        n = self.narrow.lanes
        return [across.of_rows(totals[i : i + n]) for i in range(0, len(totals), n)]

    def _rows(self, points: Sequence[Point]) -> Sequence[Point]:
        """The points whose results become the lanes of those at `points`."""
        if self.finishing is self.schedule:
            return points
        rows, lanes = self.finishing.vector, range(self.finishing.lanes)
        assert rows is not None
        return [{**p, rows: p.get(rows, 0) + i} for p in points for i in lanes]

    @property
    def _starts_with_operand(self) -> bool:
        reduction = self.nest.reduction
        return reduction is not None and reduction.adds_operand and not self.across

    def _starts(self, places: Places, points: Sequence[Point]) -> list[SSAValue]:
        """What accumulators hold before the first step."""
        reduction = self.nest.reduction
        assert reduction is not None
        if self._starts_with_operand:
            loads = Loads(self.nest, self.schedule, self.memory, places, self.wide)
            return [loads(self.nest.operands[0], point).ssa for point in points]
        neutral = self.wide.number(
            identity(reduction.combine, reduction.element), reduction.element
        )
        if self._has_sums is None:
            return [neutral.ssa] * len(points)
        loads = Loads(self.nest, self.schedule, self.memory, places, self.wide)
        sums = [loads(self.nest.writes[0], point).ssa for point in points]
        return [self.e.select(self._has_sums, s, neutral.ssa) for s in sums]

    def _reduced(
        self,
        level: int,
        places: Places,
        points: Sequence[Point],
        accumulators: Sequence[SSAValue],
        stale: int | None,
    ) -> Sequence[SSAValue]:
        if level == len(self._loops):
            return self._accumulate(places, points, accumulators, stale)
        dim = self._loops[level]
        if isinstance(self.schedule, Reducing) and dim in self.schedule.unrolled:
            for i in range(dim.size):
                there = self.memory.advance(places, dim, i)
                accumulators = self._reduced(level + 1, there, points, accumulators, stale)
            return accumulators

        def body(iv: SSAValue | int, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            there = self.memory.advance(places, dim, iv)
            return self._reduced(level + 1, there, points, carried, stale)

        if level == len(self._loops) - 1:
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
        if reduction is None or self._tile_schedule is None:
            return
        for number, dim in self._tile_schedule.prefetch_next_tile.items():
            access = reduction.reads[number]
            distance = offset_of(access, {dim: len(self.tile_of[dim])})
            for offset in sorted({offset_of(access, point) for point in points}):
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
        places = self._resolved(places, reduction.reads)
        loads = Loads(
            *(self.nest, self.schedule, self.memory, places, self.wide),
            reduces=True,
            loaded=self._loaded if isinstance(self.schedule, GatheredDot) else None,
        )
        results = []
        for point, accumulator in zip(points, accumulators, strict=True):
            mask = self._fresh(point, stale)
            acc = Value(accumulator, reduction.element)
            values = [loads(a, point) for a in reduction.reads]
            if reduction.terms > 1:
                new = self.wide.dot(values[0], values[1], acc, reduction.terms)
            elif reduction.is_product:
                values = [self.wide.convert(v, reduction.element) for v in values]
                new = self.wide.multiply_add(values[1], values[0], acc)
            else:
                if reduction.map is not None:
                    values = self.wide.evaluate(reduction.map, values)
                new = self.wide.combine(reduction.combine, acc, values[0])
            ssa = new.ssa if mask is None else self.e.select(mask, new.ssa, accumulator)
            results.append(ssa)
        far = self.schedule.prefetch_distance if isinstance(self.schedule, Reducing) else {}
        for number, distance in far.items():
            access = reduction.reads[number]
            for offset in sorted({offset_of(access, point) for point in points}):
                self.memory.prefetch(access, places[access], offset + distance)
        start = {d: tile.start for d, tile in self.tile_of.items()}
        for access in self._prefetched:
            self.memory.prefetch(access, places[access], offset_of(access, start), 2)
        return results


def generator_of(
    nest: Nest,
    schedule: Schedule,
    emitter: Emitter,
    memory: Memory,
    machine: MachineDescription,
    threads: int = 1,
) -> NestGenerator | TileGenerator:
    """What emits a nest, of whatever schedule, for one of several threads."""
    if isinstance(schedule, AmxTile):
        plan = TilePlan.of(nest, schedule)
        return TileGenerator(nest, plan, emitter, memory, machine, _finishing, threads)
    assert isinstance(schedule, VectorSchedule)
    return NestGenerator(nest, schedule, emitter, memory, machine)


def _finishing(
    nest: Nest, emitter: Emitter, memory: Memory, machine: MachineDescription
) -> NestGenerator | TileGenerator:
    """What emits a nest that was made of another, with the schedule that is best."""
    nest, schedule = best_schedule(simplified(nest), machine)
    return generator_of(nest, schedule, emitter, memory, machine)
