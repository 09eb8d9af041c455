"""
How the partitions of a network are chosen.

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
from ..rewriting import failure
from .choices import Chooser, Filling, all_on, around_bytes, earliest_finish, most_special
from .cuts import balanced_cut
from .placement import Problem
from .plans import Group, Plan, excess, form
from .units import bytes_of

Strategy: TypeAlias = "Callable[[Problem], list[Group] | None]"
STRATEGIES: dict[str, Strategy] = {}
ROUNDS = 8
"""How often a choice is made with less memory."""
TRIALS, TRIAL_WORK = 200, 40_000
"""How many changes of a plan are tried at most, and what they may take, in units to look at."""


def strategy(name: str) -> Callable[[Strategy], Strategy]:
    """Registers a strategy. It returns None if it finds no partitions that fit into memory."""

    def register(function: Strategy) -> Strategy:
        STRATEGIES[name] = function
        return function

    return register


def solve(problem: Problem, name: str) -> list[Group]:
    """
    The partitions that a strategy makes, in an order in which they can run.

    Raises CompileError if it finds none that fit into the memory of the devices.
    """
    groups = STRATEGIES[name](problem)
    if groups is None:
        raise _too_large(problem)
    return groups


@strategy("capability")
def by_capability(problem: Problem) -> list[Group] | None:
    """
    Accelerators get all that they can compute: each unit is on the device that can compute the
    fewest units. Of equal devices, one is filled after the other.
    """
    return _within_memory(problem, most_special)


@strategy("memory")
def by_memory(problem: Problem) -> list[Group] | None:
    """
    As `capability`, but equal devices get consecutive pieces of the network of similar size in
    memory, with few bytes between them.
    """
    return _within_memory(problem, balanced_cut)


@strategy("time")
def by_time(problem: Problem) -> list[Group] | None:
    """
    The shortest estimated time of one run, communication included: the best of what the other
    strategies, list scheduling, and all on one device give, improved by moving partitions to other
    devices.
    """
    alone = [all_on(d) for d in range(len(problem.devices))]
    plans = [
        groups
        for chooser in (*alone, most_special, balanced_cut, earliest_finish)
        if (groups := _within_memory(problem, chooser)) is not None
    ]
    if not plans:
        return None
    return _improve(problem, min(plans, key=lambda groups: _quality(problem, groups)))


def _within_memory(problem: Problem, chooser: Chooser) -> list[Group] | None:
    """The partitions of a choice, made with less memory until they fit."""
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


def _quality(problem: Problem, groups: list[Group]) -> tuple[float, int]:
    """Estimated seconds and the number of partitions: what is less is better."""
    return Plan(problem, groups).timing().seconds, len(groups)


def _improve(problem: Problem, groups: list[Group]) -> list[Group]:
    """
    Move whole partitions to other devices as long as that helps: those first that take the most
    time.
    """
    best = _quality(problem, groups)
    # each partition is compared with all others
    trials = min(TRIALS, TRIAL_WORK // (1 + len(problem.costs) + len(groups) ** 2))
    pending = _moves(problem, groups)
    while pending and trials:
        trials -= 1
        units, device = pending.pop()
        moved = form(problem, _moved(problem, groups, units, device))
        quality = _quality(problem, moved)
        if quality < best and not excess(problem, moved):
            groups, best = moved, quality
            pending = _moves(problem, groups)
    return groups


def _moves(problem: Problem, groups: list[Group]) -> list[tuple[list[int], int]]:
    """Partitions with devices to which they can move, the most promising last."""
    found: list[tuple[float, list[int], int]] = []
    for group in groups:
        seconds = sum(problem.costs[u][group.device] for u in group.units)
        for device in range(len(problem.devices)):
            able = all(problem.costs[u][device] < inf for u in group.units)
            if able and device != group.device:
                found.append((seconds, group.units, device))
    return [(units, device) for _, units, device in sorted(found)]


def _moved(problem: Problem, groups: list[Group], units: list[int], device: int) -> list[int]:
    choice = [0] * len(problem.costs)
    for group in groups:
        for unit in group.units:
            choice[unit] = group.device
    for unit in units:
        choice[unit] = device
    return choice


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
    )
