"""Merged branches compute what their sum computes."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import onnx
import pytest
from glow.glow_dialects.glow.activation import ReluOp
from glow.glow_dialects.glow.arithmetic import AddOp, MulOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.passes.graph.rewriting import Build
from glow.runtime.interpreter import interpret
from glow.semantics.arrays import make_constant
from glow.tests.support.graph_text import count, run
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Block, Region, SSAValue


class Graph:
    """Branches of an input of 4 channels, and their sum."""

    def __init__(self, sizes: tuple[int, ...], group: int, rng: np.random.Generator):
        self.rng, self.group, self.build = rng, group, Build()
        self.x = rng.standard_normal((2, 4, *sizes)).astype(np.float32)
        self.block = Block(arg_types=[TensorType(f32, self.x.shape)])

    def numbers(self, *shape: int) -> SSAValue:
        array = self.rng.standard_normal(shape).astype(np.float32)
        return self.build.add(make_constant(array, "c"))

    def branch(self, kernel: list[int], **window: Any) -> SSAValue:
        filters, bias = self.numbers(4, 4 // self.group, *kernel), self.numbers(4)
        options = {"strides": [1] * len(kernel), "group": self.group, **window}
        return self.build(ConvolutionOp, self.block.args[0], filters, bias, **options)

    def scaled(self) -> SSAValue:
        shape = self.x.shape
        factor = self.build.broadcast(self.numbers(1, 4, *[1] * (len(shape) - 2)), shape)
        return self.build(MulOp, self.block.args[0], factor)

    def sum(self, *terms: SSAValue) -> ModuleOp:
        value, *others = terms
        for other in others:
            value = self.build(AddOp, other, value)
        self.block.add_ops([*self.build.ops, func.ReturnOp(value)])
        t = FunctionType.from_lists([self.block.args[0].type], [value.type])
        return ModuleOp([func.FuncOp("main", t, Region(self.block))])


def check(graph: Graph, module: ModuleOp, convolutions: int) -> None:
    (want,) = interpret(module, [graph.x]).values()
    run("glow-merge-branches,dce", module)
    assert count(module)["glow.convolution"] == convolutions
    (found,) = interpret(module, [graph.x]).values()
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("group", [1, 2, 4])
def test_all_kinds_of_branches(group: int, rng: np.random.Generator):
    graph = Graph((7, 5), group, rng)
    terms = [
        graph.branch([1, 1], pads=[0, 0, 0, 0], dilations=[1, 1]),
        graph.scaled(),
        graph.branch([3, 3], pads=[1, 1, 1, 1], dilations=[1, 1]),
        graph.branch([3, 1], pads=[1, 0, 1, 0], dilations=[1, 3]),
        graph.block.args[0],
        graph.scaled(),
    ]
    module = graph.sum(*terms)
    check(graph, module, 1)
    assert count(module)["glow.add"] == count(module)["glow.mul"] == 0


def test_long_sum(rng: np.random.Generator):
    """A sum may be deeper than calls can be nested."""
    graph = Graph((5,), 1, rng)
    window: dict[str, Any] = {"pads": [0, 0], "dilations": [1]}
    others = [graph.build(ReluOp, graph.block.args[0]) for _ in range(1500)]
    module = graph.sum(graph.branch([1], **window), *others, graph.branch([1], **window))
    check(graph, module, 1)


along = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(0, 3), st.integers(0, 3))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(along, along), min_size=2, max_size=3),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.integers(0, 2**32 - 1),
)
def test_random_windows(windows: list[Any], strides: tuple[int, int], seed: int):
    """Whatever is merged of windows of any places and dilations, the sum stays."""
    graph = Graph((10, 11), 2, np.random.default_rng(seed))
    by_type: dict[Any, list[SSAValue]] = {}
    for window in windows:
        kernel, dilations, low, high = (list(along) for along in zip(*window, strict=True))
        value = graph.branch(kernel, strides=list(strides), dilations=dilations, pads=[*low, *high])
        by_type.setdefault(value.type, []).append(value)
    terms = max(by_type.values(), key=len)
    module = graph.sum(*terms)
    (want,) = interpret(module, [graph.x]).values()
    run("glow-merge-branches,dce", module)
    assert 1 <= count(module)["glow.convolution"] <= len(terms)
    (found,) = interpret(module, [graph.x]).values()
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_normalisation_of_a_sum(rng: np.random.Generator):
    """A batch normalisation behind the branches is part of the one convolution that remains."""
    shape = [1, 8, 9, 9]

    def numbers(name: str, *sizes: int) -> onnx.TensorProto:
        array = rng.uniform(0.5, 1.5, sizes).astype(np.float32)
        return onnx.numpy_helper.from_array(array, name)

    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["x", "w"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Add", ["c", "x"], ["d"]),
        helper.make_node("BatchNormalization", ["d", "s", "o", "m", "q"], ["y"]),
    ]
    constants = [numbers("v", 8, 8, 3, 3), numbers("w", 8, 8, 1, 1)]
    constants += [numbers(name, 8) for name in "somq"]
    info = (helper.make_tensor_value_info(name, 1, shape) for name in "xy")
    graph = helper.make_graph(nodes, "g", [next(info)], [next(info)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    x = rng.standard_normal(shape).astype(np.float32)
    compiled = glow.compile(model)
    kinds = count(compiled.stages["optimized"])
    assert [kinds[f"glow.{name}"] for name in ("convolution", "add", "mul")] == [1, 0, 0]
    (want,) = ReferenceEvaluator(model).run(None, {"x": x})
    (found,) = compiled.run(None, {"x": x})
    np.testing.assert_allclose(found, np.asarray(want), rtol=0, atol=2e-5 * np.abs(want).max())
