"""The schedule against the given order, and against the best order of small trees."""

from __future__ import annotations

import itertools

import numpy as np
from glow.context import make_context
from glow.passes.graph.schedule_nodes import (
    Problem,
    Task,
    best_order,
    order_by_children,
    peak,
    problem_of,
    schedule,
)
from glow.tests.support.random_graphs import random_graph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

BRANCHES = 6


def parse(text: str) -> ModuleOp:
    return Parser(make_context(), text).parse_module()


def main_of(module: ModuleOp) -> func.FuncOp:
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    return function


def wide_graph() -> ModuleOp:
    """Branches that make a large tensor and reduce it, all large ones first."""
    big, small = "tensor<1000x8xf32>", "tensor<8xf32>"
    lines = [
        f"%b{i} = glow.matmul %x, %w{i} : (tensor<1000x2xf32>, tensor<2x8xf32>) -> {big}"
        for i in range(BRANCHES)
    ]
    lines += [
        f"%s{i} = glow.reduce_sum %b{i} axes [0] : ({big}) -> {small}" for i in range(BRANCHES)
    ]
    lines += [
        f"%t{i} = glow.add %{'s0' if i == 1 else f't{i - 1}'}, %s{i} "
        f": ({small}, {small}) -> {small}"
        for i in range(1, BRANCHES)
    ]
    arguments = ", ".join(f"%w{i}: tensor<2x8xf32>" for i in range(BRANCHES))
    return parse(
        f"func.func @main(%x: tensor<1000x2xf32>, {arguments}) -> {small} {{\n"
        + "\n".join(lines)
        + f"\nfunc.return %t{BRANCHES - 1} : {small}\n}}"
    )


def test_one_branch_at_a_time():
    module = wide_graph()
    block = main_of(module).body.block
    big = 1000 * 8 * 4
    before = problem_of(block)
    assert peak(before, range(len(before.tasks))) >= BRANCHES * big
    schedule(block)
    module.verify()
    after = problem_of(block)
    assert peak(after, range(len(after.tasks))) < 1.01 * big


@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_never_worse(seed: int, steps: int):
    problem = problem_of(main_of(random_graph(seed, steps)).body.block)
    order = best_order(problem)
    assert sorted(order) == list(range(len(problem.tasks)))
    position = {task: i for i, task in enumerate(order)}
    assert all(
        position[before] < position[i]
        for i, task in enumerate(problem.tasks)
        for before in task.after
    )
    assert peak(problem, order) <= peak(problem, range(len(problem.tasks)))


@st.composite
def trees(draw: st.DrawFn) -> Problem:
    """
    Returns a tree of up to seven tasks, each with a result of some size, children before parents.
    """
    n = draw(st.integers(1, 7))
    parents = [draw(st.integers(i + 1, n - 1)) for i in range(n - 1)]
    children: list[list[int]] = [[] for _ in range(n)]
    for child, parent in enumerate(parents):
        children[parent].append(child)
    sizes = [draw(st.integers(1, 20)) for _ in range(n)]
    tasks = [Task(tuple(c), (i,), tuple(c), False) for i, c in enumerate(children)]
    return Problem(tasks, sizes, [1] * n)


def is_order(problem: Problem, order: tuple[int, ...]) -> bool:
    seen: set[int] = set()
    for i in order:
        if not seen.issuperset(problem.tasks[i].after):
            return False
        seen.add(i)
    return True


@settings(deadline=None, max_examples=60)
@given(trees())
def test_best_depth_first_order_of_trees(problem: Problem):
    """No order in which each subtree is computed without a break needs less."""
    n = len(problem.tasks)

    def subtree(i: int) -> set[int]:
        return {i}.union(*(subtree(c) for c in problem.tasks[i].after))

    def unbroken(order: tuple[int, ...]) -> bool:
        at = {t: i for i, t in enumerate(order)}
        spans = ([at[t] for t in subtree(i)] for i in range(n))
        return all(max(s) - min(s) == len(s) - 1 for s in spans)

    orders = (o for o in itertools.permutations(range(n)) if is_order(problem, o) and unbroken(o))
    assert peak(problem, order_by_children(problem)) == min(peak(problem, o) for o in orders)


def test_random_wide_graph_keeps_its_results(rng: np.random.Generator):
    module = wide_graph()
    from glow.runtime.interpreter import execute

    arrays = [rng.standard_normal((1000, 2), np.float32)]
    arrays += [rng.standard_normal((2, 8), np.float32) for _ in range(BRANCHES)]
    (want,) = execute(main_of(module), arrays)
    schedule(main_of(module).body.block)
    (have,) = execute(main_of(module), arrays)
    np.testing.assert_array_equal(have, want)
