"""Loops whose steps are runs of programs, because their shapes differ; beside onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence

import glow
import numpy as np
import onnxruntime
import pytest
from glow.errors import GlowError, LimitError, UnsupportedError
from glow.frontend.onnx import separate_loop
from glow.models.cut_model import CutModel
from glow.models.looped_model import LoopedModel
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from .models import model, node, value

BOOL, I64 = TensorProto.BOOL, TensorProto.INT64


def looped(
    steps: Sequence[NodeProto],
    states: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
) -> GraphProto:
    """Returns a body whose first output is the condition."""
    inputs = [value("i", [], I64), value("c", [], BOOL), *states]
    return helper.make_graph(steps, "body", inputs, outputs)


def expect_same(made: ModelProto, compiled: glow.CompiledModel, *arrays: np.ndarray) -> None:
    session = onnxruntime.InferenceSession(made.SerializeToString())
    names = [i.name for i in session.get_inputs()]
    wanted = session.run(None, dict(zip(names, arrays, strict=True)))
    for found, array in zip(compiled(*arrays), wanted, strict=True):
        np.testing.assert_allclose(found, np.asarray(array), rtol=1e-5, atol=1e-6)


def growing() -> ModelProto:
    """Doubles rows until a sum of products is large; each step has a number of the result."""
    steps = [
        node("Add", ["v", "x"], ["sum"]),
        node("Concat", ["v", "sum"], ["longer"], axis=0),
        node("ReduceSum", ["sum"], ["total"], keepdims=0),
        node("Less", ["total", "limit"], ["going"]),
        node("ReduceMax", ["v"], ["largest"], keepdims=0),
    ]
    ends = [value("going", [], BOOL), value("longer", None), value("largest", [])]
    nodes = [
        node("Exp", ["a"], ["x"]),
        node("Loop", ["", "", "x"], ["last", "rows"], body=looped(steps, [value("v", None)], ends)),
        node("Softmax", ["last"], ["part"], axis=0),
        node("Add", ["part", "x"], ["y"]),
        node("Relu", ["a"], ["early"]),
    ]
    outputs = [value("y", ["m", 3]), value("rows", ["k"]), value("early", [1, 3])]
    return model(nodes, [value("a", [1, 3])], outputs, {"limit": np.array(300, np.float32)})


def test_a_condition_ends_a_loop_that_grows(rng: np.random.Generator):
    made = growing()
    compiled = glow.compile(made)
    assert isinstance(compiled, CutModel)
    rest = compiled.parts[1]
    assert isinstance(rest, LoopedModel)
    for _ in range(3):
        expect_same(made, compiled, rng.uniform(-0.5, 0.5, (1, 3)).astype(np.float32))
    # the number of rows doubles in each step
    assert 1 <= len(rest.steps) <= 9
    with pytest.raises(GlowError, match=r"use model.steps\[0\].memory"):
        _ = rest.memory


def repeated() -> ModelProto:
    """Appends rows of an input to itself, in as many steps as another input says."""
    steps = [node("Concat", ["v", "x"], ["w"], axis=0), node("Identity", ["c"], ["d"])]
    body = looped(steps, [value("v", None)], [value("d", [], BOOL), value("w", None)])
    inputs = [value("n", [], I64), value("x", ["rows", 3])]
    return model(
        [node("Loop", ["n", "", "x"], ["y"], body=body)], inputs, [value("y", ["more", 3])]
    )


def test_a_number_of_steps_comes_with_a_call(rng: np.random.Generator):
    made = repeated()
    compiled = glow.compile(made)
    for steps, rows in ((3, 1), (0, 1), (7, 1), (2, 5)):
        x = rng.standard_normal((rows, 3)).astype(np.float32)
        expect_same(made, compiled, np.array(steps), x)


def unbounded() -> ModelProto:
    """Doubles a matrix until it has a large element; each step has a matrix of the result."""
    steps = [
        node("Add", ["v", "v"], ["w"]),
        node("ReduceMax", ["w"], ["largest"], keepdims=0),
        node("Less", ["largest", "limit"], ["going"]),
    ]
    ends = [value("going", [], BOOL), value("w", [2, 3]), value("w", [2, 3])]
    nodes = [
        node("Loop", ["", "go", "x"], ["v", "all"], body=looped(steps, [value("v", [2, 3])], ends)),
        node("Transpose", ["all"], ["y"], perm=[1, 2, 0]),
    ]
    inputs = [value("go", [], BOOL), value("x", [2, 3])]
    outputs = [value("v", [2, 3]), value("y", [2, 3, "steps"])]
    return model(nodes, inputs, outputs, {"limit": np.array(300, np.float32)})


def test_rows_without_a_bound(rng: np.random.Generator):
    made = unbounded()
    compiled = glow.compile(made)
    assert isinstance(compiled, LoopedModel)
    for go in (True, False):
        x = rng.uniform(0.1, 2, (2, 3)).astype(np.float32)
        expect_same(made, compiled, np.array(go), x)
    assert len(compiled.steps) == 1


def test_too_many_steps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(separate_loop, "LIMIT", 5)
    compiled = glow.compile(unbounded())
    with pytest.raises(LimitError, match=r"Loop .*: not at its end after 5 steps"):
        compiled(True, np.full((2, 3), 1, np.float32))
    last, rows = compiled(True, np.full((2, 3), 100, np.float32))
    np.testing.assert_array_equal(last, np.full((2, 3), 400, np.float32))
    assert rows.shape == (2, 3, 2)


def test_random_numbers_would_be_the_same():
    steps = [
        node("RandomUniform", [], ["r"], shape=[1, 3]),
        node("Concat", ["v", "r"], ["w"], axis=0),
        node("Identity", ["c"], ["d"]),
    ]
    body = looped(steps, [value("v", None)], [value("d", [], BOOL), value("w", None)])
    made = model(
        [node("Loop", ["n", "", "x"], ["y"], body=body)],
        [value("n", [], I64), value("x", [1, 3])],
        [value("y", ["more", 3])],
    )
    with pytest.raises(UnsupportedError, match="random numbers in its body"):
        glow.compile(made)(300, np.zeros((1, 3), np.float32))
