"""Nodes on empty tensors, whose results have no elements either."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.tests.unit.frontend.against_onnxruntime import check
from onnx import NodeProto

from .models import model, node, value

IMAGES = (0, 3, 4, 5)


def floats(rng: np.random.Generator, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    return {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}


@pytest.mark.parametrize(
    ("made", "shapes"),
    [
        (node("Hardmax", ["x"], ["y"], axis=0), {"x": (0, 3)}),
        (node("Resize", ["x", "", "scales"], ["y"], mode="nearest"), {"x": IMAGES}),
        (node("Resize", ["x", "", "scales"], ["y"], mode="linear"), {"x": IMAGES}),
        (node("GridSample", ["x", "g"], ["y"]), {"x": IMAGES, "g": (0, 2, 7, 2)}),
    ],
    ids=["hardmax", "nearest", "linear", "grid"],
)
def test_results_without_elements(
    rng: np.random.Generator, made: NodeProto, shapes: dict[str, tuple[int, ...]]
):
    weights = {"scales": np.array([1, 1, 2, 3], np.float32)} if "scales" in made.input else {}
    check(made, floats(rng, shapes), weights)


@pytest.mark.parametrize(("operator", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_a_recurrent_layer_on_no_sequences(rng: np.random.Generator, operator: str, gates: int):
    layer = node(operator, ["x", "w", "r"], ["y", "h"], hidden_size=2)
    weights = floats(rng, {"w": (1, 2 * gates, 3), "r": (1, 2 * gates, 2)})
    made = model([layer], [value("x", [5, 0, 3])], ["y", "h"], weights)
    # onnxruntime does not run it
    y, h = glow.compile(made, cache=False)(np.zeros((5, 0, 3), np.float32))
    assert (y.shape, h.shape) == ((5, 1, 0, 2), (1, 0, 2))
    assert y.dtype == h.dtype == np.float32


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(("operator", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_a_recurrent_layer_of_no_steps(
    rng: np.random.Generator, operator: str, gates: int, batch_first: bool, direction: str
):
    """The last states are the first ones. onnxruntime does not run it."""
    n, batch = 2 if direction == "bidirectional" else 1, 5
    names = ["h", "c"] if operator == "LSTM" else ["h"]
    attributes = {"hidden_size": 2, "direction": direction, "layout": int(batch_first)}
    layer = node(
        operator,
        ["x", "w", "r", "", "lengths", *names],
        ["y", *(f"last {name}" for name in names)],
        **attributes,
    )
    shape = (batch, n, 2) if batch_first else (n, batch, 2)
    first = floats(rng, dict.fromkeys(names, shape))
    weights = floats(rng, {"w": (n, 2 * gates, 3), "r": (n, 2 * gates, 2)})
    weights["lengths"] = np.zeros(batch, np.int32)
    sizes = [batch, 0, 3] if batch_first else [0, batch, 3]
    inputs = [value("x", sizes), *(value(name, list(shape)) for name in names)]
    made = model([layer], inputs, list(layer.output), weights)
    y, *last = glow.compile(made, cache=False)(np.zeros(sizes, np.float32), *first.values())
    assert y.shape == ((batch, 0, n, 2) if batch_first else (0, n, batch, 2))
    for found, wanted in zip(last, first.values(), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("queries", "keys"), [(3, 0), (70, 0), (1, 0), (0, 5), (0, 0)])
def test_attention_to_no_keys(rng: np.random.Generator, queries: int, keys: int):
    nodes = [
        node("MatMul", ["q", "k"], ["scores"]),
        node("Softmax", ["scores"], ["shares"], axis=-1),
        node("MatMul", ["shares", "v"], ["mean"]),
        node("Add", ["mean", "bias"], ["y"]),
    ]
    shapes = {"q": (2, queries, 8), "k": (2, 8, keys), "v": (2, keys, 7), "bias": (7,)}
    arrays = floats(rng, shapes)
    check(nodes, arrays)
    inputs = [value(name, list(shape)) for name, shape in shapes.items()]
    (y,) = glow.compile(model(nodes, inputs, ["y"]), cache=False)(*arrays.values())
    if not keys:
        np.testing.assert_array_equal(y, np.broadcast_to(arrays["bias"], (2, queries, 7)))
    assert y.shape == (2, queries, 7)


def test_sizes_that_a_reshape_keeps_may_be_zero(rng: np.random.Generator):
    made = node("Reshape", ["x", "shape"], ["y"])
    weights = {"shape": np.array([0, 0, 2, -1])}
    (y,) = glow.compile(model([made], [value("x", [3, 0, 8])], ["y"], weights), cache=False)(
        np.zeros((3, 0, 8), np.float32)
    )
    assert y.shape == (3, 0, 2, 4)


def test_an_empty_input_that_does_not_fit_is_an_error():
    made = node("GridSample", ["x", "g"], ["y"])
    inputs = [value("x", [0, 3, 4, 5]), value("g", [2, 2, 7, 3])]
    with pytest.raises(glow.ModelError, match="GridSample"):
        glow.compile(model([made], inputs, ["y"]), "interpreter")
