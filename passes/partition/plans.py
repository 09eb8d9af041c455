"""
Plans: the partition of each unit, the device of each partition, and the costs of both.

Given a device for each unit, `form` makes partitions that cannot wait for each other in a circle.
The *stage* of a unit is how many times data has to change the device before it can run, and its
*reach* how many times at most data changes the device after it. Data goes from lower to higher
stages, and within a stage and device from higher to lower reaches, so units of the same device,
stage and reach are a partition, and partitions sorted that way are in an order in which they can
run. That sends results early that others wait for. A partition that needs more memory at once than
its device has is split. Then neighbours on a device are merged if that makes no cycle, fits, and
does not make the network slower: every partition costs a hand-over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain
from math import inf
from typing import Any

from .devices import LATENCY
from .placement import Problem
from .units import bytes_of

HAND_OVER = 6e-6 + LATENCY
"""
The seconds that a partition takes in addition to its nodes: a run of a network without work, as
measured on a server's CPU, and a message to the device.
"""
MOST_GROUPS = 100
"""
The largest number of partitions for which results that others wait for are sent early, and merging
must not make the network slower.
"""


@dataclass
class UnitGroup:
    """A partition."""

    device: int
    units: list[int]
    """The units in ascending order, in which they can run."""


def weight_bytes(problem: Problem, units: Iterable[int]) -> int:
    """Returns bytes of the constants of a partition, each once."""
    graph = problem.graph
    constants = {v for u in units for v in graph.units[u].constants}
    return sum(map(bytes_of, constants))


def activation_bytes(problem: Problem, units: Sequence[int]) -> int:
    """
    Returns the largest number of bytes that a partition needs at once in addition to its constants.
    The values that it reads and the values that it makes for others count all the time. Other
    values count from the unit that makes them to the last unit that reads them. Values within a
    unit do not count.
    """
    members = set(units)
    last: dict[int, int] = {}
    always = 0
    for unit in units:
        for value in problem.reads[unit]:
            if value not in last and problem.values[value].producer not in members:
                always += problem.values[value].bytes
            last[value] = unit
    live = highest = 0
    for unit in units:
        for value in problem.makes[unit]:
            found = problem.values[value]
            if found.returned or not members.issuperset(found.users):
                always += found.bytes
                last.pop(value, None)
            else:
                live += found.bytes
        highest = max(highest, live)
        for value in problem.reads[unit]:
            if last.get(value) == unit and problem.values[value].producer in members:
                live -= problem.values[value].bytes
    return always + highest


def excess(problem: Problem, groups: Sequence[UnitGroup]) -> dict[int, int]:
    """
    Returns the devices whose memory is too small, with the bytes that they lack. A device holds the
    constants of all its partitions, and runs one of these at a time.
    """
    lacking: dict[int, int] = {}
    for number, device in enumerate(problem.devices):
        if device.memory is None:
            continue
        own = [g.units for g in groups if g.device == number]
        used = sum(weight_bytes(problem, units) for units in own)
        used += max((activation_bytes(problem, units) for units in own), default=0)
        if used > device.memory:
            lacking[number] = used - device.memory
    return lacking


def form(problem: Problem, device: Sequence[int]) -> list[UnitGroup]:
    """Partitions, in an order in which they can run, for the device of each unit."""
    stages, reaches = _stages(problem, device), _reaches(problem, device)
    keys = [(s, -r, d) for s, r, d in zip(stages, reaches, device, strict=True)]
    if len(set(keys)) > MOST_GROUPS:
        keys = [(s, 0, d) for s, _, d in keys]
    found: dict[tuple[int, int, int], list[int]] = {}
    for unit, key in enumerate(keys):
        found.setdefault(key, []).append(unit)
    room = rooms_of(problem, device)
    groups = [
        UnitGroup(key[2], part)
        for key in sorted(found)
        for part in _split(problem, found[key], room[key[2]])
    ]
    return merge_neighbours(Plan(problem, groups), room).in_order()


def rooms_of(problem: Problem, device: Sequence[int]) -> list[float]:
    """Returns the bytes that constants leave for the activations of a partition on each device."""
    rooms: list[float] = []
    for number, about in enumerate(problem.devices):
        own = [u for u, d in enumerate(device) if d == number]
        memory = inf if about.memory is None else about.memory
        rooms.append(memory - weight_bytes(problem, own) if memory < inf else inf)
    return rooms


def _split(problem: Problem, units: list[int], room: float) -> list[list[int]]:
    """
    Splits units in halves, and so on, until each part has room for the values that it reads and
    computes. Data only goes from earlier to later parts.
    """
    if room == inf or len(units) == 1 or activation_bytes(problem, units) <= room:
        return [units]
    middle = len(units) // 2
    halves = units[:middle], units[middle:]
    return [part for half in halves for part in _split(problem, half, room)]


def _stages(problem: Problem, device: Sequence[int]) -> list[int]:
    """Returns the number of device changes before each unit."""
    stages: list[int] = []
    for unit in range(len(device)):
        before = (p for _, p in problem.before(unit))
        stages.append(max((stages[p] + (device[p] != device[unit]) for p in before), default=0))
    return stages


def _reaches(problem: Problem, device: Sequence[int]) -> list[int]:
    """Returns the largest number of device changes after each unit."""
    reaches = [0] * len(device)
    for unit in reversed(range(len(device))):
        after = (u for _, u in problem.after(unit))
        reaches[unit] = max((reaches[u] + (device[u] != device[unit]) for u in after), default=0)
    return reaches


@dataclass
class Timing:
    """The estimated times of the partitions of a plan."""

    starts: dict[int, float] = field(default_factory=dict)
    """
    The starts of partitions, except those that wait for each other in a cycle and their successors.
    """
    seconds: float = 0.0
    """The time in seconds until the host has all results."""
    work: float = 0.0
    """The seconds of all partitions and all transfers, one after the other."""


def _seconds(problem: Problem, group: UnitGroup) -> float:
    return HAND_OVER + sum(problem.costs[u][group.device] for u in group.units)


class Plan:
    """
    Partitions, and the values that they send each other. Numbers of partitions stay when others are
    merged.
    """

    def __init__(self, problem: Problem, groups: Sequence[UnitGroup]):
        self.problem = problem
        self.groups = dict(enumerate(groups))
        self.costs = {i: _seconds(problem, g) for i, g in self.groups.items()}
        self.sends: dict[int, dict[int, set[int]]] = {i: {} for i in self.groups}
        """The values that each partition sends, with the partitions that read them."""
        self.host_reads: dict[int, set[int]] = {i: set() for i in self.groups}
        """The values of each partition that the network returns."""
        self.host_sends: dict[int, set[int]] = {i: set() for i in self.groups}
        """The arguments of the network that each partition reads."""
        self.group_of = {u: i for i, g in self.groups.items() for u in g.units}
        """The partition of each unit."""
        for number in range(len(problem.values)):
            self._add_value(number)

    def _add_value(self, number: int) -> None:
        value = self.problem.values[number]
        users = {self.group_of[u] for u in value.users}
        if value.producer is None:
            for user in users:
                self.host_sends[user].add(number)
            return
        producer = self.group_of[value.producer]
        if value.returned:
            self.host_reads[producer].add(number)
        if users - {producer}:
            self.sends[producer][number] = users - {producer}

    def _forget_value(self, number: int) -> None:
        value = self.problem.values[number]
        if value.producer is None:
            for user in value.users:
                self.host_sends[self.group_of[user]].discard(number)
            return
        producer = self.group_of[value.producer]
        self.host_reads[producer].discard(number)
        self.sends[producer].pop(number, None)

    def neighbours(self, unit: int) -> set[int]:
        """
        Returns the partitions from which a unit reads values, or that read those that it makes.
        """
        problem = self.problem
        around = (*problem.before(unit), *problem.after(unit))
        return {self.group_of[u] for _, u in around}

    def timing(self) -> Timing:
        """Simulates one run: a device takes the partition that is ready first."""
        result = Timing(work=sum(self.costs.values()))
        link, groups = self.problem.link_seconds, self.groups
        ready = {
            i: max((link(v, None, groups[i].device) for v in values), default=0.0)
            for i, values in self.host_sends.items()
        }
        followers = {i: set().union(*sent.values()) for i, sent in self.sends.items()}
        missing = dict.fromkeys(groups, 0)
        for user in chain.from_iterable(followers.values()):
            missing[user] += 1
        free = [0.0] * len(self.problem.devices)
        heap = [(ready[i], i) for i in groups if not missing[i]]
        heap.sort()
        while heap:
            _, i = heappop(heap)
            device = groups[i].device
            start = result.starts[i] = max(ready[i], free[device])
            end = free[device] = start + self.costs[i]
            arrivals = (end + link(v, device, None) for v in self.host_reads[i])
            result.seconds = max(result.seconds, end, *arrivals)
            for value, users in self.sends[i].items():
                for user in users:
                    way = link(value, device, groups[user].device)
                    result.work += way
                    ready[user] = max(ready[user], end + way)
            for user in followers[i]:
                missing[user] -= 1
                if not missing[user]:
                    heappush(heap, (ready[user], user))
        return result

    def in_order(self) -> list[UnitGroup]:
        """Returns the partitions as they begin."""
        starts = self.timing().starts
        return [self.groups[i] for i in sorted(starts, key=starts.__getitem__)]

    def has_path_around(self, first: int, second: int) -> bool:
        """Returns whether data gets from one partition to another one over a third."""
        pending = [u for users in self.sends[first].values() for u in users if u != second]
        seen = set(pending)
        while pending:
            i = pending.pop()
            for users in self.sends[i].values():
                if second in users:
                    return True
                pending += users - seen
                seen |= users
        return False

    def merged(self, first: int, second: int) -> Plan:
        """
        Returns the same plan with `second` in `first`, which begins earlier. There is no path
        around.
        """
        plan = self._copy()
        a, b = self.groups[first], plan.groups.pop(second)
        plan.groups[first] = UnitGroup(a.device, sorted((*a.units, *b.units)))
        plan.costs[first] += plan.costs.pop(second) - HAND_OVER
        plan.host_reads[first] = plan.host_reads[first] | plan.host_reads.pop(second)
        plan.host_sends[first] = plan.host_sends[first] | plan.host_sends.pop(second)
        plan.group_of |= dict.fromkeys(b.units, first)
        both = {first, second}
        sends = {**self.sends[first], **plan.sends.pop(second)}
        plan.sends[first] = {v: users - both for v, users in sends.items() if users - both}
        for i, sent in plan.sends.items():
            if any(second in users for users in sent.values()):
                plan.sends[i] = {v: _renamed(u, second, first) for v, u in sent.items()}
        return plan

    def moved(self, unit: int, target: int, device: int) -> Plan:
        """
        Returns the same plan with a unit in partition `target`, a new one on `device` if that
        number does not exist. A partition that loses its last unit disappears. Then partitions may
        wait for each other in a circle, which `timing` shows.
        """
        plan = self._copy()
        problem, source = self.problem, self.group_of[unit]
        values = {*problem.reads[unit], *problem.makes[unit]}
        plan.sends.setdefault(target, {})
        for table in (plan.host_reads, plan.host_sends):
            table.setdefault(target, set())
        for i in {source, target, *self._around(values)}:
            plan.sends[i] = copy(plan.sends[i])
            plan.host_reads[i], plan.host_sends[i] = {*plan.host_reads[i]}, {*plan.host_sends[i]}
        for number in values:
            plan._forget_value(number)
        plan.group_of[unit] = target
        for number in values:
            plan._add_value(number)
        left = [u for u in self.groups[source].units if u != unit]
        others = self.groups[target].units if target in self.groups else []
        plan._set(source, UnitGroup(self.groups[source].device, left))
        plan._set(target, UnitGroup(device, sorted((*others, unit))))
        return plan

    def _around(self, values: Iterable[int]) -> set[int]:
        """Returns the partitions that make or read values."""
        units = (self.problem.values[v] for v in values)
        return {self.group_of[u] for v in units for u in (v.producer, *v.users) if u is not None}

    def _set(self, number: int, group: UnitGroup) -> None:
        """Has a partition consist of other units; without any, it is gone."""
        self.groups[number], self.costs[number] = group, _seconds(self.problem, group)
        if not group.units:
            for table in self._tables():
                del table[number]

    def _tables(self) -> Iterable[dict[int, Any]]:
        """Returns the tables with an entry for each partition."""
        return self.groups, self.costs, self.sends, self.host_reads, self.host_sends

    def _copy(self) -> Plan:
        """Returns a plan with copies of the tables, which share their entries."""
        plan = copy(self)
        for name in ("groups", "costs", "sends", "host_reads", "host_sends", "group_of"):
            setattr(plan, name, dict(getattr(self, name)))
        return plan


def _renamed(numbers: set[int], old: int, new: int) -> set[int]:
    return (numbers - {old}) | {new} if old in numbers else numbers


def merge_neighbours(plan: Plan, rooms: Sequence[float]) -> Plan:
    """Merges partitions that follow each other on a device, unless the network gets slower."""
    best = plan.timing().seconds
    for device in range(len(plan.problem.devices)):
        # merging changes which partitions wait on other devices, so the order is computed again
        timing = plan.timing()
        own = [i for i, g in plan.groups.items() if g.device == device]
        own.sort(key=timing.starts.__getitem__)
        for i, following in enumerate(own[1:]):
            current = own[i]
            own[i + 1] = current  # unless they stay apart
            if not plan.has_path_around(current, following):
                candidate = plan.merged(current, following)
                # of very many partitions, every one less is welcome
                many = len(candidate.groups) >= MOST_GROUPS
                seconds = inf if many else candidate.timing().seconds
                if (many or seconds <= best) and _fits(candidate, current, rooms[device]):
                    plan, best = candidate, seconds
                    continue
            own[i + 1] = following
    return plan


def _fits(plan: Plan, group: int, room: float) -> bool:
    return room == inf or activation_bytes(plan.problem, plan.groups[group].units) <= room
