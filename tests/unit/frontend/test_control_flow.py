"""
Branches and loops, converted in place and as such; what they compute, in numpy and onnxruntime.
"""

from __future__ import annotations

from collections.abc import Sequence

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.frontend.onnx import import_onnx, importer, loops
from glow.frontend.onnx.export import export_onnx
from glow.runtime.interpreter import interpret
from glow.runtime.signature import signature_of
from glow.tests.unit.frontend.import_problems import problems
from onnx import ModelProto, NodeProto, TensorProto, helper

from .models import model, node, value

I64, BOOL = TensorProto.INT64, TensorProto.BOOL


def graph(
    nodes: Sequence[NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: str,
    condition: str = "",
):
    """Returns a subgraph whose outputs are floats, but for the condition of a loop."""
    types = {condition: BOOL}
    outs = [value(n, None, types.get(n, TensorProto.FLOAT)) for n in outputs.split()]
    return helper.make_graph(nodes, "body", inputs, outs)


def by_session(made: ModelProto, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Returns what onnxruntime computes."""
    found = onnxruntime.InferenceSession(made.SerializeToString()).run(None, feed)
    return [np.asarray(array) for array in found]


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


def test_a_loop_that_never_ends():
    body = graph(
        [node("Add", ["x", "x"], ["y"]), node("Identity", ["c"], ["d"])],
        [value("i", [], I64), value("c", [], BOOL), value("x", [2])],
        "d y",
    )
    made = model([node("Loop", ["", "", "a"], ["y"], body=body)], [value("a", [2])], ["y"])
    assert "it never ends" in problems(made)[0]


def running_sums() -> ModelProto:
    """
    Adds, in each step, what a branch inside of the loop chooses; each step has a row of the result.
    There are nine at most.
    """
    yes = graph([node("Tanh", ["moved"], ["a"])], [], "a")
    no = graph([node("Add", ["moved", "k"], ["b"])], [], "b")
    nodes = [
        node("MatMul", ["h", "w"], ["moved"]),
        node("Less", ["s", "k"], ["small"]),
        node("If", ["small"], ["next"], then_branch=yes, else_branch=no),
        node("Add", ["s", "one"], ["t"]),
        node("Less", ["t", "limit"], ["going"]),
        node("Cast", ["i"], ["number"], to=TensorProto.FLOAT),
        node("Add", ["next", "number"], ["row"]),
    ]
    states = [value("h", [2, 5]), value("s", [])]
    body = graph(
        nodes, [value("i", [], I64), value("on", [], BOOL), *states], "going next t row", "going"
    )
    most = node("Min", ["n", "nine"], ["most"])
    loop = node("Loop", ["most", "c", "h0", "s0"], ["last", "sum", "rows"], body=body)
    inputs = [*(value(n, []) for n in ("s0", "k", "limit")), value("h0", [2, 5])]
    inputs += [value("n", [], I64), value("c", [], BOOL)]
    weights = {
        "w": np.linspace(-1, 1, 25, dtype=np.float32).reshape(5, 5),
        "one": np.array(1, np.float32),
        "nine": np.array(9),
    }
    return model([most, loop], inputs, ["last", "sum", "rows"], weights)


@pytest.mark.parametrize("threads", [1, 2])
def test_loops_with_branches_run_as_often_as_values_say(rng: np.random.Generator, threads: int):
    made = running_sums()
    compiled = glow.compile(made, threads=threads, cache=False)
    assert type(compiled) is glow.CompiledModel
    imported = import_onnx(made)
    signature = signature_of(imported)
    for n, going, limit in [(0, 1, 99), (1, 1, 99), (30, 1, 99), (5, 0, 99), (7, 1, 3.5)]:
        feed = {
            "h0": rng.standard_normal((2, 5)).astype(np.float32),
            **{"s0": np.float32(0), "k": np.float32(2.5), "limit": np.float32(limit)},
            **{"n": np.array(n), "c": np.array(bool(going))},
        }
        feed = {name: np.asarray(array) for name, array in feed.items()}
        wanted = by_session(made, feed)
        found = compiled.run(None, feed)
        meaning = signature.used(list(interpret(imported, feed).values()))
        for a, b, c in zip(wanted, found, meaning, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(c, a, rtol=1e-4, atol=1e-5)


def test_exported_loops(rng: np.random.Generator):
    imported = import_onnx(running_sums())
    exported = export_onnx(imported)
    for n, limit in [(0, 99), (30, 99), (7, 3.5)]:
        feed = {
            "h0": rng.standard_normal((2, 5)).astype(np.float32),
            **{"s0": np.float32(0), "k": np.float32(2.5), "limit": np.float32(limit)},
            **{"n": np.array(n), "c": np.array(True)},
        }
        feed = {name: np.asarray(array) for name, array in feed.items()}
        wanted = list(interpret(imported, feed).values())
        for a, b in zip(wanted, by_session(exported, feed), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_a_branch_is_chosen_when_the_program_runs(rng: np.random.Generator):
    inner = node(
        *("If", ["d"], ["q"]),
        then_branch=graph([node("Softmax", ["t"], ["a"])], [], "a"),
        else_branch=graph([node("Neg", ["t"], ["b"])], [], "b"),
    )
    no = graph([inner, node("Add", ["q", "t"], ["e"])], [], "e")
    yes = graph([node("Identity", ["t"], ["f"])], [], "f")
    nodes = [
        node("MatMul", ["x", "w"], ["t"]),
        node("If", ["c"], ["y"], then_branch=yes, else_branch=no),
    ]
    weights = {"w": rng.standard_normal((5, 7)).astype(np.float32)}
    inputs = [value("x", [3, 5]), value("c", [], BOOL), value("d", [], BOOL)]
    compiled = glow.compile(model(nodes, inputs, ["y"], weights), cache=False)
    x = rng.standard_normal((3, 5)).astype(np.float32)
    t = x @ weights["w"]
    powers = np.exp(t - t.max(1, keepdims=True))
    wanted = {
        (True, True): t,
        (True, False): t,
        (False, True): powers / powers.sum(1, keepdims=True) + t,
        (False, False): np.zeros_like(t),
    }
    for (c, d), y in wanted.items():
        (found,) = compiled(x, np.array(c), np.array(d))
        np.testing.assert_allclose(found, y, rtol=1e-4, atol=1e-5)


def test_a_long_scan_is_a_loop(rng: np.random.Generator):
    nodes = [
        *(node("Sub", ["s", "e"], ["t"]), node("Tanh", ["t"], ["u"])),
        *(node("Identity", ["u"], ["v"]), node("Identity", ["r"], ["w"])),
    ]
    # the states change places in each step
    body = graph(nodes, [value(n, [3]) for n in ("r", "s", "e")], "u w v")
    options = {"scan_input_axes": [1], "scan_input_directions": [1], "scan_output_axes": [-1]}
    outputs = ["last", "other", "all"]
    made = model(
        [node("Scan", ["p", "q", "x"], outputs, body=body, num_scan_inputs=1, **options)],
        [value("p", [3]), value("q", [3]), value("x", [3, 301])],
        outputs,
    )
    assert "glow.loop" in str(import_onnx(made))
    feed = {n: rng.standard_normal(s).astype(np.float32) for n, s in zip("pqx", (3, 3, (3, 301)))}
    wanted = by_session(made, feed)
    found = glow.compile(made, cache=False).run(None, feed)
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("end", "known"), [(3, True), (301, True), (7, False)])
def test_a_condition_that_counts_has_a_number_of_steps(
    rng: np.random.Generator, end: int, known: bool
):
    """Recurrent layers of TensorFlow have no trip count, and a state that no step changes."""
    nodes = [
        *(node("Add", ["t", "two"], ["next"]), node("Less", ["next", "n"], ["going"])),
        *(node("Gather", ["x", "t"], ["row"]), node("Add", ["s", "row"], ["sum"])),
        *(node("Tanh", ["sum"], ["u"]), node("Identity", ["n"], ["m"]), node("Neg", ["u"], ["v"])),
    ]
    inputs = [value("i", [], I64), value("on", [], BOOL), value("t", [], I64)]
    inputs += [value("s", [5]), value("n", [], I64)]
    types = {"going": BOOL, "next": I64, "m": I64}
    outs = [value(n, None, types.get(n, TensorProto.FLOAT)) for n in "going next u m v".split()]
    body = helper.make_graph(nodes, "body", inputs, outs)
    loop = node("Loop", ["", "", "zero", "h", "end"], ["_", "last", "__", "all"], body=body)
    numbers = {"two": np.array(2), "zero": np.array(0)}
    if known:
        numbers["end"] = np.array(end)
    count = [] if known else [value("end", [], I64)]
    outputs = [value("last", [5]), value("all", ["steps", 5])]
    made = model([loop], [value("x", [end, 5]), value("h", [5]), *count], outputs, numbers)
    if known:
        text = str(import_onnx(made))
        assert ("glow.loop" in text) == (end > 3)
        assert "while" not in text
    feed = {"x": rng.standard_normal((end, 5)).astype(np.float32)}
    feed["h"] = rng.standard_normal(5).astype(np.float32)
    feed |= {} if known else {"end": np.array(end)}
    found = glow.compile(made, cache=False).run(None, feed)
    for a, b in zip(by_session(made, feed), found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_a_loop_without_an_end_has_a_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loops, "LIMIT", 100)
    monkeypatch.setattr(importer, "LIMIT", 100)
    nodes = [node("Add", ["x", "k"], ["y"]), node("Less", ["y", "top"], ["going"])]
    inputs = [value("i", [], I64), value("on", [], BOOL), value("x", [])]
    body = graph(nodes, inputs, "going y")
    inner = node("Loop", ["", "c", "a"], ["y"], body=body, name="counts")
    yes, no = graph([inner], [], "y"), graph([node("Neg", ["a"], ["z"])], [], "z")
    given = [*(value(n, []) for n in "ak"), value("top", []), value("c", [], BOOL)]
    branch = node("If", ["c"], ["r"], then_branch=yes, else_branch=no)
    compiled = glow.compile(model([branch], given, ["r"]), cache=False)

    def run(k: float, c: bool) -> np.ndarray:
        (found,) = compiled(*(np.float32(v) for v in (0, k, 100)), np.array(c))
        return found

    assert run(1, True) == 100
    with pytest.raises(glow.LimitError, match="Loop 'counts': not at its end after 100 steps"):
        run(0, True)
    assert run(0, False) == 0
    assert run(2, True) == 100


@pytest.mark.parametrize("shape", [(4,), (3, 2)], ids=str)
def test_trips_of_an_input_and_outputs_without_a_declared_rank(
    rng: np.random.Generator, shape: tuple[int, ...]
):
    """The output has a row for each step, and no shape tells the ranks of the outputs."""
    body = graph(
        [
            node("Identity", ["going"], ["on"]),
            node("Add", ["s", "x"], ["t"]),
            node("Identity", ["t"], ["row"]),
        ],
        [value("i", [], I64), value("going", [], BOOL), value("s", list(shape))],
        "on t row",
        "on",
    )
    looped = node("Loop", ["n", "", "x"], ["last", "rows"], body=body)
    made = model([looped], [value("x", list(shape)), value("n", [], I64)], ["last", "rows"])
    compiled = glow.compile(made, cache=False)
    assert [len(o.shape) for o in compiled.get_outputs()] == [len(shape), 1 + len(shape)]
    for trips in (3, 1, 0, *rng.integers(2, 300, 3)):
        feed = {"x": rng.standard_normal(shape).astype(np.float32), "n": np.array(trips)}
        for found, wanted in zip(compiled.run(None, feed), by_session(made, feed), strict=True):
            np.testing.assert_array_equal(found, wanted)
