"""
Groups of pixels whose accumulators are in tile registers together: loops over them, and what is
done with their results.

Results go to an array, from which a nest of its own takes them: it has the body of the whole nest,
and is computed with vectors like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.utils.exceptions import VerifyException

from ....glow_dialects.glow_nest.affine import Access, Affine, Buffer, Dim
from ....glow_dialects.glow_nest.nest import Nest, mapped
from ....glow_dialects.glow_nest.schedule import AmxTile, Finish, TileGroup, VectorSchedule
from ....glow_dialects.glow_nest.schedule_text import with_loops
from ....glow_dialects.glow_nest.schedule_verification import verify_schedule
from ....glow_dialects.glow_nest.simplification import simplified
from ....glow_dialects.machine import MachineDescription
from .amx_tile import COLUMNS, TilePlan
from .schedule import choose_schedule


class GroupLoops:
    """Groups of one kind, and the loops over them."""

    def __init__(self, group: TileGroup, plan: TilePlan, column: Dim):
        self.group = group
        self._plan = plan
        self._first_lane = {plan.joined or plan.roles.lane: column * plan.panels_step}
        ahead = [Dim(name, count) for name, count in zip(("rows", "tiles"), group.counts)]
        self.dims = (*plan.roles.pixels[:-2], *ahead)
        self.first = {
            dim: number * extent + start
            for dim, number, extent, start in zip(
                plan.line, ahead, group.extent, group.start, strict=True
            )
        }
        """The first point of a group."""

    @property
    def change(self) -> dict[Dim, Affine]:
        """Returns the values of dimensions of the nest at the first result of a group."""
        return {**self.first, **self._first_lane}

    def blocks(self, most: int) -> Sequence[Dim]:
        """
        Returns the outer loops, which cut the pixels into about `most` blocks of groups, or more. A
        loop over groups may become two.
        """
        count = 1
        for position, dim in enumerate(self.dims):
            if count >= most:
                return self.dims[:position]
            wanted = -(-most // count)
            if dim.size > wanted and any(dim in first.terms for first in self.first.values()):
                parts = next(n for n in range(wanted, dim.size + 1) if dim.size % n == 0)
                self._cut(position, parts)
                return self.dims[: position + 1]
            count *= dim.size
        return self.dims

    def _cut(self, position: int, blocks: int) -> None:
        """Replaces a loop over groups by one over blocks and one over the groups of a block."""
        old = self.dims[position]
        block, group = Dim("block", blocks), Dim(old.name, old.size // blocks)
        change = {old: block * group.size + group}
        self.dims = (*self.dims[:position], block, group, *self.dims[position + 1 :])
        self.first = {dim: place.at(change) for dim, place in self.first.items()}

    def finishing(self, nest: Nest, sums: Buffer) -> Nest:
        """
        Returns the nest that works on the results of a group, those of a pixel neighbours in
        `sums`.
        """
        plan, group, lane = self._plan, self.group, self._plan.roles.lane
        row, pixel = Dim("r", group.extent[0]), Dim("p", group.extent[1])
        long = lane.size > COLUMNS
        o = Dim("o", plan.panels * COLUMNS if long else lane.size)
        panel = Dim("panel", 1 if long else plan.panels)
        change = self.change
        for dim, more in (*zip(plan.line, (row, pixel), strict=True), (plan.joined, panel)):
            if dim is not None:
                change[dim] += more
        change[lane] = change.get(lane, Affine()) + o
        width = plan.panels * COLUMNS
        terms = {row: group.pitch * width, pixel: width, panel: COLUMNS, o: 1}
        results = Access(sums, Affine(terms, group.place * width))
        moved = mapped(replace(nest, reduction=None, reduced=()), lambda place: place.at(change))
        operands = (results, *moved.operands)
        return simplified(replace(moved, parallel=(row, pixel, panel, o), operands=operands))


def groups_of(plan: TilePlan) -> tuple[Dim, list[GroupLoops]]:
    """Returns the loop over groups of panels, and those over pixels for each group of a plan."""
    column = Dim("column", plan.columns)
    return column, [GroupLoops(group, plan, column) for group in plan.groups]


def sums_of(nest: Nest, plan: TilePlan) -> Buffer:
    """Returns the array of the results of a group."""
    assert nest.reduction is not None
    return Buffer(nest.reduction.element, 0, plan.places * plan.panels * COLUMNS)


def stores_directly(nest: Nest, plan: TilePlan) -> bool:
    """Returns whether whole tiles of results are what the nest writes."""
    roles = plan.roles
    return nest.writes_sums and roles.lane.size % COLUMNS == 0 and len(roles.pixels) == 1


def finished(nest: Nest, schedule: AmxTile, machine: MachineDescription) -> AmxTile:
    """Returns a schedule with the best schedules for what is done with results."""
    nests = _finishing_nests(nest, TilePlan.of(nest, schedule))
    finish = tuple(Finish(n.parallel, choose_schedule(n, machine)) for n in nests)
    return replace(schedule, finish=finish)


def _finishing_nests(nest: Nest, plan: TilePlan) -> list[Nest]:
    """Returns what is done with the results of each group; none if tiles are stored directly."""
    if stores_directly(nest, plan):
        return []
    sums = sums_of(nest, plan)
    return [kind.finishing(nest, sums) for kind in groups_of(plan)[1]]


def verify_finish(nest: Nest, schedule: AmxTile) -> None:
    """Raises VerifyException unless each group has a schedule for what is done with its results."""
    nests, found = _finishing_nests(nest, TilePlan.of(nest, schedule)), schedule.finish
    if nests and len(found) != len(nests):
        raise VerifyException(
            f"expected finish for each of {len(nests)} groups, found {len(found)}"
        )
    for inner, finish in zip(nests, found, strict=False):
        bound_finish(inner, finish)


def bound_finish(nest: Nest, finish: Finish) -> VectorSchedule:
    """Returns the schedule of a finishing nest. Raises VerifyException if it is for other loops."""
    known = {(d.name, d.size): d for d in nest.parallel}
    if {(d.name, d.size) for d in finish.loops} != known.keys():
        names = [", ".join(map(repr, dims)) or "none" for dims in (nest.parallel, finish.loops)]
        raise VerifyException(f"expected finish with the loops {names[0]}, found {names[1]}")
    change = {d: known[d.name, d.size] for d in finish.loops}
    schedule: VectorSchedule = with_loops(finish.schedule, change)
    verify_schedule(nest, schedule)
    return schedule
