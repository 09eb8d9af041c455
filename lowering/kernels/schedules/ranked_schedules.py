"""
Schedules of a nest beside the best one by cost, for a search that measures them: first those that
the cost model ranks next, then neighbours of the fastest (Chen et al. 2018, AutoTVM).

Register tiles and other reductions have such candidates. Nests without reduction, gathered products
and AMX tiles have only the schedule of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TypeVar

from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.content import outer_loops
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import (
    Parts,
    Reduce,
    Reducing,
    RegisterTile,
    Schedule,
)
from ....glow_dialects.glow_nest.schedule_text import loops_of, with_loops
from ....glow_dialects.glow_nest.verification import registers_of, verify_schedule
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.timings import TIMINGS
from .best_schedule import best_schedule
from .prefetch import ALONE, Around, with_prefetches
from .register_tile import Roles, Tiling, blocks_inside, roles_of, tiled, tilings
from .schedule import CostModel

Scheduled = tuple[Nest, Schedule]
"""A nest, perhaps with other loops than before, and its schedule."""
_T = TypeVar("_T")
_FURTHEST = 4
"""The largest estimated cost of a candidate, relative to the least."""


def ranked_schedules(
    nest: Nest, machine: MachineDescription, around: Around = ALONE
) -> Iterator[Scheduled]:
    """
    Yields the schedules of a simplified nest in the order of their estimated cost. The first is
    `best_schedule`, and the others are found only when they are asked for.
    """
    best = best_schedule(nest, machine, around)
    yield best
    match best[1]:
        case RegisterTile() as schedule:
            roles = roles_of(nest, machine)
            assert roles is not None
            order = _order_before(nest, schedule)
            for tiling in _cheapest((t.cost, t) for t in tilings(nest, roles, machine)):
                yield _complete(tiled(nest, roles, tiling, order, machine), machine, around)
        case Reduce():
            model = CostModel(nest, machine)
            for candidate in _cheapest((model.cost(c), c) for c in model.candidates()):
                yield _complete((nest, model.schedule(candidate)), machine, around)
        case _:
            return


def _complete(found: Scheduled, machine: MachineDescription, around: Around) -> Scheduled:
    """Returns a schedule with what it prefetches."""
    return found[0], with_prefetches(*found, machine, around)


def neighbours(
    nest: Nest, found: Scheduled, machine: MachineDescription, around: Around = ALONE
) -> Iterator[Scheduled]:
    """
    Yields schedules of a simplified nest that differ in one respect from a given one: the tile, the
    order of loops, or the prefetches.
    """
    own, schedule = found
    if isinstance(schedule, Reducing):
        for distance in _other_distances(own, schedule):
            yield own, replace(schedule, prefetch_distance=distance)
    match schedule:
        case RegisterTile():
            for other in _other_tiles(nest, schedule, machine):
                yield _complete(other, machine, around)
            if schedule.prefetch_lines is not None:
                yield own, replace(schedule, prefetch_lines=None)
            if schedule.prefetch_next_tile:
                yield own, replace(schedule, prefetch_next_tile={})
        case Reduce():
            yield from _other_reductions(nest, schedule, machine, around)
        case _:
            return


def _other_reductions(
    nest: Nest, schedule: Reduce, machine: MachineDescription, around: Around
) -> Iterator[Scheduled]:
    """Yields other sizes of a tile by one step, and orders with two loops exchanged."""
    model = CostModel(nest, machine)
    costed = ((model.cost(c), c) for c in model.candidates() if c.vector is schedule.vector)
    for cost, candidate in sorted(costed, key=lambda pair: pair[0]):
        if _steps_apart(candidate.tile, schedule.tile) == 1 and cost < inf:
            other = replace(model.schedule(candidate), order=schedule.order)
            yield _complete((nest, other), machine, around)
    for order in _swapped(schedule.order, ()):
        yield nest, replace(schedule, order=order)
    fixed = (*schedule.unrolled, *([schedule.vector] if schedule.vector else ()))
    for reduced in _swapped(schedule.reduced, fixed):
        yield nest, replace(schedule, reduced=reduced)


def fitted(nest: Nest, schedule: Schedule, machine: MachineDescription) -> Scheduled:
    """
    Returns a simplified nest with the loops that a schedule names, and the schedule with the loops
    of the nest. Raises ValueError or VerifyException if the schedule does not fit the nest or the
    machine.
    """
    reduction = nest.reduction
    if reduction is None or not isinstance(schedule, Reduce | RegisterTile):
        raise ValueError(f"expected a reduction with a reduce or register_tile schedule, "
                         f"found {schedule.kind}")  # fmt: skip
    if isinstance(schedule, RegisterTile):
        nest = _with_loops_of(nest, schedule, machine)
    elif reduction.terms > 1 or reduction.fields:
        raise ValueError("expected a schedule for products of groups, found reduce")
    known = {d.name: d for d in (*outer_loops(nest), *nest.parallel, *nest.reduced)}
    named = loops_of(schedule)
    if unknown := sorted(d.name for d in named if d.name not in known):
        raise ValueError(f"expected the loops {', '.join(known)}, found {', '.join(unknown)}")
    bound = with_loops(schedule, {d: known[d.name] for d in named})
    verify_schedule(nest, bound)
    if (needed := registers_of(nest, bound)) > machine.vector_registers:
        raise ValueError(
            f"expected a tile that takes at most {machine.vector_registers} vector registers, "
            f"found one that takes {needed}"
        )
    return nest, bound


def _cheapest(costed: Iterable[tuple[float, _T]]) -> Sequence[_T]:
    """
    Yields different candidates by cost, without the cheapest, which the model chose, and without
    those that cost far more.
    """
    ranked = sorted(costed, key=lambda pair: pair[0])
    limit = ranked[0][0] * _FURTHEST
    chosen = [ranked[0][1]]
    for cost, each in ranked:
        if cost < inf and cost <= limit and each not in chosen:
            chosen.append(each)
    return chosen[1:]


def _swapped(order: tuple[Dim, ...], fixed: Sequence[Dim]) -> Iterator[tuple[Dim, ...]]:
    """Yields orders with two neighbouring loops exchanged."""
    for i in range(len(order) - 1):
        a, b = order[i : i + 2]
        if a not in fixed and b not in fixed:
            yield (*order[:i], b, a, *order[i + 2 :])


def _other_distances(nest: Nest, schedule: Reducing) -> Iterator[Mapping[int, int]]:
    """Yields other prefetch distances: none, half, and twice the distance."""
    if present := schedule.prefetch_distance:
        yield {}
        for up, down in ((2, 1), (1, 2)):
            yield {n: max(1, far * up // down) for n, far in present.items()}
    elif isinstance(schedule, RegisterTile) and nest.reduction is not None:
        for number, read in enumerate(nest.reduction.reads):
            if schedule.vector is not None and read.stride(schedule.vector):
                yield {number: TIMINGS.prefetch_bytes // 4}


def _other_tiles(
    nest: Nest, schedule: RegisterTile, machine: MachineDescription
) -> Iterator[Scheduled]:
    """
    Yields other sizes of a register tile, another order of loops, and no chunks of the reduction.
    """
    roles = roles_of(nest, machine)
    assert roles is not None
    order, present = _order_before(nest, schedule), _tile_sizes(schedule.parts)
    same = _tiling_of(nest, roles, schedule)
    if schedule.chunks is not None:
        yield tiled(nest, roles, same, order, machine, chunked=False)
    other = blocks_inside(nest, roles)
    if order == other:
        other = nest.parallel
    if other != order:
        yield tiled(nest, roles, same, other, machine)
    near = [
        t
        for t in tilings(nest, roles, machine)
        if bool(t.static) == bool(same.static)
        and 0 < _distance(sorted(_tile_sizes(t.parts)), sorted(present)) <= 2
    ]
    for tiling in sorted(near, key=lambda t: t.cost):
        yield tiled(nest, roles, tiling, order, machine, schedule.chunks is not None)


def _tile_sizes(parts: Parts) -> list[int]:
    return [max(p.tile for p in each) for each in parts.values()]


def _distance(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(abs(m - n) for m, n in zip(a, b, strict=False))


def _steps_apart(a: Mapping[Dim, int], b: Mapping[Dim, int]) -> int:
    """Returns in how many loops two tiles differ; more than 1 if one of them differs by far."""
    steps = [abs(a.get(d, 1) - b.get(d, 1)) for d in {*a, *b}]
    return sum(min(s, 2) for s in steps)


def _order_before(nest: Nest, schedule: RegisterTile) -> tuple[Dim, ...]:
    """Returns the order of a schedule, in the loops of the nest before some became a list."""
    known = {d.name: d for d in nest.parallel}
    order: list[Dim] = []
    for dim in schedule.order:
        order += [known[dim.name]] if dim.name in known else _listed_loops(nest, dim.name)
    return tuple(order)


def _listed_loops(nest: Nest, name: str) -> Sequence[Dim]:
    """Returns the two neighbouring loops whose points a list of that name has."""
    for pair in zip(nest.parallel, nest.parallel[1:], strict=False):
        if "".join(d.name for d in pair) == name:
            return pair
    raise ValueError(f"expected loops of the nest, found {name}")


def _tiling_of(nest: Nest, roles: Roles, schedule: RegisterTile) -> Tiling:
    """
    Returns the register tile of a schedule, in the loops of the nest before some became a list.
    """
    known = {d.name: d for d in nest.parallel}
    static: tuple[Dim, ...] = ()
    parts = {}
    for dim, each in schedule.parts.items():
        if dim.name in known:
            parts[known[dim.name]] = tuple(each)
        else:
            static = tuple(_listed_loops(nest, dim.name))
            parts[static[-1]] = tuple(each)
    return Tiling(0.0, parts, static)


def _with_loops_of(nest: Nest, schedule: RegisterTile, machine: MachineDescription) -> Nest:
    """
    Returns the nest with a list of pixels, or chunks of the reduction, if the schedule has such.
    """
    roles = roles_of(nest, machine)
    if roles is None:
        raise ValueError("expected a product with vectors over blocks")
    tiling = _tiling_of(nest, roles, schedule)
    order = _order_before(nest, schedule)
    chunked = schedule.chunks is not None
    return tiled(nest, roles, tiling, order, machine, chunked)[0]
