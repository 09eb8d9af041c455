"""
The reduction loops of a register tile, whose sums stay in registers. Sums whose lanes run over a
reduced dimension are combined to one vector with a lane for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import gcd

from xdsl.ir import SSAValue

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Access, Buffer, Dim
from ....glow_dialects.glow_nest.nest import Nest, Range, identity
from ....glow_dialects.glow_nest.schedule import GatheredDot, Reducing, RegisterTile
from ....glow_dialects.machine import ALLOCATED_ALIGNMENT, LINE_BYTES
from .algebra import ArithAlgebra, Value
from .emit import Carried, IndexLike, LoopBody
from .lane_reduction import LaneReduction
from .loads import Loaded, Loads
from .memory import Address, Point, offset_of
from .sums import Sums
from .tile import Tile


class TileReduction:
    """Emits the reductions of tiles of one nest."""

    def __init__(self, nest: Nest, schedule: Reducing, wide: ArithAlgebra, narrow: ArithAlgebra):
        """`wide` has the lanes of accumulators, `narrow` those of results."""
        assert nest.reduction is not None
        self._of = nest.reduction
        self._schedule = schedule
        self._wide = wide
        self._narrow = narrow
        self._across = schedule.vector in nest.reduced
        """Whether lanes run over a reduced dimension, so that a result is one lane."""
        self._loops = schedule.reduced
        lines, reads = schedule.prefetch_lines, self._of.reads
        self._lines = () if lines is None else lines.accesses(nest)
        """Elements of which each step prefetches one."""
        self._end: Access | None = None
        """The place behind the last of them, if there is one."""
        if lines is not None and lines.end is not None:
            self._lined = reads[lines.read]
            self._end = Access(self._lined.buffer, lines.end)
        self._far = tuple(
            Access(reads[n].buffer, reads[n].place + d)
            for n, d in schedule.prefetch_distance.items()
        )
        """Elements that each step prefetches, as many as it reads."""
        self._ahead = {reads[n]: d for n, d in schedule.prefetch_steps.items()}
        """Reads of which each step prefetches those of a later one, so many steps ahead."""
        self._prefetched = (*self._lines, *self._far)
        self.other_places = self._prefetched + (() if self._end is None else (self._end,))
        """The accesses that are neither read nor written but have places."""
        self.starts_with_operand = self._of.adds_operand and not self._across
        self._loaded: Loaded = {}

    def results(self, tile: Tile, points: Sequence[Point]) -> Sequence[Sequence[Value]]:
        """Returns the results at each of the points of a tile."""
        self._loaded = {}
        # lanes over a reduced dimension may have several accumulators for each point
        inner: list[Point] = [{}]
        if self._across and self._schedule.vector is not None:
            inner = tile.points([self._schedule.vector], self._schedule)
        spread = [{**p, **q} for p in self._rows(points) for q in inner]
        first = 0 if tile.has_sums is None else 1  # the loop over chunks is further outside
        start = replace(self._prefetching_inside(tile, spread), revisited=None)
        # equal accumulators are one if all start alike
        alike = tile.has_sums is None and not self.starts_with_operand and not self._across
        sums = Sums.of(self._of, spread, shared=alike)
        accumulators = self._reduced(first, start, sums, self._starts(tile, sums))
        of_values = [[accumulators[place] for place in places] for places in sums.places]
        if self._across:
            found = [self._across_lanes(vectors, len(inner)) for vectors in of_values]
        else:
            found = [[Value(a, self._of.element) for a in vectors] for vectors in of_values]
        return list(zip(*found, strict=True))

    def _across_lanes(self, accumulators: Sequence[SSAValue], n: int) -> list[Value]:
        """Returns what the lanes of each `n` accumulators make, as numbers or lanes of results."""
        groups = [accumulators[i : i + n] for i in range(0, len(accumulators), n)]
        across = LaneReduction(self._of.combine, self._of.element, self._wide, self._narrow)
        totals = [across.total(group) for group in groups]
        n = self._narrow.lanes
        return [across.of_rows(totals[i : i + n]) for i in range(0, len(totals), n)]

    def _prefetching_inside(self, tile: Tile, points: Sequence[Point]) -> Tile:
        """
        Returns a tile whose steps prefetch no element behind the end of a buffer, or of the lines.
        No page may be there, and looking for one takes as long as a hundred prefetches that find
        theirs.
        """
        places = dict(tile.places)
        for access in self._prefetched:
            reach = offset_of(access, {dim: dim.size - 1 for dim in self._loops})
            if self._end is not None and access in self._lines:
                places[access] = self._before(places[access], tile.places[self._end], reach)
                if len(self._lines) > 1:
                    places[access] = self._unless_single(places[access], tile)
            reach += max(offset_of(access, point) for point in points)
            size = access.buffer.high - access.buffer.low
            places[access] = self._before(places[access], Address(None, size), reach)
        return replace(tile, places=places)

    def _before(self, place: Address, end: Address, reach: int) -> Address:
        """Returns the place, or an earlier one from which the next `reach` lie before an end."""
        e, most = self._wide.emitter, end.constant - 1 - reach
        if place.dynamic is None or (end.dynamic is None and most < 0):
            return place
        last = e.plus(most - place.constant, end.dynamic or 0)
        return replace(place, dynamic=e.smaller(place.dynamic, last))

    def _unless_single(self, place: Address, tile: Tile) -> Address:
        """
        Returns a place of lines, but one that is being read where all rows of a call are one tile,
        which has no time to prefetch several lines in each step.
        """
        e, read = self._wide.emitter, tile.places[self._lined]
        limited = [d for d in self._schedule.order if d in tile.counts]
        if place.dynamic is None or not limited:
            return place
        single = e.compare("sle", tile.counts[limited[0]], e.index(self._schedule.step(limited[0])))
        present = tile.memory.at(read.moved(-place.constant))
        return replace(place, dynamic=e.select(single, present, place.dynamic))

    def _rows(self, points: Sequence[Point]) -> Sequence[Point]:
        """Returns the points whose results become the lanes of those at `points`."""
        finishing = self._schedule.finishing
        if finishing is self._schedule:
            return points
        rows, lanes = finishing.vector, range(finishing.lanes)
        assert rows is not None
        return [{**p, rows: p.get(rows, 0) + i} for p in points for i in lanes]

    def _starts(self, tile: Tile, sums: Sums) -> list[SSAValue]:
        """Returns the values of accumulators before the first step."""
        loads, points = Loads(tile, self._wide), sums.points
        if self.starts_with_operand:
            first = [loads(tile.nest.operands[0], point).ssa for point in points]
        else:
            element = self._of.element
            neutral = self._wide.number(identity(self._of.combine, element), element).ssa
            first = [neutral] * sums.count
        if tile.has_sums is None:
            return first
        before = [loads(tile.nest.writes[0], point).ssa for point in points]
        pairs = zip(before, first, strict=True)
        return [self._wide.emitter.select(tile.has_sums, s, new) for s, new in pairs]

    def _reduced(self, level: int, tile: Tile, sums: Sums, accumulators: Carried) -> Carried:
        """Returns the accumulators after the loops from a level on."""
        if level == len(self._loops):
            self._prefetch(tile, [{}], sums.points)
            return self._accumulate(tile, sums, accumulators)
        dim, schedule = self._loops[level], self._schedule
        if dim in schedule.unrolled:
            for i in range(dim.size):
                accumulators = self._reduced(level + 1, tile.moved(dim, i), sums, accumulators)
            return accumulators

        def body(number: IndexLike, carried: Carried) -> Carried:
            if level == len(self._loops) - 1:
                self._prefetch_ahead(tile, dim, number, sums.points)
            return self._reduced(level + 1, tile.moved(dim, number), sums, carried)

        if tile.nest.range is not None and dim is tile.nest.range.dim:
            return self._in_range(tile.nest.range, tile, accumulators, body)
        steps = self._limited if dim in tile.counts else self._whole
        return steps(level, tile, sums, accumulators, body)

    def _whole(
        self, level: int, tile: Tile, sums: Sums, accumulators: Carried, body: LoopBody
    ) -> Carried:
        """Returns the accumulators after all steps of a loop."""
        dim, begun = self._loops[level], 0
        step = self._schedule.step(dim)
        full = dim.size // step * step
        if level == len(self._loops) - 1:
            self._prefetch_next(tile, sums.points)
            if self._schedule.steps > 1 and not tile.is_minor:
                accumulators, begun = self._several_steps(tile, dim, sums, accumulators)
        accumulators = self._wide.emitter.loop_carrying(begun, full, step, accumulators, body)
        if full < dim.size:
            # the rest: a tile that ends with the dimension, without the lanes that were counted
            start = dim.size - step
            last = replace(tile.moved(dim, start), revisited=full - start)
            accumulators = self._reduced(level + 1, last, sums, accumulators)
        return accumulators

    def _several_steps(
        self, tile: Tile, dim: Dim, sums: Sums, accumulators: Carried
    ) -> tuple[Carried, int]:
        """
        Returns the accumulators after steps of the innermost loop that are emitted together, and
        where the remaining steps begin.
        """
        e, step, steps = self._wide.emitter, self._schedule.step(dim), self._schedule.steps
        together = step * steps
        end = dim.size // together * together
        points = [{dim: i * step} for i in range(steps)]

        def body(number: IndexLike, carried: Carried) -> Carried:
            first = tile.moved(dim, number)
            self._prefetch(first, points, sums.points)

            def one(i: IndexLike, before: Carried) -> Carried:
                return self._accumulate(first.moved(dim, i), sums, before)

            return e.loop_carrying(0, together, step, carried, one, written_out=True)

        return e.loop_carrying(0, end, together, accumulators, body), end

    def _limited(
        self, level: int, tile: Tile, sums: Sums, accumulators: Carried, body: LoopBody
    ) -> Carried:
        """Returns the accumulators after the steps of a limited loop."""
        e, dim = self._wide.emitter, self._loops[level]
        count, step = tile.counts[dim], self._schedule.step(dim)
        full = e.round_down(count, step)
        accumulators = e.loop_carrying(0, full, step, accumulators, body)
        if step == 1:
            return accumulators

        def last(number: IndexLike, carried: Carried) -> Carried:
            """Computes the rest, in a tile that may begin before it and end behind it."""
            start = e.smaller(number, dim.size - step)
            visited, until = (e.minus(n, start) for n in (full, count))
            there = replace(tile.moved(dim, start), revisited=visited, until=until)
            return self._reduced(level + 1, there, sums, carried)

        return e.loop_carrying(full, count, step, accumulators, last)

    def _in_range(self, of: Range, tile: Tile, accumulators: Carried, body: LoopBody) -> Carried:
        """Returns the accumulators after the steps of a loop whose bounds are in memory."""
        tile, e = tile.resolved((of.first, of.end)), self._wide.emitter
        first, end = (
            e.within(tile.memory.load_index(access, tile.places[access]), of.dim.size)
            for access in (of.first, of.end)
        )
        return e.loop_carrying(first, end, 1, accumulators, body)

    def _accumulate(self, tile: Tile, sums: Sums, accumulators: Carried) -> list[SSAValue]:
        """Returns the accumulators after one step."""
        tile = tile.resolved(self._of.reads)
        # steps of a tile that gathers terms share what they load
        loaded = self._loaded if isinstance(self._schedule, GatheredDot) else {}
        loads = Loads(tile, self._wide, reduces=True, loaded=loaded)
        results: list[SSAValue] = []
        for point, numbers in sums.own:
            mask = tile.fresh(point)
            values = [loads(a, point) for a in self._of.reads]
            before = accumulators[len(results) : len(results) + len(numbers)]
            after = self._combined(before, values, numbers)
            if mask is not None:
                pairs = zip(after, before, strict=True)
                after = [self._wide.emitter.select(mask, new, old) for new, old in pairs]
            results += after
        return results

    def _prefetch(self, tile: Tile, steps: Sequence[Point], points: Sequence[Point]) -> None:
        """Prefetches what some steps are to prefetch, each line once."""
        for access in self._far:
            self._prefetch_points(tile, access, [{**p, **s} for p in points for s in steps])
        start = {d: elements.start for d, elements in tile.elements.items()}
        for access in () if self._is_rest(tile) else self._lines:
            self._prefetch_points(tile, access, [{**start, **s} for s in steps], locality=2)

    def _is_rest(self, tile: Tile) -> bool:
        """
        Returns whether a tile has less than half of its rows. A call has no others then, and so few
        meet weights too quickly for prefetches of more.
        """
        dims = (d for d in tile.elements if d.limit is not None)
        return any(2 * len(tile.elements[d]) < self._schedule.step(d) for d in dims)

    def _combined(
        self, before: Sequence[SSAValue], values: Sequence[Value], numbers: Sequence[int]
    ) -> list[SSAValue]:
        """Returns the accumulators of some values of a point, with what was read for one step."""
        of, wide = self._of, self._wide
        accumulators = [Value(ssa, of.element) for ssa in before]
        if of.terms > 1:
            return [wide.dot(values[0], values[1], acc, of.terms).ssa for acc in accumulators]
        if of.is_product:
            a, b = (wide.convert(v, of.element) for v in values)
            return [wide.multiply_add(b, a, acc).ssa for acc in accumulators]
        if of.map is not None:
            values = wide.evaluate(of.map.only(numbers), values)
        pairs = zip(accumulators, values, strict=True)
        return [wide.combine(of.combine, acc, value).ssa for acc, value in pairs]

    def _prefetch_next(self, tile: Tile, points: Sequence[Point]) -> None:
        if not isinstance(self._schedule, RegisterTile):
            return
        for number, dim in self._schedule.prefetch_next_tile.items():
            access = self._of.reads[number]
            next_tile = tile.moved(dim, len(tile.elements.get(dim, range(1))))
            self._prefetch_points(next_tile, access, points)

    def _prefetch_ahead(
        self, tile: Tile, dim: Dim, number: IndexLike, points: Sequence[Point]
    ) -> None:
        """
        Prefetches the lines that indices some steps ahead name, though it be in the next range.
        """
        e, memory = self._wide.emitter, tile.memory
        for distance in sorted(set(self._ahead.values())):
            accesses = [a for a, d in self._ahead.items() if d == distance]
            later = e.smaller(e.plus(number, distance), dim.size - 1)
            there = tile.moved(dim, later).resolved(accesses)
            lines: dict[tuple[Buffer, SSAValue | None], tuple[Access, set[int]]] = {}
            for access in accesses:
                place, unit = there.places[access], _unit(access)
                _, found = lines.setdefault((access.buffer, place.dynamic), (access, set()))
                reach = self._reach(access)
                for start in (place.constant + offset_of(access, point) for point in points):
                    found.update(at // unit * unit for at in (start, start + reach))
            for (buffer, start), (access, found) in lines.items():
                for offset in _lines(found, LINE_BYTES // element_bytes(buffer.element)):
                    memory.prefetch(access, Address(start, offset))

    def _reach(self, access: Access) -> int:
        """Returns how far the last element that a vector of an access reads is from the first."""
        if access.read_as is not None:
            return element_bytes(access.read_as) - 1
        vector = self._schedule.vector
        stride = 0 if vector is None else access.stride(vector)
        return (self._wide.lanes - 1) * stride if isinstance(stride, int) else 0

    def _prefetch_points(
        self, tile: Tile, access: Access, points: Sequence[Point], locality: int = 3
    ) -> None:
        """Prefetches the lines of an access at points of a tile."""
        line = LINE_BYTES // element_bytes(access.element)
        for offset in _apart({offset_of(access, point) for point in points}, line):
            tile.memory.prefetch(access, tile.places[access].moved(offset), locality)


def _unit(access: Access) -> int:
    """
    Returns how many elements, from a multiple of them on, lie in one cache line wherever rows begin
    that are so far apart, in memory as allocators give it.
    """
    size = element_bytes(access.buffer.element)
    stride = 1 if access.indirect is None else access.indirect.stride
    return max(1, gcd(abs(stride) * size, ALLOCATED_ALIGNMENT) // size)


def _lines(offsets: Iterable[int], line: int) -> Iterator[int]:
    """
    Yields offsets in ascending order, without those less than a line behind the one before. The
    last one stays: a row may begin anywhere in a line, and so ends in one more.
    """
    *rest, end = sorted(offsets)
    yield from (o for o in _apart(rest, line) if o != end)
    yield end


def _apart(offsets: Iterable[int], line: int) -> Iterator[int]:
    """Yields offsets in ascending order, without those less than a line behind the one before."""
    last: int | None = None
    for offset in sorted(offsets):
        if last is None or offset >= last + line:
            yield offset
            last = offset
