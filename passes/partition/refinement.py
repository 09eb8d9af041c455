"""
Makes partitions better, step by step: by the estimated time of one run.

Whole partitions move to other devices as long as that helps. Then single units move over the
borders of partitions, in passes as those of Kernighan and Lin ("An Efficient Heuristic Procedure
for Partitioning Graphs", 1970) and of Fiduccia and Mattheyses ("A Linear-Time Heuristic for
Improving Network Partitions", 1982): the best move is made even if it makes the network slower,
each unit moves at most once in a pass, and the best of the plans on the way is kept.

The gain of a move is what the simulation of a run (`Plan.timing`) says. That is expensive, so only
moves with the best *local* gains are looked at: time of the unit itself, and of the transfers of
what it reads and makes. And the time after a move is not computed again for all others but for
those that come first (as in lazy greedy algorithms: Minoux, "Accelerated greedy algorithms for
maximizing submodular set functions", 1978).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple, TypeAlias

from .placement import Problem
from .plans import Plan, UnitGroup, excess, form, merge_neighbours, rooms_of

TRIALS, TRIAL_WORK = 200, 40_000
"""
The largest number of moves of partitions that are tried, and the largest work for them, in units.
"""
UNIT_TRIALS, UNIT_TRIAL_WORK = 1500, 40_000
"""
The largest number of moves of units that are tried, and the largest work for them, in partitions.
"""
CANDIDATES = 100
"""The number of moves of units that the first step of a pass considers."""
PATIENCE = 6
"""A pass ends after this number of steps without a better plan."""

Quality: TypeAlias = "tuple[float, int, float]"
"""
Estimated seconds of a run, the number of partitions, and the sum of the times of all partitions and
transfers. What is less is better.
"""
CYCLIC: Quality = (inf, 0, inf)
"""The quality of partitions that wait for each other in a cycle."""


def quality_of(plan: Plan) -> Quality:
    """Returns the quality of a plan."""
    timing = plan.timing()
    if len(timing.starts) < len(plan.groups):
        return CYCLIC
    return timing.seconds, len(plan.groups), timing.work


def refine(problem: Problem, groups: list[UnitGroup]) -> list[UnitGroup]:
    """
    Partitions that fit into memory and are not worse, in an order in which they can run. `groups`
    must fit.
    """
    # each partition is compared with all others
    trials = min(TRIALS, TRIAL_WORK // (1 + len(problem.costs) + len(groups) ** 2))
    budget = _Budget(UNIT_TRIALS, UNIT_TRIAL_WORK)
    while True:
        groups, trials = move_partitions(problem, groups, trials)
        moved = _move_units(problem, groups, budget)
        if moved is None:
            return groups
        groups = moved


# whole partitions


def move_partitions(
    problem: Problem, groups: list[UnitGroup], trials: int = TRIALS
) -> tuple[list[UnitGroup], int]:
    """
    Moves whole partitions to other devices as long as that helps: those first that take the most
    time. Returns how many of the trials are left, too.
    """
    best = quality_of(Plan(problem, groups))
    pending = _moves(problem, groups)
    while pending and trials:
        trials -= 1
        units, device = pending.pop()
        moved = form(problem, _moved(problem, groups, units, device))
        quality = quality_of(Plan(problem, moved))
        if quality < best and not excess(problem, moved):
            groups, best = moved, quality
            pending = _moves(problem, groups)
    return groups, trials


def _moves(problem: Problem, groups: list[UnitGroup]) -> list[tuple[list[int], int]]:
    """Partitions with devices to which they can move, the most promising last."""
    found: list[tuple[float, list[int], int]] = []
    for group in groups:
        seconds = sum(problem.costs[u][group.device] for u in group.units)
        for device in range(len(problem.devices)):
            able = all(problem.costs[u][device] < inf for u in group.units)
            if able and device != group.device:
                found.append((seconds, group.units, device))
    return [(units, device) for _, units, device in sorted(found)]


def _moved(problem: Problem, groups: list[UnitGroup], units: list[int], device: int) -> list[int]:
    choice = _devices(problem, groups)
    for unit in units:
        choice[unit] = device
    return choice


def _devices(problem: Problem, groups: Iterable[UnitGroup]) -> list[int]:
    """Returns the device of each unit."""
    choice = [0] * len(problem.costs)
    for group in groups:
        for unit in group.units:
            choice[unit] = group.device
    return choice


# single units


@dataclass
class _Budget:
    """The number of trials that moves of units may still take."""

    trials: int
    work: int

    def take(self, plan: Plan) -> bool:
        """Returns whether one more move of a plan may be tried."""
        self.trials -= 1
        self.work -= len(plan.groups) + len(plan.group_of) // 10
        return self.trials >= 0 and self.work >= 0


class Move(NamedTuple):
    """A unit to another partition, which may be new."""

    unit: int
    target: int
    device: int


def _move_units(
    problem: Problem, groups: list[UnitGroup], budget: _Budget
) -> list[UnitGroup] | None:
    """
    Returns better partitions after passes of moves of units, as long as these help; None if there
    are none.
    """
    best = Plan(problem, groups)
    found: list[UnitGroup] | None = None
    while (plan := _Pass(best, budget).best()) is not None:
        best = _with_fewer(plan)
        found = best.in_order()
    return found


def _with_fewer(plan: Plan) -> Plan:
    """Returns the plan with neighbours merged, if there is memory for that."""
    groups = list(plan.groups.values())
    merged = merge_neighbours(plan, rooms_of(plan.problem, _devices(plan.problem, groups)))
    better = quality_of(merged) < quality_of(plan)
    return merged if better and not _lacks_memory(merged) else plan


def _lacks_memory(plan: Plan) -> bool:
    if all(d.memory is None for d in plan.problem.devices):
        return False
    return bool(excess(plan.problem, list(plan.groups.values())))


class _Pass:
    """Moves of units one after the other, each unit once."""

    def __init__(self, plan: Plan, budget: _Budget):
        self._plan = plan
        self._budget = budget
        self._locked: set[int] = set()
        self._step = 0
        self._heap: list[tuple[Quality, int, Move]] = []
        """Moves with the quality to which they led, and in which step that was found."""
        self._new = max(plan.groups, default=0)
        """The number of the latest new partition."""

    def best(self) -> Plan | None:
        """Returns the best plan on the way, if it is better than the first one."""
        best, found = quality_of(self._plan), None
        moves = [m for unit in range(len(self._plan.problem.costs)) for m in self._moves_of(unit)]
        moves.sort(key=self._local_gain, reverse=True)
        self._heap = [(self._try(move)[0], 0, move) for move in moves[:CANDIDATES]]
        heapify(self._heap)
        last_better = 0
        while self._step - last_better < PATIENCE and self._advance():
            quality = quality_of(self._plan)
            if quality < best:
                best, found, last_better = quality, self._plan, self._step
        return found

    def _advance(self) -> bool:
        """Makes the best possible move. Returns whether there is one."""
        while self._heap:
            _, step, move = heappop(self._heap)
            if move.unit in self._locked or self._plan.group_of[move.unit] == move.target:
                continue
            quality, plan = self._try(move)
            if plan is None:
                continue
            if step < self._step and self._heap and quality > self._heap[0][0]:
                heappush(self._heap, (quality, self._step, move))
                continue
            if not _lacks_memory(plan):
                self._make(move, plan)
                return True
        return False

    def _make(self, move: Move, plan: Plan) -> None:
        around = {u for _, u in (*plan.problem.before(move.unit), *plan.problem.after(move.unit))}
        self._plan = plan
        self._step += 1
        self._locked.add(move.unit)
        for unit in sorted(around - self._locked):
            for following in self._moves_of(unit):
                # older entries of the same move are harmless: it is made at most once
                heappush(self._heap, (self._try(following)[0], self._step, following))

    def _moves_of(self, unit: int) -> Sequence[Move]:
        """
        Returns the targets of a unit at the border of its partition: adjacent partitions, or a new
        one on another device.
        """
        problem, plan = self._plan.problem, self._plan
        own = plan.group_of[unit]
        around = plan.neighbours(unit)
        ends = not any(problem.before(unit)) or not any(problem.after(unit))
        if not (ends or around - {own}):
            return ()
        able = problem.can(unit)
        moves = [Move(unit, i, plan.groups[i].device) for i in sorted(around - {own})]
        moves = [m for m in moves if m.device in able]
        for device in able:
            if device != plan.groups[own].device:
                self._new += 1
                moves.append(Move(unit, self._new, device))
        return moves

    def _try(self, move: Move) -> tuple[Quality, Plan | None]:
        """Returns the plan after a move; None if it has cycles, or if the budget is used up."""
        if not self._budget.take(self._plan):
            return CYCLIC, None
        plan = self._plan.moved(*move)
        quality = quality_of(plan)
        return quality, None if quality == CYCLIC else plan

    def _local_gain(self, move: Move) -> float:
        """Returns seconds that a unit and the transfers of its values take less after a move."""
        problem, plan = self._plan.problem, self._plan
        source = plan.groups[plan.group_of[move.unit]].device

        def seconds(device: int) -> float:
            total = problem.costs[move.unit][device]
            for value, other in problem.before(move.unit):
                total += problem.link_seconds(
                    value, plan.groups[plan.group_of[other]].device, device
                )
            for value, other in problem.after(move.unit):
                total += problem.link_seconds(
                    value, device, plan.groups[plan.group_of[other]].device
                )
            return total

        return seconds(source) - seconds(move.device)
