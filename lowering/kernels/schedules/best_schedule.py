"""The best schedule of a nest, of any kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import AmxTile, Schedule, VectorSchedule
from ....glow_dialects.machine import MachineDescription
from .amx_groups import finished
from .amx_tile import amx_product
from .around import ALONE, Around
from .costed import Costed
from .gathered_dot import gathered_product
from .lane_permutation import permuted_product
from .prefetch import with_prefetches
from .register_tile import tiled_product
from .schedule import choose_schedule

_Scheduler = Callable[[Nest, MachineDescription], Costed | None]
_FOR_VECTORS: Sequence[_Scheduler] = (gathered_product, permuted_product, tiled_product)


def best_schedule(
    nest: Nest, machine: MachineDescription, around: Around = ALONE
) -> tuple[Nest, Schedule]:
    """Returns a simplified nest, perhaps with other loops, and its best schedule."""
    return completed(*_cheapest(nest, machine, (amx_product, *_FOR_VECTORS)), machine, around)


def completed(
    nest: Nest, schedule: Schedule, machine: MachineDescription, around: Around = ALONE
) -> tuple[Nest, Schedule]:
    """Returns a nest and its schedule with prefetches and with schedules that finish AMX tiles."""
    schedule = with_prefetches(nest, schedule, machine, around)
    if isinstance(schedule, AmxTile):
        schedule = finished(nest, schedule, machine)
    return nest, schedule


def vector_schedule(nest: Nest, machine: MachineDescription) -> tuple[Nest, VectorSchedule]:
    """Returns the same among schedules for vectors, without what is prefetched."""
    nest, schedule = _cheapest(nest, machine, _FOR_VECTORS)
    assert isinstance(schedule, VectorSchedule)
    return nest, schedule


def _cheapest(
    nest: Nest, machine: MachineDescription, schedulers: Sequence[_Scheduler]
) -> tuple[Nest, Schedule]:
    """
    Returns the schedule for products that takes fewest cycles, or one for nests of all kinds.
    Raises ValueError for products of groups that none of them can compute.
    """
    if nest.range is not None:
        return nest, choose_schedule(nest, machine)
    if nest.is_limited:  # others have a fixed number of rows
        schedulers = [tiled_product]
    found = [c for scheduler in schedulers if (c := scheduler(nest, machine)) is not None]
    if found:
        best = min(found, key=lambda costed: costed.cycles)
        return best.nest, best.schedule
    if nest.reduction is not None and nest.reduction.terms > 1:
        raise ValueError("products of groups need panels of as many columns as vectors have")
    return nest, choose_schedule(nest, machine)
