"""Indices out of range: an error that names the operator and its node, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import glow
import numpy as np
import onnx
import pytest
from glow.errors import IndexRangeError, InputError, ModelError
from glow.frontend.onnx.node import CAFFE2
from glow.interface.index_range import IndexRange
from glow.runtime.file_identity import identity, wait_until_older
from onnx import NodeProto, TensorProto, helper, numpy_helper

X = np.arange(20, dtype=np.float32).reshape(4, 5)
I64 = TensorProto.INT64


def network(nodes: list[NodeProto], indices: tuple, constants: Mapping = {}) -> onnx.ModelProto:
    """Returns a model of `x` and of indices `n` of a shape."""
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape),
        helper.make_tensor_value_info("n", I64, indices),
    ]
    weights = [numpy_helper.from_array(np.array(v), name) for name, v in constants.items()]
    outputs = [onnx.ValueInfoProto(name="y")]
    made = helper.make_graph(nodes, "indices", inputs, outputs, weights)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def picking(operator: str, *others: str, **attributes: Any) -> list[NodeProto]:
    return [helper.make_node(operator, ["x", "n", *others], ["y"], name="picks", **attributes)]


UPDATES = {"u": np.ones((2, 5), np.float32), "v": np.ones(3, np.float32)}
CASES = [
    (picking("Gather", axis=1), (3,), [0, -5, 4], [0, 5, 1], "-5 to 4, found 5 at [1]"),
    (picking("GatherElements"), (1, 5), [[0, -4, 3, 1, 2]], [[0, 1, -5, 1, 2]],
     "-4 to 3, found -5 at [0, 2]"),
    (picking("GatherND"), (1, 2), [[3, -5]], [[3, -6]], "-5 to 4, found -6 at [0, 1]"),
    (picking("ScatterElements", "u"), (2, 5), [[0] * 5, [3] * 5], [[0] * 5, [4] * 5], "-4 to 3"),
    (picking("ScatterND", "v"), (3, 2), [[3, 4], [0, 0], [-4, -5]], [[4, 4], [0, 0], [1, 1]],
     "-4 to 3, found 4 at [0, 0]"),
    (picking("ReverseSequence", time_axis=1, batch_axis=0), (4,), [1, 5, 2, 5], [1, 6, 2, 5],
     "0 to 5, found 6"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "shape", "good", "bad", "message"), CASES, ids=[c[0][0].op_type for c in CASES]
)
def test_calls_check_indices_that_are_inputs(nodes, shape, good, bad, message: str):
    model = glow.compile(network(nodes, shape, UPDATES), "interpreter")
    model(X, np.array(good))
    with pytest.raises(InputError) as error:
        model(X, np.array(bad))
    assert message in str(error.value)
    assert f"{nodes[0].op_type} 'picks'" in str(error.value)


def test_indices_that_only_moved_are_checked():
    nodes = [
        helper.make_node("Cast", ["n"], ["m"], to=TensorProto.INT32),
        helper.make_node("Transpose", ["m"], ["t"]),
        helper.make_node("Gather", ["x", "t"], ["y"], name="picks"),
    ]
    model = glow.compile(network(nodes, (2, 1)), "interpreter")
    with pytest.raises(InputError, match=r"-4 to 3, found 4 at \[1, 0\]"):
        model(X, np.array([[0], [4]]))


def computed(node: NodeProto) -> list[NodeProto]:
    """Returns nodes that compute the indices of a node: `(n + n) / 2`."""
    twice = helper.make_node("Add", ["n", "n"], ["twice"])
    half = helper.make_node("Div", ["twice", "two"], ["m"])
    moved = NodeProto()
    moved.CopyFrom(node)
    moved.input[1] = "m"
    return [twice, half, moved]


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize(
    ("nodes", "shape", "good", "bad", "message"), CASES, ids=[c[0][0].op_type for c in CASES]
)
def test_calls_check_computed_indices(nodes, shape, good, bad, message: str, backend: str):
    constants = {**UPDATES, "two": np.int64(2)}
    model = glow.compile(network(computed(nodes[0]), shape, constants), backend)
    (expected,) = glow.compile(network(nodes, shape, UPDATES), "interpreter")(X, np.array(good))
    assert [o.name for o in model.get_outputs()] == ["y"]
    np.testing.assert_array_equal(model(X, np.array(good))[0], expected)
    into = np.empty_like(expected)
    for run in (model, lambda x, n: model.run_into([into], {"x": x, "n": n})):
        with pytest.raises(IndexRangeError) as error:
            run(X, np.array(bad))
        assert f"{nodes[0].op_type} 'picks': expected indices in" in str(error.value)
        assert message.split(" at ")[0] in str(error.value)
    model.run_into([into], {"x": X, "n": np.array(good)})
    np.testing.assert_array_equal(into, expected)


def test_computed_indices_that_cannot_be_wrong_cost_nothing():
    nodes = [
        helper.make_node("ArgMax", ["x"], ["m"], axis=0, keepdims=0),
        helper.make_node("Gather", ["x", "m"], ["y"], name="picks"),
    ]
    model = glow.compile(network(nodes, (1,)), "interpreter")
    assert "glow.ranges" not in str(model.stages["imported"])


@pytest.mark.parametrize(
    ("lengths", "message"),
    [([1, 2, 1], "lengths with a sum in 3 to 3, found 4"), ([4, -1, 0], "0 to 3, found -1")],
)
def test_computed_lengths_are_checked(lengths: list[int], message: str):
    nodes = [
        helper.make_node("Add", ["n", "n"], ["twice"]),
        helper.make_node("Div", ["twice", "two"], ["m"]),
        helper.make_node("SparseLengthsSum", ["x", "i", "m"], ["y"], name="sums", domain=CAFFE2),
    ]
    constants = {"two": np.int64(2), "i": np.array([0, 3, 1])}
    made = network(nodes, (3,), constants)
    made.opset_import.append(helper.make_opsetid(CAFFE2, 1))
    model = glow.compile(made, "interpreter")
    model(X, np.array([1, 2, 0]))
    with pytest.raises(IndexRangeError, match=f"SparseLengthsSum 'sums': expected .*{message}"):
        model(X, np.array(lengths))


def test_constant_indices_are_checked_at_once():
    constants = {"c": np.array([[0, 5]])}
    nodes = [helper.make_node("GatherND", ["x", "c"], ["y"], name="picks")]
    with pytest.raises(ModelError, match=r"GatherND 'picks': expected indices in"):
        glow.compile(network(nodes, (1,), constants), "interpreter")


def test_of_many_constant_indices_the_error_shows_the_first_wrong_one(rng):
    indices = rng.integers(-3, 3, (7, 103, 1))
    indices[5, 11], indices[6, 101] = 47, 59
    nodes = [helper.make_node("Gather", ["x", "c"], ["y"], name="picks")]
    with pytest.raises(ModelError) as error:
        glow.compile(network(nodes, (1,), {"c": indices}), "interpreter")
    assert "expected indices in -4 to 3, found 47" in str(error.value)
    assert len(str(error.value)) < 200


def test_a_program_from_the_cache_checks_indices(tmp_path: Path):
    path = tmp_path / "model.onnx"
    onnx.save(network(picking("Gather", axis=1), (3,)), path)
    wait_until_older(identity(path))  # programs of newer files are not kept
    for restored in (False, True):
        model = glow.compile(path, cache=tmp_path / "cache")
        assert model.from_cache == restored
        with pytest.raises(InputError, match="Gather 'picks'"):
            model(X, np.array([0, 5, 1]))


def test_a_program_from_the_cache_checks_computed_indices(tmp_path: Path):
    path = tmp_path / "model.onnx"
    nodes = computed(picking("Gather")[0])
    onnx.save(network(nodes, (3,), {"two": np.int64(2)}), path)
    wait_until_older(identity(path))
    for restored in (False, True):
        model = glow.compile(path, cache=tmp_path / "cache")
        assert model.from_cache == restored
        with pytest.raises(IndexRangeError, match="Gather 'picks'"):
            model(X, np.array([0, 5, 1]))


def picking_row(k: list[NodeProto], inputs: list[str], outputs: list[str]) -> onnx.GraphProto:
    """Returns a body that computes `k`, and `t`: the sum of `s` and the row `k` of `x`."""
    kinds = {"k": I64, "i": I64, "on": TensorProto.BOOL, "go": TensorProto.BOOL}
    shapes = {"s": [5], "t": [5]}
    nodes = [
        *k,
        helper.make_node("Gather", ["x", "k"], ["row"], name="picks"),
        helper.make_node("Add", ["s", "row"], ["t"]),
        helper.make_node("Identity", ["on"], ["go"]),
    ]
    infos = [
        helper.make_tensor_value_info(v, kinds.get(v, TensorProto.FLOAT), shapes.get(v, []))
        for v in (*inputs, *outputs)
    ]
    return helper.make_graph(nodes, "body", infos[: len(inputs)], infos[len(inputs) :])


CONSTANTS = {"hundred": np.int64(100), "steps": np.int64(400), "s0": np.zeros(5, np.float32)}
NUMBER_OF_STEP = helper.make_node("Identity", ["i"], ["k"])


def looping(*k: NodeProto) -> onnx.ModelProto:
    body = picking_row([*k], ["i", "on", "s"], ["go", "t"])
    return network([helper.make_node("Loop", ["steps", "", "s0"], ["y"], body=body)], (), CONSTANTS)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_loops_check_the_indices_of_each_step(backend: str):
    part = helper.make_node("Div", ["i", "hundred"], ["part"])
    model = glow.compile(looping(part, helper.make_node("Add", ["n", "part"], ["k"])), backend)
    assert "glow.loop" in str(model.stages["imported"])
    expected = 100 * X.sum(0)
    np.testing.assert_allclose(model(X, np.int64(0))[0], expected, rtol=1e-5)
    for first, found in ((1, 4), (-5, -5)):
        with pytest.raises(IndexRangeError, match=f"Gather 'picks'.* -4 to 3, found {found},"):
            model(X, np.int64(first))
    np.testing.assert_allclose(model(X, np.int64(0))[0], expected, rtol=1e-5)


def test_the_number_of_a_step_that_cannot_be_wrong_costs_nothing():
    rows = np.arange(2000, dtype=np.float32).reshape(400, 5)
    large = looping(NUMBER_OF_STEP)
    large.graph.node[0].attribute[0].g.node[1].input[0] = "rows"
    large.graph.initializer.append(numpy_helper.from_array(rows, "rows"))
    model = glow.compile(large, "interpreter")
    assert "glow.ranges" not in str(model.stages["imported"])
    np.testing.assert_allclose(model(X, np.int64(0))[0], rows.sum(0), rtol=1e-5)
    with pytest.raises(IndexRangeError, match=r"Gather 'picks'.* -4 to 3, found 399,"):
        glow.compile(looping(NUMBER_OF_STEP), "interpreter")(X, np.int64(0))


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_a_branch_checks_its_indices_if_it_is_taken(backend: str):
    own = helper.make_node("Identity", ["n"], ["k"])
    taken = picking_row([own], [], ["t"])
    del taken.node[-1]
    other = helper.make_graph(
        [helper.make_node("Neg", ["s"], ["t"])], "other", [], list(taken.output)
    )
    nodes = [
        helper.make_node("ReduceSum", ["x", "zero"], ["s"], keepdims=0),
        helper.make_node("Less", ["n", "hundred"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=taken, else_branch=other),
    ]
    made = network(nodes, (), {**CONSTANTS, "zero": np.array([0])})
    model = glow.compile(made, backend)
    np.testing.assert_allclose(model(X, np.int64(2))[0], X.sum(0) + X[2], rtol=1e-5)
    np.testing.assert_allclose(model(X, np.int64(100))[0], -X.sum(0), rtol=1e-5)
    with pytest.raises(IndexRangeError, match=r"Gather 'picks'.* -4 to 3, found 99,"):
        model(X, np.int64(99))


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_indices_of_which_data_decides_how_many_are_used_are_checked(backend: str):
    nodes = [
        helper.make_node("NonZero", ["n"], ["places"]),
        helper.make_node("Squeeze", ["places", "zero"], ["k"]),
        helper.make_node("Add", ["k", "two"], ["m"]),
        helper.make_node("Gather", ["x", "m"], ["y"], name="picks"),
    ]
    made = network(nodes, (3,), {"zero": np.array([0]), "two": np.int64(2)})
    model = glow.compile(made, backend)
    np.testing.assert_array_equal(model(X, np.array([1, 1, 0]))[0], X[2:])
    np.testing.assert_array_equal(model(X, np.array([0, 0, 0]))[0], X[4:])
    with pytest.raises(IndexRangeError, match=r"Gather 'picks'.* -4 to 3, found 4,"):
        model(X, np.array([0, 1, 1]))


def test_bodies_inside_of_bodies_are_checked():
    """A branch in a loop in a loop reads row `j + n` of `x` in the first two steps `j`."""
    taken = picking_row([helper.make_node("Add", ["i", "n"], ["k"])], [], ["t"])
    del taken.node[-1]
    other = helper.make_graph(
        [helper.make_node("Identity", ["s"], ["t"])], "other", [], list(taken.output)
    )
    branch = [
        helper.make_node("Less", ["i", "two"], ["c"]),
        helper.make_node("If", ["c"], ["t"], then_branch=taken, else_branch=other),
        helper.make_node("Identity", ["on"], ["go"]),
    ]
    inner = picking_row([], ["i", "on", "s"], ["go", "t"])
    del inner.node[:]
    outer = onnx.GraphProto()
    outer.CopyFrom(inner)
    inner.node.extend(branch)
    loops = [
        helper.make_node("Loop", ["inner", "", "s"], ["t"], body=inner),
        helper.make_node("Identity", ["on"], ["go"]),
    ]
    outer.node.extend(loops)
    nodes = [helper.make_node("Loop", ["outer", "", "s0"], ["y"], body=outer)]
    constants = {**CONSTANTS, "two": np.int64(2), "outer": np.int64(257), "inner": np.int64(171)}
    model = glow.compile(network(nodes, (), constants))
    assert str(model.stages["imported"]).count("glow.loop") == 2
    np.testing.assert_allclose(model(X, np.int64(2))[0], 257 * (X[2] + X[3]), rtol=1e-4)
    for n, found in ((3, 4), (-7, -7)):
        with pytest.raises(IndexRangeError, match=f"Gather 'picks'.* -4 to 3, found {found},"):
            model(X, np.int64(n))


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 7, 64])
def test_the_first_index_out_of_range_is_found(
    columns: int, count: int, rng: np.random.Generator
) -> None:
    for _ in range(20):
        low, high = np.sort(rng.integers(-4, 5, (2, columns)), axis=0)
        allowed = IndexRange(tuple(low.tolist()), tuple(high.tolist()), "user")
        indices = rng.integers(low, high + 1, (count, columns))
        for index in np.ndindex(indices.shape):
            if rng.random() < 1 / indices.size:
                indices[index] += rng.choice([-9, 9])
        outside = np.argwhere((indices < low) | (indices > high)).tolist()
        problem = allowed.problem(indices)
        assert (problem is None) == (not outside)
        assert problem is None or problem.endswith(f" at {outside[0]}")
