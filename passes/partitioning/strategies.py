"""
How a device is chosen for each unit of a graph.

Every strategy obeys capability, annotations and the memory of devices. What it minimises differs.
A strategy is a function `(problem, memory) -> device of each unit`, registered with a decorator;
`memory` has the bytes that it may use on each device. What a partition needs at once is known only
when partitions are made of the choice; if that turns out to be too much for a device, the strategy
runs again with less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TypeAlias

from ...errors import CompileError
from .placement import Problem
from .plans import Group, excess, form
from .units import bytes_of

Memory: TypeAlias = "Sequence[float]"
Choice: TypeAlias = "list[int]"
Strategy: TypeAlias = "Callable[[Problem, Memory], Choice | None]"
STRATEGIES: dict[str, Strategy] = {}
ROUNDS = 8
"""How often a strategy runs with less memory."""


def strategy(name: str) -> Callable[[Strategy], Strategy]:
    """Registers a strategy. It returns None if it finds no choice within the memory."""

    def register(function: Strategy) -> Strategy:
        STRATEGIES[name] = function
        return function

    return register


class Filling:
    """What of the memory of devices is taken, as units are put on them."""

    def __init__(self, problem: Problem, memory: Memory):
        self.problem = problem
        self.memory = memory
        self.weights = [0] * len(memory)
        self.largest = [0] * len(memory)
        self.constants = [set() for _ in memory]

    def fits(self, unit: int, device: int) -> bool:
        """
        Whether a unit has room: for its constants, and for what it reads and makes. Partitions need
        more, as values wait for their readers.
        """
        new = sum(bytes_of(v) for v in self._new(unit, device))
        around = max(self.largest[device], self._around(unit))
        return self.weights[device] + new + around <= self.memory[device]

    def put(self, unit: int, device: int) -> None:
        new = self._new(unit, device)
        self.constants[device] |= new
        self.weights[device] += sum(map(bytes_of, new))
        self.largest[device] = max(self.largest[device], self._around(unit))

    def _new(self, unit: int, device: int) -> set:
        return set(self.problem.graph.units[unit].constants) - self.constants[device]

    def _around(self, unit: int) -> int:
        values = (*self.problem.reads[unit], *self.problem.makes[unit])
        return sum(self.problem.values[v].bytes for v in values)


def generality(problem: Problem) -> list[int]:
    """How many units each device can compute: few for an accelerator."""
    return [sum(row[d] < inf for row in problem.costs) for d in range(len(problem.devices))]


@strategy("capability")
def by_capability(problem: Problem, memory: Memory) -> Choice | None:
    """
    Each unit goes to the device that can compute the fewest of all units: accelerators get
    all that they can compute. Of equal devices, one is filled after the other, in their order.
    """
    general, filling = generality(problem), Filling(problem, memory)
    choice: Choice = []
    for unit in range(len(problem.costs)):
        able = sorted(problem.can(unit), key=lambda d: general[d])
        device = next((d for d in able if filling.fits(unit, d)), None)
        if device is None:
            return None
        filling.put(unit, device)
        choice.append(device)
    return choice


def solve(problem: Problem, name: str) -> list[Group]:
    """
    The partitions that a strategy makes, in an order in which they can run.

    Raises CompileError if it finds none that fit into the memory of the devices.
    """
    memory = [inf if d.memory is None else float(d.memory) for d in problem.devices]
    lacking: dict[int, int] = {}
    for _ in range(ROUNDS):
        choice = STRATEGIES[name](problem, memory)
        if choice is None:
            break
        groups = form(problem, choice)
        lacking = excess(problem, groups)
        if not lacking:
            return groups
        for device, size in lacking.items():
            memory[device] -= size
    raise _too_large(problem, lacking)


def _too_large(problem: Problem, lacking: dict[int, int]) -> CompileError:
    weights = sum({v: bytes_of(v) for u in problem.graph.units for v in u.constants}.values())
    sizes = (f"{d.name} has {d.memory}" for d in problem.devices if d.memory is not None)
    return CompileError(
        f"found no split that fits into the memory of the devices ({', '.join(sizes)} bytes): "
        f"the constants of the network have {weights} bytes"
    )
