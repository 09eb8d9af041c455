"""
Schedules of a nest beside the best one by cost, for a search that measures them: those that the
cost model ranks next, the best of other kinds, and neighbours of what was found to be fast (Chen et
al. 2018, AutoTVM).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import inf, prod
from typing import TypeVar

from xdsl.utils.exceptions import VerifyException

from ..glow_dialects.glow_nest.nest import Nest
from ..glow_dialects.glow_nest.schedule import (
    AmxTile,
    Reduce,
    Reducing,
    RegisterTile,
    Schedule,
    VectorSchedule,
)
from ..glow_dialects.machine import MachineDescription
from ..lowering.kernels.schedules.amx_tile import tile_plans
from ..lowering.kernels.schedules.around import ALONE, Around
from ..lowering.kernels.schedules.best_schedule import best_schedule, completed, vector_schedule
from ..lowering.kernels.schedules.fitted_schedule import fitted
from ..lowering.kernels.schedules.register_tile import roles_of, tiled, tilings
from ..lowering.kernels.schedules.schedule import CostModel, choose_schedule
from .neighbours import PREFETCHES, near_schedules

Scheduled = tuple[Nest, Schedule]
"""A nest, perhaps with other loops than it had, and its schedule."""
_T = TypeVar("_T")
_FURTHEST = 4
"""By how much cost, relative to the least, candidates may be estimated slower."""
_MOST_EMITTED = 2000
"""Steps of a reduction, or points, that have code of their own: more take long to compile."""


def ranked_schedules(
    nest: Nest, machine: MachineDescription, around: Around = ALONE
) -> Iterator[Scheduled]:
    """
    Yields the schedules of a simplified nest in the order of their estimated cost, as far as the
    model knows several. The first is `best_schedule`, and the others are found only when they are
    asked for.
    """
    best = best_schedule(nest, machine, around)
    yield best
    for others in (_of_other_kinds, _others_of_kind):
        for found in others(nest, best[1], machine):
            yield completed(*found, machine, around)


def _others_of_kind(nest: Nest, best: Schedule, machine: MachineDescription) -> Iterator[Scheduled]:
    """Yields the other schedules of the kind of the best one, without prefetches."""
    match best:
        case RegisterTile():
            roles = roles_of(nest, machine)
            assert roles is not None
            yield from (tiled(roles, tiling) for tiling in _cheapest(tilings(roles)))
        case Reduce():
            model = CostModel(nest, machine)
            for candidate in _cheapest((model.cost(c), c) for c in model.candidates()):
                yield nest, model.schedule(candidate)
        case AmxTile():
            yield from ((nest, plan.schedule) for plan in tile_plans(nest, machine)[1:])
        case _:
            return


def neighbours(
    nest: Nest, found: Scheduled, machine: MachineDescription, around: Around = ALONE
) -> Iterator[Scheduled]:
    """
    Yields schedules of a simplified nest that fit and differ in one respect from a given one. What
    they prefetch is decided anew, where the difference is not in that.
    """
    for field, schedule in near_schedules(*found):
        with suppress(ValueError, VerifyException):
            near = fitted(nest, schedule, machine)
            if _emitted(*near) <= _MOST_EMITTED:
                is_complete = field.startswith(PREFETCHES)
                yield near if is_complete else completed(*near, machine, around)


def has_alternatives(nest: Nest, machine: MachineDescription) -> bool:
    """Returns whether a simplified nest has another schedule than that of the model."""
    ranked = ranked_schedules(nest, machine)
    best = next(ranked)
    return any(True for _ in neighbours(nest, best, machine)) or any(True for _ in ranked)


def _emitted(nest: Nest, schedule: Schedule) -> int:
    """Returns how many points have code of their own, times steps of the reduction that have."""
    if not isinstance(schedule, VectorSchedule):
        return 1
    count = 1
    for dim in (*nest.parallel, *nest.reduced):
        parts = schedule.parts_of(dim)
        copies = [p.tiles if schedule.lists_tiles(dim) else 1 for p in parts]
        emitted = sum(p.tile * n for p, n in zip(parts, copies, strict=True))
        count *= emitted or schedule.tiles(dim)
    if not isinstance(schedule, Reducing):
        return count
    return count * schedule.steps * prod(d.size for d in schedule.unrolled)


def _of_other_kinds(nest: Nest, best: Schedule, machine: MachineDescription) -> Iterator[Scheduled]:
    """
    Yields what the model would choose without instructions or registers that the best needs,
    without prefetches.
    """
    if isinstance(best, AmxTile):
        with suppress(ValueError):  # products of groups may need tile registers
            found = vector_schedule(nest, machine)
            best = found[1]
            yield found
    if isinstance(best, RegisterTile) and nest.reduction is not None and nest.reduction.terms == 1:
        yield nest, choose_schedule(nest, machine)


def _cheapest(costed: Iterable[tuple[float, _T]]) -> Sequence[_T]:
    """
    Returns different candidates by cost, without the cheapest, which the model chose, and without
    those that cost far more.
    """
    ranked = sorted(costed, key=lambda pair: pair[0])
    limit = ranked[0][0] * _FURTHEST
    chosen = [ranked[0][1]]
    for cost, each in ranked:
        if cost < inf and cost <= limit and each not in chosen:
            chosen.append(each)
    return chosen[1:]
