"""Branches and loops that are converted in place; what they compute, in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from glow.frontend.onnx import import_onnx
from glow.runtime.interpreter import interpret
from glow.tests.unit.frontend.import_problems import problems
from onnx import ModelProto, NodeProto, TensorProto, helper

from .models import model, node, value

I64, BOOL = TensorProto.INT64, TensorProto.BOOL


def graph(nodes: Sequence[NodeProto], inputs: Sequence[onnx.ValueInfoProto], outputs: str):
    return helper.make_graph(nodes, "body", inputs, [value(n, None) for n in outputs.split()])


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_sees_values_outside(rng: np.random.Generator, condition: bool):
    yes = graph([node("Add", ["x", "w"], ["s"])], [], "s")
    no = graph([node("Mul", ["r", "w"], ["p"])], [], "p")
    nodes = [
        node("If", ["c"], ["y"], then_branch=yes, else_branch=no),
        node("Neg", ["x"], ["r"]),  # behind its user, which a subgraph hides
    ]
    constants = {"c": np.array(condition), "w": np.array([1, 2, 3], np.float32)}
    made = model(nodes, [value("x", [3])], ["y"], constants)
    x = rng.standard_normal(3).astype(np.float32)
    wanted = x + constants["w"] if condition else -x * constants["w"]
    np.testing.assert_allclose(interpret(import_onnx(made), {"x": x})["y"], wanted, rtol=1e-6)


@pytest.mark.parametrize("backward", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scan(rng: np.random.Generator, backward: int, axis: int):
    nodes = [node("Add", ["s", "e"], ["t"]), node("Mul", ["t", "t"], ["square"])]
    shape = [5, 5]
    shape[1 - axis % 2] = 3
    body = graph(nodes, [value("s", [3]), value("e", [3])], "t square")
    options = {"scan_input_axes": [axis], "scan_input_directions": [backward]}
    made = model(
        [node("Scan", ["first", "x"], ["last", "all"], body=body, num_scan_inputs=1, **options)],
        [value("first", [3]), value("x", shape)],
        ["last", "all"],
    )
    x = rng.standard_normal(shape).astype(np.float32)
    found = interpret(import_onnx(made), {"first": np.zeros(3, np.float32), "x": x})
    rows = np.flip(np.moveaxis(x, axis, 0), 0) if backward else np.moveaxis(x, axis, 0)
    sums = np.cumsum(rows, 0)
    np.testing.assert_allclose(found["last"], sums[-1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["all"], sums**2, rtol=1e-4, atol=1e-5)


def counting(most: int | None, limit: float) -> ModelProto:
    """Doubles `x` and keeps what it was, some times at most, or while a counter is small."""
    nodes = [
        node("Add", ["x", "x"], ["twice"]),
        node("Identity", ["x"], ["kept"]),
        node("Add", ["n", "one"], ["next"]),
        node("Less", ["next", "limit"], ["going"]),
    ]
    states = [value("x", [2]), value("n", [])]
    inputs = [value("i", [], I64), value("c", [], BOOL), *states]
    body = graph(nodes, inputs, "going twice next kept")
    numbers = {"start": 0, "one": 1, "limit": limit}
    constants = {name: np.array(n, np.float32) for name, n in numbers.items()}
    given = ["" if most is None else "most", "", "a", "start"]
    made = [node("Loop", given, ["y", "count", "all"], body=body)]
    if most is not None:
        constants["most"] = np.array(most)
    return model(made, [value("a", [2])], ["y", "count", "all"], constants)


@pytest.mark.parametrize(("most", "limit", "steps"), [(3, 99, 3), (9, 4, 4), (None, 5, 5)])
def test_loop(rng: np.random.Generator, most: int | None, limit: float, steps: int):
    a = rng.standard_normal(2).astype(np.float32)
    found = interpret(import_onnx(counting(most, limit)), {"a": a})
    assert found["count"] == steps
    np.testing.assert_allclose(found["y"], a * 2**steps, rtol=1e-6)
    np.testing.assert_allclose(found["all"], [a * 2**i for i in range(steps)], rtol=1e-6)


def test_long_loops_are_refused():
    found = problems(counting(300, 1e6))
    assert len(found) == 1
    assert "up to 256 become nodes" in found[0]
