"""
Schedules of vector nests: the dimension that runs over the lanes of vectors, the points of a
register tile, and the order of loops. A cost model chooses them from a machine description.

The model counts, for one step of the innermost loop, arithmetic instructions (one per cycle) and
loads (two per cycle), and multiplies by the number of steps. The registers of a tile must suffice
for its accumulators, the loaded vectors that several of them need, and one vector to broadcast.
This rule was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import inf, prod

from ....glow_dialects.costs import chosen_load, elementwise, lane_sum, reduction_step, vector_load
from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Access, Dim, stride_of
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import (
    Elementwise,
    Reduce,
    RegisterTranspose,
    VectorSchedule,
)
from ....glow_dialects.glow_nest.schedule_verification import accumulators, vectors_kept
from ....glow_dialects.machine import LINE_BYTES, MachineDescription
from ....glow_dialects.timings import TIMINGS
from ..codegen.interleaved_store import interleaves
from ..codegen.types import bits, memory_type, value_type
from ..scratch import is_small
from .blocking import lines_compete
from .steps import steps_together
from .streams import far_array_outside, spread
from .windows import window_of


def choose_schedule(nest: Nest, machine: MachineDescription) -> VectorSchedule:
    """Returns the cheapest schedule of a simplified nest."""
    if nest.reduction is None:
        return _choose_elementwise(nest, machine)
    model = CostModel(nest, machine)
    return model.schedule(min(model.candidates(), key=model.cost))


def widest_lanes(nest: Nest, machine: MachineDescription) -> int:
    """Returns the lanes of the widest element that the nest handles."""
    type_of = memory_type if nest.raw else value_type
    elements = {a.element for a in nest.accesses()}
    if nest.reduction is not None:
        elements.add(nest.reduction.element)
    # an i1 computes as i1 but is loaded as i8
    return machine.lanes(max([8, *(bits(type_of(e)) for e in elements)]))


def _lanes(nest: Nest, dim: Dim, machine: MachineDescription) -> int:
    """Returns the lanes of vectors along a loop: a power of two, at most the size of the loop."""
    return 1 << (min(dim.size, widest_lanes(nest, machine)).bit_length() - 1)


def load_cost(access: Access, dim: Dim | None, lanes: int) -> float:
    """Returns the load instructions for one vector along `dim`."""
    if dim is None or lanes == 1:
        return 1.0
    if access.is_chosen_along(dim):
        return chosen_load(lanes) if access.gathers_along(dim) else inf
    stride = access.stride(dim)
    return vector_load(stride, lanes) if isinstance(stride, int) else inf


# nests without reduction


def _choose_transposed(nest: Nest, machine: MachineDescription) -> RegisterTranspose | None:
    """
    Returns the schedule of a copy that reads along one dimension and writes along another. The
    innermost loop goes on along the lines that are written; along those that are read, if these
    compete for places of the nearest cache, as a line is then best read at once.
    """
    if not nest.raw or nest.in_place or len(nest.operands) != 1 or nest.operands[0].indirect:
        return None
    (read,), (write,) = nest.operands, nest.writes
    if not all(isinstance(a.stride(d), int) for a in (read, write) for d in nest.parallel):
        return None
    stored = [d for d in nest.parallel if write.stride(d) == 1 and read.stride(d) != 1]
    loaded = [d for d in nest.parallel if read.stride(d) == 1 and write.stride(d) not in (0, 1)]
    if len(stored) != 1 or len(loaded) != 1:
        return None
    (vector,), (turned,) = stored, loaded
    lanes = min(
        _lanes(nest, vector, machine), _lanes(nest, turned, machine), TIMINGS.most_transposed
    )
    if lanes < TIMINGS.least_transposed or read.stride(vector) == 0:
        return None
    rest = [d for d in nest.parallel if d not in (vector, turned)]
    apart = stride_of(read, vector) * element_bytes(read.element)
    inner = (turned, vector)
    if lines_compete(machine, vector.size, apart):
        inner = (vector, turned)
    order = (*rest, *inner)
    return RegisterTranspose(order=order, vector=vector, lanes=lanes, turned=turned)


def _choose_elementwise(nest: Nest, machine: MachineDescription) -> VectorSchedule:
    if (schedule := _choose_transposed(nest, machine)) is not None:
        return schedule

    def lanes_of(dim: Dim) -> int:
        lanes = _lanes(nest, dim, machine)
        # three fields fill no vector
        if not interleaves(nest, dim) or len(nest.writes) == 3:
            return lanes
        return max(1, lanes // len(nest.writes))

    def cost(dim: Dim) -> float:
        lanes = lanes_of(dim)
        loads = sum(load_cost(a, dim, lanes) for a in nest.operands)
        return elementwise(loads, len(nest.writes), nest.weight, lanes, dim.size)

    chosen = sum(chosen_load(1) - 1 for a in nest.operands if a.indirect is not None)
    scalar = len(nest.operands) + len(nest.writes) + nest.weight + chosen
    candidates = [
        d
        for d in nest.parallel
        if (interleaves(nest, d) or all(w.stride(d) == 1 for w in nest.writes))
        and not any(w.is_chosen_along(d) for w in nest.writes)
    ]
    vector = min(candidates, key=cost, default=None)
    if vector is None or cost(vector) >= scalar:
        return Elementwise(order=nest.parallel)
    lanes = lanes_of(vector)
    if _repays_pairs(nest, vector, lanes):
        lanes *= 2
    return Elementwise(
        order=_elementwise_order(nest, vector),
        vector=vector,
        lanes=lanes,
        written_out=_written_out(nest, vector, lanes, machine),
    )


def _written_out(nest: Nest, vector: Dim, lanes: int, machine: MachineDescription) -> Dim | None:
    """
    Returns the only loop of a nest if it is written out: that of a nest which reads few vectors of
    the stack, so that their places are known. One that writes there is, too, if all vectors there
    may stay in registers.
    """
    accesses = nest.operands, nest.writes
    read, written = ({a.buffer for a in of if is_small(a.buffer)} for of in accesses)
    registers = TIMINGS.most_kept_share * machine.vector_registers
    loops = [d for d in nest.parallel if d.size > (lanes if d is vector else 1)]
    if (
        len(loops) != 1
        or not (read or written)
        or vector.size % lanes
        or any(buffer.high > registers * lanes for buffer in written)
    ):
        return None
    (loop,) = loops
    iterations = loop.size // (lanes if loop is vector else 1)
    operations = nest.weight + len(nest.operands) + len(nest.writes)
    return loop if iterations * operations <= TIMINGS.most_emitted else None


def _repays_pairs(nest: Nest, vector: Dim, lanes: int) -> bool:
    """
    Returns whether two vectors are computed together, so that the operations of one fill the time
    in which those of the other wait for their operands: where a body is long, two vectors are at
    most a line, and hardly any element is computed twice.
    """
    line = max(element_bytes(w.element) for w in nest.writes) * 2 * lanes
    steps = -(-vector.size // lanes)
    return (
        nest.weight >= TIMINGS.elementary_operations
        and 1 < lanes <= vector.size // 2
        and line <= LINE_BYTES
        and 2 * -(-vector.size // (2 * lanes)) <= TIMINGS.most_paired_waste * steps
    )


def _elementwise_order(nest: Nest, vector: Dim) -> tuple[Dim, ...]:
    """
    Returns an order with the vector loop innermost, except for loops inside it along which gathered
    elements are near.
    """
    rest = [d for d in nest.parallel if d is not vector]
    gathered = [a for a in nest.operands if a.stride(vector) not in (0, 1)]
    near = [d for d in rest if any(a.stride(d) in (1, -1) for a in gathered)]
    far = [d for d in rest if d not in near]
    return (*far, vector, *near)


# nests with reduction


@dataclass(frozen=True)
class Candidate:
    """The vectors and the register tile of a reduction."""

    vector: Dim | None
    lanes: int
    tile: dict[Dim, int]


class CostModel:
    """Estimates the cycles of the schedules of one nest."""

    def __init__(self, nest: Nest, machine: MachineDescription):
        assert nest.reduction is not None
        self.nest = nest
        self.machine = machine
        self.reads = nest.reduction.reads
        self.unrolled = nest.tabled
        self.copies = prod(d.size for d in self.unrolled)
        self.maps = nest.reduction.map is not None and len(self.reads) > 2
        # a tile reads one index
        self.indexing = {d for a in nest.index_accesses() for d in a.place.terms}
        if nest.range is not None:
            self.indexing.add(nest.range.dim)
        self.chooses = any(
            i.stride(d) != 0 for a in self.reads for i in a.indices for d in nest.reduced
        )
        """Whether an index says in each step which row is read."""
        # loading a 16-bit float takes one more instruction
        self.convert = [
            TIMINGS.converted_load if memory_type(a.element) != value_type(a.element) else 0.0
            for a in self.reads
        ]

        self._window = cache(
            lambda vector: None if self.chooses else window_of(nest, vector, machine)
        )

    def schedule(self, best: Candidate) -> Reduce:
        nest, (rows, row_lanes) = self.nest, self.rows(best)
        window = self._window(best.vector)
        reduced = tuple(sorted(nest.reduced, key=lambda d: d is best.vector))
        unrolled = self.unrolled if window is None else self.unrolled | {window.loop}
        schedule = Reduce(
            order=far_array_outside(nest, self.machine),
            reduced=reduced,
            vector=best.vector,
            lanes=best.lanes,
            tile=best.tile,
            unrolled=unrolled,
            rows=rows,
            row_lanes=row_lanes,
        )
        steps = steps_together(nest, schedule)
        return spread(nest, replace(schedule, steps=steps), self.machine)

    def candidates(self) -> Iterator[Candidate]:
        yield Candidate(None, 1, {})
        for vector in self._vectors():
            lanes = _lanes(self.nest, vector, self.machine)
            if lanes == 1:
                continue
            for tile in self._tiles(vector, lanes):
                yield Candidate(vector, lanes, tile)

    def _vectors(self) -> Iterator[Dim]:
        nest = self.nest
        for dim in (*nest.parallel, *nest.reduced):
            if (
                dim.size > 1
                # only a contiguous store can leave out lanes that were visited before
                and not (nest.in_place and any(w.stride(dim) not in (0, 1) for w in nest.writes))
                and dim not in self.unrolled
                and dim not in self.indexing
                and any(a.stride(dim) in (1, -1, 2, 3, 4) for a in (*self.reads, *nest.writes))
            ):
                yield dim

    def _tiles(self, vector: Dim, lanes: int) -> Iterator[dict[Dim, int]]:
        """
        Yields tiles of the vector's dimension and of up to two more dimensions along which loads
        are shared.
        """
        others = [d for d in self.nest.parallel if d is not vector and d not in self.indexing]
        dims = [vector, *self._largest_unused(others)]
        window = self._window(vector)
        wide = [] if window is None else window.overlapping
        sizes_of = [self._sizes(d, lanes if d is vector else 1, d in wide) for d in dims]
        for sizes in product(*sizes_of):
            tile = {d: n for d, n in zip(dims, sizes, strict=True) if n > 1}
            points = prod(sizes)
            if points == 1 or points * (self.nest.weight + self.copies) <= TIMINGS.most_emitted:
                yield tile

    def _largest_unused(self, dims: Sequence[Dim]) -> list[Dim]:
        """Returns, for each read, the innermost large dimension that it does not depend on."""
        chosen: list[Dim] = []
        for access in self.reads:
            unused = [d for d in dims if access.stride(d) == 0 and d not in chosen]
            if unused:
                chosen.append(max(reversed(unused), key=lambda d: min(d.size, 8)))
        return chosen[:2]

    def _sizes(self, dim: Dim, unit: int, overlaps: bool) -> list[int]:
        most = max(1, dim.size // unit)
        limit = TIMINGS.most_chosen_tile if self.chooses and unit > 1 else TIMINGS.most_tile
        if overlaps:
            limit = self.machine.vector_registers // 2
        sizes = list(range(1, min(most, limit) + 1))
        if dim in self.nest.reduced:
            return [t for t in sizes if t in (1, 2, 4)]
        return sizes

    def cost(self, candidate: Candidate) -> float:
        tile, vector, lanes = candidate.tile, candidate.vector, candidate.lanes
        sums = accumulators(self.nest, tile, vector)
        loads, registers = self._loads(candidate)
        spare = 1 if vector is None or sums == 1 else 0
        window = self._window(vector)
        kept = registers + 1 - spare
        if window is not None:
            kept = max(kept, window.kept(tile, lanes))
        if sums + kept > self.machine.vector_registers:
            return inf
        tiles, steps = (
            prod(-(-d.size // (tile.get(d, 1) * (lanes if d is vector else 1))) for d in dims)
            for dims in (self.nest.parallel, self.nest.reduced)
        )
        copies = 1 if window is None else window.loop.size
        cycles = reduction_step(sums, loads, self.machine.has_fma, copies)
        if self.chooses:
            cycles += TIMINGS.chosen_step
        return tiles * steps * cycles + tiles * min(steps, 1) * self._finish(candidate)

    def _finish(self, candidate: Candidate) -> float:
        """Returns the time to write a tile, after a reduction across lanes if these are reduced."""
        nest, vector, lanes = self.nest, candidate.vector, candidate.lanes
        points = prod(candidate.tile.values())
        per_tile = points * (nest.weight + 1.0)
        if vector is not None and vector in nest.reduced:
            per_tile += points * lane_sum(lanes, self.rows(candidate)[1] > 1)
        elif vector is not None and not interleaves(nest, vector):
            if any(w.stride(vector) != 1 for w in nest.writes):
                per_tile += points * TIMINGS.stored_lane * lanes
        return per_tile

    def rows(self, candidate: Candidate) -> tuple[Dim | None, int]:
        """
        Returns the dimension whose results become lanes, if lanes are reduced, and their number.
        """
        nest, vector = self.nest, candidate.vector
        if vector is None or vector not in nest.reduced or len(nest.writes) != 1:
            return None, 1
        for dim, tile in candidate.tile.items():
            lanes = min(tile & -tile, candidate.lanes)
            # the last tile of results that are lanes is not smaller
            whole = not nest.in_place or dim.size % tile == 0
            if (
                dim is not vector
                and whole
                and lanes >= TIMINGS.least_row_lanes
                and nest.writes[0].stride(dim) == 1
                and all(load_cost(a, dim, lanes) == 1.0 for a in nest.operands)
            ):
                return dim, lanes
        return None, 1

    def _loads(self, candidate: Candidate) -> tuple[float, int]:
        """Returns the loads of a step, and the registers that the loaded vectors need."""
        tile, vector, lanes = candidate.tile, candidate.vector, candidate.lanes
        loads, window = 0.0, self._window(vector)
        vectors: list[int] = []
        for access, convert in zip(self.reads, self.convert, strict=True):
            count = prod(n for d, n in tile.items() if access.stride(d) != 0)
            loaded = count if window is None else window.loaded(access, tile, lanes)
            loads += loaded * (load_cost(access, vector, lanes) + convert)
            if vector is not None and access.stride(vector) != 0:
                vectors.append(count)
        points = prod(tile.values())
        if self.maps and self.chooses:
            # the map of a row that an index names computes one vector after the other
            return loads, len(self.reads) + 1
        if self.maps:
            # what a map computes from all its vectors is under way at a time, and a value for each
            # accumulator
            return loads, sum(vectors) + points
        return loads, min((vectors_kept(count, points) for count in vectors), default=0)
