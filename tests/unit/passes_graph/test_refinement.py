"""Better partitions by moves of whole ones and of single units, which only ever help."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import inf

import pytest
from glow.passes.partition.devices import Configuration, Link, of_backends
from glow.passes.partition.placement import Problem
from glow.passes.partition.plans import (
    Plan,
    UnitGroup,
    excess,
    form,
    merge_neighbours,
)
from glow.passes.partition.refinement import (
    move_partitions,
    quality_of,
    refine,
)
from glow.passes.partition.strategies import STRATEGIES
from glow.tests.support.graph_text import parse
from glow.tests.support.partition_graphs import layered_graph
from glow.tests.unit.passes_graph.partition_problems import SEEDS, devices, problem_from
from hypothesis import given, settings
from hypothesis import strategies as st

MICRO = 1e-6


def two_devices(latency: float, memory: Sequence[int] = ()) -> Configuration:
    found = of_backends(["interpreter"] * 2, memory).devices
    return Configuration(found, {frozenset(d.name for d in found): Link(1e12, latency)})


def chain(*costs: tuple[float, float], memory: Sequence[int] = ()) -> Problem:
    """
    Returns products with constants, one after the other, with their microseconds on two devices. A
    tensor has 4 kB.
    """
    t = "tensor<1000xf32>"
    lines = [
        f"  %w{i} = glow.constant dense<{i}.5> : {t}\n"
        f"  %x{i + 1} = glow.mul %x{i}, %w{i} : ({t}, {t}) -> {t}"
        for i in range(len(costs))
    ]
    head = f"func.func @main(%x0: {t}) -> {t} {{"
    module = parse("\n".join([head, *lines, f"  func.return %x{len(costs)} : {t}\n}}"]))
    problem = problem_from(module, two_devices(10 * MICRO, memory))
    problem.costs = [[a * MICRO, b * MICRO] for a, b in costs]
    return problem


def placed(groups: Sequence[UnitGroup]) -> list[tuple[int, list[int]]]:
    return [(g.device, g.units) for g in groups]


GREEDY = ((10, 60), (30, 10), (40, 10))
"""The second device is better for the last two, but the way there makes the first of them later."""


def test_a_single_unit_moves_over_the_border() -> None:
    problem = chain(*GREEDY)
    groups = STRATEGIES["time"](problem)
    assert groups is not None
    assert placed(groups) == [(0, [0]), (1, [1, 2])]


def test_whole_partitions_cannot_do_that() -> None:
    problem = chain(*GREEDY)
    greedy = form(problem, [0, 0, 1])  # what list scheduling finds
    assert placed(greedy) == [(0, [0, 1]), (1, [2])]
    best = quality_of(Plan(problem, greedy))
    assert placed(move_partitions(problem, greedy)[0]) == placed(greedy)
    for choice in ([1, 1, 1], [0, 0, 0], [1, 1, 0]):
        assert quality_of(Plan(problem, form(problem, choice))) > best
    assert quality_of(Plan(problem, refine(problem, greedy))) < best


def test_a_move_that_helps_only_with_the_next_one_is_made() -> None:
    # either of the two in the middle alone would need two more ways
    problem = chain((1, inf), (50, 30), (50, 30), (50, 30), (inf, 1))
    start = form(problem, [0, 0, 0, 0, 1])
    found = refine(problem, start)
    assert placed(found) == [(0, [0]), (1, [1, 2, 3, 4])]


def test_a_unit_gets_a_partition_of_its_own() -> None:
    problem = chain((1, inf), (5, 5), (90, 1))
    found = refine(problem, form(problem, [0, 0, 0]))
    assert [g.device for g in found] == [0, 1]


def test_units_stay_if_there_is_no_memory() -> None:
    """On the second device: two constants, and one tensor that is read and one that is made."""
    roomy, tight = (chain(*GREEDY, memory=[10**6, size]) for size in (16_000, 15_999))
    greedy = [UnitGroup(0, [0, 1]), UnitGroup(1, [2])]
    assert placed(refine(roomy, greedy)) == [(0, [0]), (1, [1]), (1, [2])]
    assert placed(refine(tight, greedy)) == placed(greedy)


def test_no_partition_waits_for_itself() -> None:
    """Only the middle is faster elsewhere, but without it the rest would wait in a circle."""
    problem = chain((1, inf), (90, 1), (1, inf))
    plan = Plan(problem, [UnitGroup(0, [0, 1, 2])])
    moved = plan.moved(1, 7, 1)
    assert len(moved.timing().starts) < len(moved.groups)
    found = refine(problem, [UnitGroup(0, [0, 1, 2])])
    check(problem, found)


def check(problem: Problem, groups: Sequence[UnitGroup]) -> None:
    """
    Checks that every unit occurs once, on a device that can compute it, and no partition reads from
    a later one.
    """
    assert sorted(u for g in groups for u in g.units) == list(range(len(problem.costs)))
    group_of = {u: i for i, g in enumerate(groups) for u in g.units}
    for unit, row in enumerate(problem.costs):
        assert row[groups[group_of[unit]].device] < inf
        assert all(group_of[p] <= group_of[unit] for _, p in problem.before(unit))
    assert not excess(problem, groups)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(1, 30), st.booleans())
def test_refinement_never_makes_it_worse(seed: int, steps: int, limited: bool) -> None:
    rng = random.Random(seed)
    module = layered_graph(seed, steps)
    problem = problem_from(module, devices(seed))
    groups = form(problem, [rng.choice(problem.can(u)) for u in range(len(problem.costs))])
    if limited:  # exactly what these need
        unlimited = devices(seed, 0)
        problem = problem_from(module, unlimited)
        lacking = excess(problem, groups)
        most = max(lacking.values(), default=0)
        problem = problem_from(module, devices(seed, most))
    before = quality_of(Plan(problem, groups))
    found = refine(problem, groups)
    check(problem, found)
    assert quality_of(Plan(problem, found)) <= before


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 25), st.integers(2, 4))
def test_a_moved_unit_is_as_if_it_had_been_there(seed: int, steps: int, count: int) -> None:
    problem = problem_from(layered_graph(seed, steps), of_backends(["interpreter"] * count))
    rng = random.Random(seed)
    plan = first = Plan(problem, form(problem, [rng.randrange(count) for _ in problem.costs]))
    for new in range(1000, 1012):
        unit = rng.randrange(len(problem.costs))
        target = rng.choice([*plan.groups, new])
        if target == plan.group_of[unit]:
            continue
        before = links(plan)
        device = plan.groups[target].device if target in plan.groups else rng.randrange(count)
        moved = plan.moved(unit, target, device)
        assert links(plan) == before  # it is not changed
        assert links(moved) == links(Plan(problem, list(moved.groups.values())))
        assert moved.group_of == {u: i for i, g in moved.groups.items() for u in g.units}
        plan = moved
    merged = merge_neighbours(first, [inf] * count)
    assert links(merged) == links(Plan(problem, list(merged.groups.values())))


def links(plan: Plan) -> dict[tuple[int, ...], object]:
    """
    Returns, by the units of each partition, its device, its seconds, and the values that it sends
    and reads.
    """
    units = {i: tuple(g.units) for i, g in plan.groups.items()}
    return {
        units[i]: (
            g.device,
            pytest.approx(plan.costs[i]),
            {v: {units[u] for u in users} for v, users in plan.sends[i].items()},
            plan.host_reads[i],
            plan.host_sends[i],
        )
        for i, g in plan.groups.items()
    }
