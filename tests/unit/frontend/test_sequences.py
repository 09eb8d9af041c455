"""Sequences between nodes, which are gone when a model is imported."""

from __future__ import annotations

import numpy as np
import pytest
from glow.errors import ModelError, UnsupportedError
from glow.frontend.onnx import import_onnx
from glow.tests.unit.frontend.against_onnxruntime import check
from onnx import NodeProto, TensorProto, helper

from .models import model, node, value

SPLIT = node("SplitToSequence", ["x", "sizes"], ["s"], axis=1)


@pytest.mark.parametrize("sizes", [np.array(2), np.array([1, 0, 4])], ids=["equal", "listed"])
@pytest.mark.parametrize("end", ["", "first", "last"])
def test_parts(rng: np.random.Generator, sizes: np.ndarray, end: str):
    nodes = [
        SPLIT,
        node("SequenceInsert", ["s", "x", end] if end else ["s", "x"], ["longer"]),
        node("SequenceErase", ["longer", "second"], ["t"]),
        node("ConcatFromSequence", ["t"], ["y"], axis=1),
        node("SequenceLength", ["t"], ["n"]),
        node("SequenceAt", ["t", "last"], ["z"]),
    ]
    weights = {"sizes": sizes, "first": np.array(0), "second": np.array(1), "last": np.array(-1)}
    x = {"x": rng.standard_normal((3, 5)).astype(np.float32)}
    check(nodes, x, weights, ("y", "n", "z"))


def test_slices_are_joined_along_a_new_axis(rng: np.random.Generator):
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0),
        node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1),
    ]
    check(nodes, {"x": rng.standard_normal((3, 5)).astype(np.float32)})


def imported(nodes: list[NodeProto], outputs: list[str], sizes: list[int]) -> None:
    import_onnx(model(nodes, [value("x", [3, 5])], outputs, {"sizes": np.array(sizes)}))


def test_what_is_wrong_with_sequences():
    with pytest.raises(ModelError, match=r"expected parts with 5 elements in all, found \[2, 2\]"):
        imported([SPLIT, node("SequenceAt", ["s", "sizes"], ["y"])], ["y"], [2, 2])
    with pytest.raises(ModelError, match="expected a sequence as input 0"):
        imported([node("SequenceLength", ["x"], ["y"])], ["y"], [2])
    with pytest.raises(UnsupportedError, match="the output 's' is a sequence"):
        imported([SPLIT], ["s"], [2, 3])


def test_graphs_of_functions_see_values_outside(rng: np.random.Generator):
    body = helper.make_graph(
        [node("ReduceSum", ["e", "axes"], ["t"]), node("Mul", ["t", "scale"], ["u"])],
        "body",
        [value("e", None)],
        [value("u", None)],
    )
    nodes = [
        SPLIT,
        node("Neg", ["x"], ["negative"]),
        node("ReduceMax", ["negative"], ["scale"], keepdims=0),
        node("SequenceMap", ["s"], ["sums"], body=body),
        node("ConcatFromSequence", ["sums"], ["y"], axis=1),
    ]
    weights = {"sizes": np.array([1, 0, 4]), "axes": np.array([1])}
    check(nodes, {"x": rng.standard_normal((3, 5)).astype(np.float32)}, weights)


def appending(steps: int) -> list[NodeProto]:
    """Returns a loop that appends a product to a sequence in each step, and joins the products."""
    types = {"i": TensorProto.INT64, "on": TensorProto.BOOL, "go": TensorProto.BOOL}
    infos = [value(n, [], t) for n, t in types.items()]
    kept = [helper.make_tensor_sequence_value_info(n, TensorProto.FLOAT, None) for n in ("p", "q")]
    inside = [
        node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
        node("Mul", ["x", "f"], ["m"]),
        node("SequenceInsert", ["p", "m"], ["q"]),
        node("Identity", ["on"], ["go"]),
    ]
    body = helper.make_graph(inside, "b", [*infos[:2], kept[0]], [infos[2], kept[1]])
    return [
        node("Constant", [], ["steps"], value_int=steps),
        node("SequenceEmpty", [], ["none"]),
        node("Loop", ["steps", "", "none"], ["s"], body=body, name="appends"),
        node("ConcatFromSequence", ["s"], ["y"], axis=0),
    ]


def test_a_loop_that_carries_a_sequence_becomes_its_steps(rng: np.random.Generator):
    x = rng.standard_normal((3, 5)).astype(np.float32)
    made = model(appending(21), [value("x", [3, 5])], ["y"])
    assert "glow.loop" not in str(import_onnx(made))
    check(appending(21), {"x": x})
    with pytest.raises(UnsupportedError, match=r"'appends': it carries a sequence, .* 1024"):
        import_onnx(model(appending(1025), [value("x", [3, 5])], ["y"]))
