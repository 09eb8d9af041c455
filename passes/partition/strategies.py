"""
Strategies choose the partitions of a network.

Every strategy obeys capability, annotations, and the memory of devices. A strategy is a function
`(problem) -> partitions`, registered with a decorator. It chooses a device for each unit; what
partitions need at once is known only when they are made of the choice, so if that is too much for
a device, it chooses again with less memory there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TypeAlias

from ...errors import CompileError
from ...table import Table
from ..graph.rewriting import failure
from .choices import Chooser, Filling, all_on, around_bytes, earliest_finish, most_special
from .cuts import balanced_cut
from .placement import Problem
from .plans import Plan, UnitGroup, excess, form
from .refinement import quality_of, refine
from .units import bytes_of

Strategy: TypeAlias = "Callable[[Problem], list[UnitGroup] | None]"
STRATEGIES: Table[str, Strategy] = Table("a strategy")
ROUNDS = 8
"""The number of times that a choice is made with less memory."""


class NoRoomError(CompileError):
    """A network that does not fit into the memory of the devices."""


def strategy(name: str) -> Callable[[Strategy], Strategy]:
    """
    Registers a strategy. It returns None if it finds no partitions that fit into memory.
    """
    return STRATEGIES.entry(name)


def solve(problem: Problem, name: str) -> list[UnitGroup]:
    """
    Returns the partitions that a strategy makes, in an order in which they can run.

    Raises NoRoomError if it finds none that fit into the memory of the devices.
    """
    groups = STRATEGIES[name](problem)
    if groups is None:
        raise _too_large(problem)
    return groups


@strategy("capability")
def by_capability(problem: Problem) -> list[UnitGroup] | None:
    """
    Accelerators get all that they can compute: each unit is on the device that can compute the
    fewest units. Of equal devices, one is filled after the other.
    """
    return _within_memory(problem, most_special)


@strategy("memory")
def by_memory(problem: Problem) -> list[UnitGroup] | None:
    """
    Returns the strategy `memory`: as `capability`, but equal devices get consecutive pieces of the
    network, of similar size in memory and with few bytes between them. If no such pieces fit, it is
    `capability`, which gives other devices what equal ones have no room for.
    """
    return _within_memory(problem, balanced_cut) or _within_memory(problem, most_special)


@strategy("time")
def by_time(problem: Problem) -> list[UnitGroup] | None:
    """
    Returns the partitions with the shortest estimated time of one run, communication included. It
    takes the best result of the other strategies, of list scheduling, and of each device alone, and
    improves it by moving partitions to other devices and units over the borders of partitions.
    """
    alone = [all_on(d) for d in range(len(problem.devices))]
    plans = [
        groups
        for chooser in (*alone, most_special, balanced_cut, earliest_finish)
        if (groups := _within_memory(problem, chooser)) is not None
    ]
    if not plans:
        return None
    return refine(problem, min(plans, key=lambda groups: quality_of(Plan(problem, groups))))


def _within_memory(problem: Problem, chooser: Chooser) -> list[UnitGroup] | None:
    """Returns the partitions of a choice, made with less memory until they fit."""
    memory = [inf if d.memory is None else float(d.memory) for d in problem.devices]
    for _ in range(ROUNDS):
        choice = chooser(problem, memory)
        if choice is None:
            return None
        groups = form(problem, choice)
        lacking = excess(problem, groups)
        if not lacking:
            return groups
        filling = Filling(problem, memory)
        for unit, device in enumerate(choice):
            filling.put(unit, device)
        for device, size in lacking.items():
            memory[device] = filling.used(device) - size
    return None


def _too_large(problem: Problem) -> CompileError:
    constants = {v for unit in problem.graph.units for v in unit.constants}
    sizes = ", ".join(f"{d.name} has {d.memory}" for d in problem.devices if d.memory is not None)
    needed = [w + around_bytes(problem, u) for u, w in enumerate(problem.weights)]
    largest = max(range(len(needed)), key=needed.__getitem__)
    return failure(
        problem.graph.units[largest].nodes[0],
        f"found no partitions that fit into the memory of the devices, in bytes: {sizes}; this "
        f"node needs {needed[largest]} with what it reads and makes, more than any other, and all "
        f"constants together {sum(map(bytes_of, constants))}",
        NoRoomError,
    )
