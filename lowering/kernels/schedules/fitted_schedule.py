"""
Schedules that are given as text: whether they fit a nest and a machine, and the nest with the loops
that they name.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ....glow_dialects.glow_nest.content import outer_loops
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import AmxTile, RegisterTile, Schedule
from ....glow_dialects.glow_nest.schedule_text import loops_of, with_loops
from ....glow_dialects.glow_nest.schedule_verification import verify_registers, verify_schedule
from ....glow_dialects.machine import MachineDescription
from .amx_groups import verify_finish
from .amx_tile import tile_plans
from .register_tile import Tiling, chunk_size, flattened, in_chunks, roles_of


def fitted(nest: Nest, schedule: Schedule, machine: MachineDescription) -> tuple[Nest, Schedule]:
    """
    Returns a simplified nest with the loops that a schedule names, and the schedule with the loops
    of the nest. Raises ValueError or VerifyException if the schedule does not fit the nest or the
    machine.
    """
    if isinstance(schedule, RegisterTile):
        nest = _with_loops_of(nest, schedule, machine)
    known = {d.name: d for d in (*outer_loops(nest), *nest.parallel, *nest.reduced)}
    named = loops_of(schedule)
    if unknown := sorted(d.name for d in named if d.name not in known):
        raise ValueError(f"expected the loops {', '.join(known)}, found {', '.join(unknown)}")
    bound = with_loops(schedule, {d: known[d.name] for d in named})
    if isinstance(bound, AmxTile):
        tiles = replace(bound, prefetch_distance=0, prefetch_next=False, finish=())
        if tiles not in [plan.schedule for plan in tile_plans(nest, machine)]:
            raise ValueError(
                "expected tiles that cover all pixels once and fit into the tile registers"
            )
        verify_finish(nest, bound)
        return nest, bound
    verify_schedule(nest, bound)
    verify_registers(nest, bound, machine.vector_registers)
    return nest, bound


def _with_loops_of(nest: Nest, schedule: RegisterTile, machine: MachineDescription) -> Nest:
    """
    Returns the nest with a list of pixels, or chunks of the reduction, if the schedule has such.
    """
    roles = roles_of(nest, machine)
    if roles is None:
        raise ValueError("expected a product with vectors over blocks")
    own = {d.name: d for d in nest.parallel}
    places = {d.name: i for i, d in enumerate(schedule.order)}
    for pair in pairwise(nest.parallel):
        name = "".join(d.name for d in pair)
        if name in places and name not in own:
            nest = flattened(nest, pair)[0]
            ordered = sorted(nest.parallel, key=lambda d: places.get(d.name, 0))
            return replace(nest, parallel=tuple(ordered))
    if schedule.chunks is None:
        return nest
    bound = with_loops(schedule, {d: own.get(d.name, d) for d in loops_of(schedule)})
    tiling = Tiling(bound.parts, bound.order)
    return in_chunks(roles, replace(tiling, chunk=chunk_size(roles, tiling)))[0]
