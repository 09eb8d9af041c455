"""
The code of a nest of vectors: loops over register tiles, and what each tile does. Squares of
vectors are transposed in registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ....glow_dialects.glow_nest.affine import Access, Dim, stride_of
from ....glow_dialects.glow_nest.content import own_loops
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import (
    Reducing,
    RegisterTile,
    RegisterTranspose,
    Split,
    VectorSchedule,
)
from ....glow_dialects.machine import MachineDescription
from ..threads.split import Share, TileSpan, spans_of
from .algebra import ArithAlgebra, Value
from .interleaved_store import interleaved, interleaves
from .limited_loops import LimitedSpans
from .loads import Loaded, Loads, loaded_before
from .loop_driver import Loop, LoopDriver
from .memory import Bound, FlatBuffers, Point
from .reduction import TileReduction
from .tile import Tile


class VectorNest:
    """Emits one nest."""

    def __init__(
        self,
        nest: Nest,
        schedule: VectorSchedule,
        memory: FlatBuffers,
        machine: MachineDescription,
    ):
        self._nest = nest
        self._schedule = schedule
        self._memory = memory
        self._across = schedule.vector in nest.reduced
        """Whether lanes run over a reduced dimension, so that a result is one lane."""
        finishing = schedule.finishing
        is_number = self._across and finishing is schedule
        wide = ArithAlgebra(memory.emitter, machine, schedule.lanes)
        lanes = 1 if is_number else finishing.lanes
        self._algebra = ArithAlgebra(memory.emitter, machine, lanes, raw=nest.raw)
        """Of results."""
        self._chosen_before, self._chosen = _by_choice(nest, schedule)
        """
        Accesses through indices, of which all lanes have one; those whose index is the same at all
        points apart.
        """
        self._reduction: TileReduction | None = None
        if isinstance(schedule, Reducing):
            self._reduction = TileReduction(nest, schedule, wide, self._algebra)

    def run(self, bound: Bound, split: Split | None = None, share: Share | None = None) -> None:
        """
        Emits the nest for the values of enclosing loop variables; with a split, only what `share`
        says is this thread's.
        """
        nest, schedule = self._nest, self._schedule
        others = self._reduction.other_places if self._reduction else ()
        accesses = nest.accesses(others) + nest.index_accesses(others)
        e, limited = self._memory.emitter, [d for d in own_loops(nest) if d.limit is not None]
        counts = {d: bound.count.of(d, e) for d in limited}
        places = self._memory.places(accesses, bound)
        start = Tile(nest, schedule, self._memory, places, counts=counts)
        start = start.resolved(self._chosen_before)
        fixed = loaded_before(start, self._algebra)
        for tile in self._driver(counts, split, share).tiles(start):
            if isinstance(schedule, RegisterTranspose):
                copy_transposed(tile, schedule, self._algebra)
            else:
                self._compute(tile, fixed)

    def _driver(
        self, counts: Mapping[Dim, SSAValue], split: Split | None, share: Share | None
    ) -> LoopDriver:
        schedule, e, loops = self._schedule, self._memory.emitter, list[Loop]()
        for dim in schedule.order:
            spans = spans_of(self._nest, schedule, dim)
            if dim in counts:
                spans = LimitedSpans.of(schedule, dim, spans, e, counts[dim])
            loops.append((dim, spans))
        chunks = schedule.chunks if isinstance(schedule, RegisterTile) else None
        if chunks is not None:
            level = schedule.order.index(chunks.inside)
            # where threads divide loops around chunks, each runs all chunks of its tiles
            if split is None or not split.first <= level <= split.last:
                loops.insert(level, (chunks.number, [TileSpan(0, chunks.number.size, 1)]))
                if split is not None and level < split.first:
                    split = replace(split, first=split.first + 1, last=split.last + 1)
        return LoopDriver(e, loops, split, share)

    def _compute(self, tile: Tile, fixed: Loaded) -> None:
        """Reduces, and finishes the results; before the last chunk, these wait as they are."""
        finishing, e = self._schedule.finishing, self._memory.emitter
        points = tile.points(finishing.order, finishing)
        results: Sequence[Sequence[Value]] = [()] * len(points)
        if self._reduction is not None:
            results = self._reduction.results(tile, points)
        computed = list(zip(points, results, strict=True))
        if tile.goes_on is None or self._nest.raw:
            self._finish(tile, computed, fixed)
            return
        with e.when(tile.goes_on):
            for point, result in computed:
                self._write(result, tile, point)
        with e.when(e.compare("eq", tile.goes_on, e.constant(i1, 0))):
            self._finish(tile, computed, fixed)

    def _finish(
        self, tile: Tile, computed: Sequence[tuple[Point, Sequence[Value]]], fixed: Loaded
    ) -> None:
        """Loads the operands, and writes what the body makes of them and of results."""
        nest, finishing, reduction = self._nest, self._schedule.finishing, self._reduction
        tile = tile.resolved(self._chosen)
        loads = Loads(replace(tile, schedule=finishing), self._algebra, loaded=dict(fixed))
        for point, result in computed:
            operands = [loads(a, point) for a in nest.operands]
            if reduction is not None and reduction.starts_with_operand:
                operands[0] = self._algebra.number(0, operands[0].element)
            given = [*result, *operands]
            values = given if nest.raw else self._algebra.evaluate(nest.body, given)
            self._write(values, tile, point)

    def _write(self, values: Sequence[Value], tile: Tile, point: Point) -> None:
        nest, memory, schedule = self._nest, self._memory, self._schedule.finishing
        mask = None if self._across else tile.fresh(point)
        vector = schedule.vector
        if schedule.lanes > 1 and interleaves(nest, vector):
            access = nest.writes[0]
            fields = [self._algebra.to_memory(v, access.element) for v in values]
            whole = interleaved(memory.emitter, fields, schedule.lanes)
            at = memory.at(tile.place(access, point))
            memory.emitter.store(whole, memory.flat[access.buffer], at)
            return
        for value, access in zip(values, nest.writes, strict=True):
            stride = stride_of(access, vector) if vector is not None else 0
            place = tile.place(access, point)
            memory.store(value, access, place, stride, mask, self._algebra)


def _by_choice(nest: Nest, schedule: VectorSchedule) -> tuple[Sequence[Access], Sequence[Access]]:
    """
    Returns the accesses of the body that an index in memory places for all lanes: those whose index
    is the same at all points and is not written, and the others.
    """
    finishing, written = schedule.finishing, {w.buffer for w in nest.writes}
    lanes = finishing.vector if finishing.lanes > 1 else None
    before: list[Access] = []
    others: list[Access] = []
    for access in (*nest.operands, *nest.writes):
        each_has_its_own = lanes is not None and access.is_chosen_along(lanes)
        if access.indirect is None or each_has_its_own:
            continue
        fixed = not any(
            index.buffer in written or any(index.stride(d) for d in nest.parallel)
            for index in access.indices
        )
        (before if fixed else others).append(access)
    return before, others


def copy_transposed(tile: Tile, schedule: RegisterTranspose, algebra: ArithAlgebra) -> None:
    """
    Copies a square: vectors that are loaded along `turned` become vectors along the schedule's
    vector dimension. Interleaving the first half of the rows with the second half, log2 of their
    number times, transposes them.
    """
    (read,), (write,), memory = tile.nest.operands, tile.nest.writes, tile.memory
    lanes, vector, turned = schedule.lanes, schedule.vector, schedule.turned
    assert vector is not None
    sources = [tile.place(read, {vector: i}) for i in range(lanes)]
    rows = [memory.load(read, source, 1, algebra).ssa for source in sources]
    half = lanes // 2
    low = [n for i in range(half) for n in (i, lanes + i)]
    high = [n + half for n in low]
    for _ in range(lanes.bit_length() - 1):
        pairs = zip(rows[:half], rows[half:], strict=True)
        rows = [algebra.emitter.shuffle(a, b, mask) for a, b in pairs for mask in (low, high)]
    for i, row in enumerate(rows):
        target = tile.place(write, {turned: i})
        memory.store(Value(row, write.element), write, target, 1, None, algebra)
