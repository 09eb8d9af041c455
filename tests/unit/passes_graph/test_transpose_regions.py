"""Values between transposes get the orders of dimensions in which the fewest elements are moved."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np
from glow.context import make_context
from glow.glow_dialects.glow.activation import ReluOp, SigmoidOp
from glow.glow_dialects.glow.arithmetic import AddOp, MulOp
from glow.glow_dialects.glow.reduction import ReduceMeanOp
from glow.glow_dialects.glow.shape import BroadcastOp, ConcatOp, PadOp, ReshapeOp, TransposeOp
from glow.glow_dialects.operator import shape_of
from glow.passes.graph.minimum_cut import CutGraph
from glow.passes.graph.rewriting import RuleTable, apply_rules
from glow.passes.graph.sink_transposes import merge_transposes
from glow.passes.graph.transpose_regions import reorder_regions
from glow.passes.verify_dominance import verify_dominance
from glow.runtime.interpreter import interpret
from glow.runtime.stages import parse_pipeline
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator, default_rng
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
)
from xdsl.ir import Block, Region, SSAValue

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
CONTEXT = make_context()
MERGING = RuleTable()
MERGING.rule(TransposeOp)(merge_transposes)


@given(st.integers(0, 6), st.randoms(use_true_random=False))
def test_the_cut_is_the_cheapest(count: int, random) -> None:
    nodes = ["source", *range(count), "sink"]
    edges = [
        (a, b, random.randrange(10))
        for a in nodes
        for b in nodes
        if a != b and a != "sink" and b != "source" and random.random() < 0.5
    ]
    graph = CutGraph("source", "sink")
    for a, b, capacity in edges:
        graph.add(a, b, capacity)
    cost, side = graph.cut()

    def cost_of(chosen: set) -> int:
        return sum(capacity for a, b, capacity in edges if a in chosen and b not in chosen)

    chosen = [{"source", *c} for n in range(count + 1) for c in combinations(range(count), n)]
    assert cost == cost_of(side) == min(map(cost_of, chosen))


class Graphs:
    """A random graph of values [1, H, W, C] and [1, C, H, W]."""

    def __init__(self, rng: Generator):
        self.rng = rng
        self.block = Block(arg_types=[TensorType(f32, [1, 2, 3, 5]), TensorType(f32, [1, 3, 5, 2])])
        self.values: list[SSAValue] = list(self.block.args)

    def add(self, op) -> SSAValue:
        self.block.add_op(op)
        self.values.append(op.results[0])
        return op.results[0]

    def any(self, shape: Sequence[int] | None = None) -> SSAValue:
        fitting = [v for v in self.values if shape in (None, shape_of(v.type))]
        return fitting[self.rng.integers(len(fitting))]

    def step(self) -> None:
        x = self.any()
        shape = shape_of(x.type)
        match self.rng.integers(7):
            case 0 | 1:
                self.add(TransposeOp.of(x, permutation=LAST if self.rng.integers(2) else FIRST))
            case 2:
                self.add((ReluOp if self.rng.integers(2) else SigmoidOp).of(x))
            case 3:
                self.add((AddOp if self.rng.integers(2) else MulOp).of(x, self.any(shape)))
            case 4 if max(shape) < 12:
                axis = int(self.rng.integers(1, 4))
                self.add(ConcatOp.of(x, self.any(shape), axis=axis))
            case 5:
                border = [0, *map(int, self.rng.integers(2, size=3))]
                self.add(PadOp.of(x, low=border, high=[0, 0, 0, 0], value=0.5))
            case _:
                axes = sorted(map(int, self.rng.choice([1, 2, 3], 2, replace=False)))
                mean = self.add(ReduceMeanOp.of(x, axes=axes, keep_dims=True))
                self.add(BroadcastOp.of(mean, result_types=[x.type]))

    def module(self) -> ModuleOp:
        ends = [v for v in self.values if not v.first_use] or self.values[-1:]
        results: list[SSAValue] = []
        for number, value in enumerate(ends):
            if number % 2:  # other users need the value as it is
                shape = TensorType(f32, [prod(shape_of(value.type))])
                value = self.add(ReshapeOp.of(value, result_types=[shape]))
            results.append(value)
        self.block.add_op(func.ReturnOp(*results))
        t = FunctionType.from_lists([a.type for a in self.block.args], [r.type for r in results])
        main = func.FuncOp("main", t, Region(self.block))
        main.arg_attrs = _names("x", len(self.block.args))
        main.res_attrs = _names("y", len(results))
        return ModuleOp([main])


def _names(prefix: str, count: int):
    return ArrayAttr(
        [DictionaryAttr({"glow.name": StringAttr(f"{prefix}{i}")}) for i in range(count)]
    )


def moved_elements(module: ModuleOp) -> int:
    nodes = [op for op in module.walk() if isinstance(op, TransposeOp)]
    return sum(prod(shape_of(node.result.type)) for node in nodes)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25))
def test_results_stay_and_fewer_elements_are_moved(seed: int, steps: int):
    graphs = Graphs(default_rng(seed))
    for _ in range(steps):
        graphs.step()
    module = graphs.module()
    inputs = {
        f"x{i}": default_rng(seed + i).standard_normal(shape_of(a.type)).astype(np.float32)
        for i, a in enumerate(graphs.block.args)
    }
    want, before = interpret(module, inputs), moved_elements(module)
    reorder_regions(module)
    apply_rules(module, MERGING)
    for cleaning in parse_pipeline("cse,dce"):
        cleaning.apply(CONTEXT, module)
    module.verify()
    verify_dominance(module)
    found = interpret(module, inputs)
    for name, expected in want.items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6)
    assert moved_elements(module) <= before
