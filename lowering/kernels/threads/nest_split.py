"""The loops of a nest that threads divide, for any schedule."""

from __future__ import annotations

from math import prod

from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import AmxTile, Schedule, Split, VectorSchedule
from ....glow_dialects.timings import TIMINGS
from ..schedules.amx_tile import TilePlan
from .split import choose_split, spans_of


def split_of(nest: Nest, schedule: Schedule, threads: int) -> Split | None:
    """Returns how several threads divide a nest; None if one of them does it alone."""
    if isinstance(schedule, AmxTile):
        plan = TilePlan.of(nest, schedule)
        terms = prod(d.size for d in nest.reduced if d is not plan.roles.parts)
        steps = plan.units * (terms // plan.roles.quads)
        return (
            Split(0, 0)
            if plan.units >= threads and steps >= TIMINGS.least_shared_amx_steps
            else None
        )
    assert isinstance(schedule, VectorSchedule)
    spans = [spans_of(nest, schedule, d) for d in schedule.order]
    return choose_split(nest, schedule, spans, threads)
