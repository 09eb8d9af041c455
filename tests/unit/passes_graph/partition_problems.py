"""Problems of partitioning with random graphs and devices."""

from __future__ import annotations

import random
from itertools import combinations

from glow.glow_dialects.operators import OPERATORS
from glow.interface.backend import Rates, find_backend
from glow.passes.partition.devices import (
    Configuration,
    Device,
    Link,
)
from glow.passes.partition.partitions import (
    MAIN,
)
from glow.passes.partition.placement import Problem, problem_of
from glow.passes.partition.units import unit_graph
from glow.tests.support.limited_backend import LimitedBackend
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

SEEDS = st.integers(0, 2**32 - 1)
INTERPRETER = find_backend("interpreter")


def main_of(module: ModuleOp) -> func.FuncOp:
    return next(f for f in module.ops if isinstance(f, func.FuncOp) and f.sym_name.data == MAIN)


def devices(seed: int, memory: int | None = None) -> Configuration:
    """
    Returns a device that computes all, and up to three others with some operators, of any speed.
    """
    rng = random.Random(seed)
    found = [Device("all", INTERPRETER, memory)]
    for i in range(rng.randint(1, 3)):
        some = rng.sample(OPERATORS, rng.randint(1, len(OPERATORS)))
        rates = Rates(10 ** rng.uniform(7, 11), 10 ** rng.uniform(7, 11), rng.choice([0, 1e-5]))
        found.append(Device(f"some{i}", LimitedBackend(some, rates), memory))
    rng.shuffle(found)
    links = {
        frozenset((a.name, b.name)): Link(10 ** rng.uniform(5, 11), 10 ** rng.uniform(-7, -3))
        for a, b in combinations(found, 2)
        if rng.random() < 0.5
    }
    return Configuration(tuple(found), links)


def problem_from(module: ModuleOp, configuration: Configuration) -> Problem:
    return problem_of(unit_graph(main_of(module).body.block), configuration)
