"""
Ways to choose a device for each unit of a graph, within given bytes of memory.

They count the bytes that one unit needs in addition to the constants of its device. A partition
needs more, because values wait for their readers; `strategies` takes care of that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TypeAlias

from xdsl.ir import SSAValue

from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from .placement import Problem
from .plans import HAND_OVER
from .units import Unit, bytes_of

DeviceMemory: TypeAlias = "Sequence[float]"
"""Bytes on each device."""
Choice: TypeAlias = "list[int]"
"""The device of each unit."""
Chooser: TypeAlias = "Callable[[Problem, DeviceMemory], Choice | None]"
"""Chooses a device for each unit; None if it finds no choice that fits."""


class Filling:
    """The used memory of devices, as units are put on them."""

    def __init__(self, problem: Problem, memory: DeviceMemory):
        self.problem = problem
        self.memory = memory
        self.weights = [0] * len(memory)
        """Bytes of the constants on each device."""
        self.largest = [0] * len(memory)
        """Bytes of what a unit on each device reads and makes, at most."""
        self._constants: list[set[SSAValue]] = [set() for _ in memory]

    def used(self, device: int) -> int:
        """Returns bytes that the units on a device are known to need."""
        return self.weights[device] + self.largest[device]

    def fits(self, unit: int, device: int) -> bool:
        """
        Returns whether a device has room for a unit's constants and for the values that it reads
        and makes.
        """
        if self.memory[device] == inf:
            return True
        new = sum(map(bytes_of, self._new(unit, device)))
        around = max(self.largest[device], around_bytes(self.problem, unit))
        return self.weights[device] + new + around <= self.memory[device]

    def holds(self, unit: int, device: int) -> bool:
        """Returns whether a device has room for a unit if nothing else is there."""
        needed = self.problem.weights[unit] + around_bytes(self.problem, unit)
        return needed <= self.memory[device]

    def put(self, unit: int, device: int) -> None:
        new = self._new(unit, device)
        self._constants[device] |= new
        self.weights[device] += sum(map(bytes_of, new))
        self.largest[device] = max(self.largest[device], around_bytes(self.problem, unit))

    def _new(self, unit: int, device: int) -> set[SSAValue]:
        return set(self.problem.graph.units[unit].constants) - self._constants[device]


def around_bytes(problem: Problem, unit: int) -> int:
    """Returns the values that a unit reads and makes."""
    values = (*problem.reads[unit], *problem.makes[unit])
    return sum(problem.values[v].bytes for v in values)


def order_by_capability(problem: Problem) -> Callable[[int, int], int]:
    """
    Returns a number for a unit and a device: how many units the device can compute in all, which
    are few if it is an accelerator. The number is negative for conversions between floats and
    quantized numbers at the border of the quantized part, because accelerators should not compute
    these.
    """
    general = [sum(row[d] < inf for row in problem.costs) for d in range(len(problem.devices))]
    border = [is_border(unit) for unit in problem.graph.units]
    return lambda unit, device: -general[device] if border[unit] else general[device]


def is_border(unit: Unit) -> bool:
    """Returns whether a unit only quantizes floats that others made, or dequantizes a result."""
    if unit.conversions:
        return False
    return all(isinstance(n, QuantizeOp | DequantizeOp) for n in unit.nodes)


def most_special(problem: Problem, memory: DeviceMemory) -> Choice | None:
    """
    Returns each unit on the device that can compute the fewest of all units (see
    `order_by_capability`). Of equal devices, one is filled after the other, in their order.
    """
    return _first_fit(problem, memory, order_by_capability(problem))


def _first_fit(
    problem: Problem, memory: DeviceMemory, preference: Callable[[int, int], int]
) -> Choice | None:
    """
    Returns each unit on the first device that has room, in ascending order of a number of devices.
    A device that was too full once is taken only if no other one is left, so that data does not go
    back. A unit that is too large for an empty device says nothing about whether it is full.
    """
    filling = Filling(problem, memory)
    choice: Choice = []
    full: set[int] = set()
    for unit in range(len(problem.costs)):
        able = [d for d in problem.can(unit) if filling.holds(unit, d)]
        able.sort(key=lambda d: (d in full, preference(unit, d)))
        device = next((d for d in able if filling.fits(unit, d)), None)
        if device is None:
            return None
        full.update(able[: able.index(device)])
        filling.put(unit, device)
        choice.append(device)
    return choice


def all_on(device: int) -> Chooser:
    """
    Puts everything on one device that it can compute and holds, and the rest on the other devices
    in order.
    """

    def choose(problem: Problem, memory: DeviceMemory) -> Choice | None:
        return _first_fit(problem, memory, lambda _, d: d != device)

    return choose


def earliest_finish(problem: Problem, memory: DeviceMemory) -> Choice | None:
    """
    Lists scheduling: units by how much must follow them, each on the device on which it is done
    first, with the time that its operands take to get there (HEFT: Topcuoglu, Hariri and Wu,
    "Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous Computing", 2002).
    """
    ranks = _ranks(problem)
    filling = Filling(problem, memory)
    choice = [-1] * len(ranks)
    finish = [0.0] * len(ranks)
    free = [0.0] * len(problem.devices)
    for unit in sorted(range(len(ranks)), key=lambda u: (-ranks[u], u)):
        best = (inf, inf, -1)
        for device in problem.can(unit):
            if filling.fits(unit, device):
                ready = _ready(problem, unit, device, choice, finish)
                end = max(ready, free[device]) + problem.costs[unit][device]
                best = min(best, (end, ready, device))
        if best[0] == inf:
            return None
        finish[unit], _, choice[unit] = best
        free[choice[unit]] = finish[unit]
        filling.put(unit, choice[unit])
    return choice


def _ready(
    problem: Problem, unit: int, device: int, choice: Sequence[int], finish: Sequence[float]
) -> float:
    """Returns the time at which all inputs of a unit are on a device."""
    ready = 0.0
    for value in problem.reads[unit]:
        producer = problem.values[value].producer
        if producer is None:
            ready = max(ready, problem.link_seconds(value, None, device))
        elif choice[producer] == device:
            ready = max(ready, finish[producer])
        else:
            way = problem.link_seconds(value, choice[producer], device)
            ready = max(ready, finish[producer] + way + HAND_OVER)
    return ready


def _ranks(problem: Problem) -> list[float]:
    """Returns the mean time of each unit and of all that must follow it, on the longest path."""
    ranks = [0.0] * len(problem.costs)
    count = len(problem.devices)
    pairs = [(a, b) for a in range(count) for b in range(count)]
    ways = [
        sum(problem.link_seconds(v, a, b) for a, b in pairs) / len(pairs)
        for v in range(len(problem.values))
    ]
    for unit in reversed(range(len(ranks))):
        row = [seconds for seconds in problem.costs[unit] if seconds < inf]
        after = max((ways[v] + ranks[u] for v, u in problem.after(unit)), default=0.0)
        ranks[unit] = sum(row) / len(row) + after
    return ranks
