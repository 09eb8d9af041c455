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


def test_an_empty_input_that_does_not_fit_is_an_error():
    made = node("GridSample", ["x", "g"], ["y"])
    inputs = [value("x", [0, 3, 4, 5]), value("g", [2, 2, 7, 3])]
    with pytest.raises(glow.ModelError, match="GridSample"):
        glow.compile(model([made], inputs, ["y"]), "interpreter")
