"""The best schedule of a nest, whatever its kind."""

from __future__ import annotations

from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import Schedule, VectorSchedule
from ....glow_dialects.machine import MachineDescription
from .amx_groups import finished
from .amx_tile import plan_tiles
from .gathered_dot import field_schedule
from .lane_permutation import table_schedule
from .register_tile import tiled_product
from .schedule import choose_schedule


def best_schedule(nest: Nest, machine: MachineDescription) -> tuple[Nest, Schedule]:
    """A simplified nest, perhaps with other loops, and the schedule that is best."""
    plan = plan_tiles(nest, machine)
    if plan is None:
        return scheduled(nest, machine)
    return nest, finished(nest, plan.schedule, machine)


def scheduled(nest: Nest, machine: MachineDescription) -> tuple[Nest, VectorSchedule]:
    """The same among schedules for vectors."""
    for special in (field_schedule, table_schedule):
        if (schedule := special(nest, machine)) is not None:
            return nest, schedule
    tiled = tiled_product(nest, machine)
    if tiled is None and nest.reduction is not None and nest.reduction.terms > 1:
        raise ValueError("products of groups need panels of as many columns as vectors have")
    return tiled or (nest, choose_schedule(nest, machine))
