"""
Reductions of much data to few results, in parts.

Threads divide the results of a nest, and a register tile hides the latency of one sum behind other
sums. A nest with few results offers too few of both. Such a nest becomes two: one that reduces
parts of a reduced dimension into scratch, and one that combines the parts and computes the results.

- For threads, a dimension is cut into up to 32 consecutive parts.
- Several rows of a matrix with few contiguous columns are taken together as one row, whose
  elements have sums of their own: vectors are then full, and there are enough sums to hide latency.

The cuts depend on sizes and on the machine but not on the number of threads, and so do results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from ....glow_dialects.glow_nest.affine import Access, Affine, Buffer, Dim, View
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Nest, Reduction, mapped
from ....glow_dialects.glow_nest.simplification import simplified
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.timings import TIMINGS
from ..threads.split import TileOrder, spans_of
from .amx_tile import plan_tiles
from .best_schedule import vector_schedule
from .register_tile import flattened
from .schedule import widest_lanes


@dataclass(frozen=True)
class _Cut:
    """A way to cut a reduced dimension: into equal parts of whole blocks, and a rest."""

    dim: Dim
    parts: int
    block: int
    """The number of neighbours that are taken together; 1 if each is alone."""

    @property
    def steps(self) -> int:
        """The blocks of a part."""
        steps = self.dim.size // (self.block * self.parts)
        whole = steps // TIMINGS.part_granule * TIMINGS.part_granule
        return whole if whole > steps * 31 // 32 else steps

    @property
    def rest(self) -> int:
        return self.dim.size - self.parts * self.steps * self.block


@dataclass
class Splitter:
    """Cuts reductions that have few results."""

    machine: MachineDescription
    declare: Callable[[Buffer], None]
    """Declares the scratch that holds the results of the parts."""

    def split(self, nest: Nest, times: int) -> Sequence[Nest]:
        """
        Returns the nests that take the place of one; the nest alone if it is not cut. The nest runs
        `times` times, which is work that can be divided as well.
        """
        reduction = nest.reduction
        if reduction is None or nest.is_empty or reduction.fields or nest.range is not None:
            return [nest]
        if reduction.values > 1 or nest.is_limited:
            return [nest]
        simple = simplified(nest)
        if not simple.reduced or (reduction.terms > 1 and plan_tiles(simple, self.machine)):
            return [nest]
        cut = _choose(simple, self.machine, times)
        return [nest] if cut is None else _cut(self, simple, cut)


# how a nest is cut


def _choose(nest: Nest, machine: MachineDescription, times: int) -> _Cut | None:
    dim = max(nest.reduced, key=lambda d: d.size)
    if any(a.indirect or isinstance(a.stride(dim), tuple) for a in nest.reduced_reads):
        return None
    block = _block(nest, dim, machine)
    parts = _parts(nest, dim, block, machine, times)
    return _Cut(dim, parts, block) if parts > 1 or block > 1 else None


def _block(nest: Nest, dim: Dim, machine: MachineDescription) -> int:
    """
    Returns how many rows of a matrix with few columns are taken together; 1 if there is no such
    matrix.
    """
    if len(nest.parallel) != 1 or nest.reduction is None or nest.reduction.terms > 1:
        return 1
    (column,) = nest.parallel
    roles = [_role(access, dim, column) for access in nest.reduction.reads]
    if None in roles or "matrix" not in roles:
        return 1
    lanes = widest_lanes(nest, machine)
    if "vector" in roles:
        if not nest.reduction.is_product:
            return 1
        block = lanes * -(-TIMINGS.independent_sums // column.size)
        fits = block * column.size // lanes <= machine.vector_registers - 3
    else:
        block, fits = 1, True
        while block * column.size < TIMINGS.independent_sums * lanes or block * column.size % lanes:
            block *= 2
    return block if fits and dim.size >= TIMINGS.least_row_steps * block else 1


def _role(access: Access, row: Dim, column: Dim) -> str | None:
    match access.stride(row), access.stride(column):
        case int() as step, 1 if step == column.size:
            return "matrix"
        case 1, 0:
            return "vector"
        case _:
            return None


def _parts(nest: Nest, dim: Dim, block: int, machine: MachineDescription, times: int) -> int:
    """Returns the number of parts into which the reduced dimension is cut, for threads."""
    assert nest.reduction is not None
    terms = prod(d.size for d in nest.reduced)
    results, lanes = prod(d.size for d in nest.parallel), widest_lanes(nest, machine)
    each = nest.reduction.map
    weight = 1 if each is None else each.weight
    most = min(
        int(results * terms * weight / lanes) // TIMINGS.part_cycles,
        terms // TIMINGS.part_terms,
        dim.size // (block * TIMINGS.least_row_steps),
    )
    if most < 2 or results * times > TIMINGS.few_units * lanes * machine.vector_registers:
        return 1
    units = times
    if block == 1:
        nest, schedule = vector_schedule(nest, machine)
        units *= TileOrder([spans_of(nest, schedule, d) for d in nest.parallel]).tiles
    return 1 if units >= TIMINGS.few_units else min(most, TIMINGS.units // units)


# cutting


def _cut(k: Splitter, nest: Nest, cut: _Cut) -> list[Nest]:
    """Returns the nests that reduce the parts, and the nest that combines them."""
    reduction, size = nest.reduction, cut.dim.size
    assert reduction is not None
    sums = cut.parts * cut.block
    shape = (sums + (cut.rest > 0), *(d.size for d in nest.parallel))
    partial = View.dense(Buffer(reduction.element, 0, prod(shape)), shape)
    k.declare(partial.buffer)
    steps: list[Nest] = []
    if cut.rest:
        rest = Dim(cut.dim.name, cut.rest)
        part = _reducing(nest, cut.dim, rest + (size - cut.rest), rest)
        part = replace(part, writes=(partial[[sums, *nest.parallel]],))
        steps += k.split(part, TIMINGS.units)
    steps.append(_main(nest, cut, partial))
    row = Dim("part", shape[0])
    combined = Reduction(reduction.combine, reduction.element, (partial[[row, *nest.parallel]],))
    steps += k.split(replace(nest, reduction=combined, reduced=(row,)), TIMINGS.units)
    return steps


def _main(nest: Nest, cut: _Cut, partial: View) -> Nest:
    """Returns the nest that reduces equal parts."""
    part, step = Dim("part", cut.parts), Dim(cut.dim.name, cut.steps)
    row = Dim("row", cut.block)
    place = Affine({part: cut.steps * cut.block, step: cut.block, row: 1})
    new = _reducing(nest, cut.dim, place, step)
    place = Affine({part: cut.block, row: 1})
    new = replace(
        new,
        parallel=(part, row, *nest.parallel),
        writes=(partial[[place, *nest.parallel]],),
    )
    strides = [a.stride(nest.parallel[0]) for a in nest.reduced_reads] if cut.block > 1 else []
    return flattened(new, (row, *nest.parallel))[0] if 0 in strides else new


def _reducing(nest: Nest, dim: Dim, place: Affine, reduced: Dim) -> Nest:
    """
    Returns the nest without what it does with its results, where `dim` is a form of others, of
    which `reduced` takes its place among the reduced dimensions.
    """
    assert nest.reduction is not None
    bare = Nest(
        nest.parallel,
        nest.writes,
        Body.passing(nest.reduction.element),
        reduction=replace(nest.reduction, adds_operand=False),
        reduced=tuple(reduced if d is dim else d for d in nest.reduced),
    )
    return mapped(bare, lambda at: at.at({dim: place}))
