"""LSTM, GRU and RNN in all forms, interpreted and compiled, against onnxruntime."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import pytest
from glow.errors import GlowError
from glow.frontend.onnx import import_onnx
from glow.runtime.interpreter import interpret
from glow.tests.support.seeds import numbered
from glow.tests.unit.frontend.against_onnxruntime import SEEDS, reference
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper, numpy_helper

from .models import model, node, value

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
ACTIVATIONS = {
    "LSTM": [None, ["Sigmoid", "Tanh", "Relu"], ["HardSigmoid", "Softsign", "Tanh"]],
    "GRU": [None, ["HardSigmoid", "Tanh"]],
    "RNN": [None, ["Relu"], ["LeakyRelu"]],
}


def made(
    cell: str,
    seed: int,
    direction: str,
    optional: int,
    activations: list[str] | None,
    **attributes: Any,
) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """Returns a model; the bits of `optional` say which further inputs it has."""
    rng = np.random.default_rng(seed)
    steps, batch, width, hidden = (int(n) for n in rng.integers(1, [6, 4, 6, 6]))
    n, g = 2 if direction == "bidirectional" else 1, GATES[cell]
    shapes = {"x": (steps, batch, width), "w": (n, g * hidden, width), "r": (n, g * hidden, hidden)}
    extra = {"b": (n, 2 * g * hidden), "l": (batch,), "h": (n, batch, hidden)}
    extra |= {"c": (n, batch, hidden), "p": (n, 3 * hidden)} if cell == "LSTM" else {}
    given = {name: s for i, (name, s) in enumerate(extra.items()) if optional >> i & 1}
    arrays: dict[str, np.ndarray] = {
        k: rng.uniform(-1, 1, s).astype(np.float32) for k, s in (shapes | given).items()
    }
    if "l" in arrays:
        arrays["l"] = rng.integers(1, steps + 1, batch).astype(np.int32)
    if activations:
        attributes["activations"] = activations * n
    inputs = [*shapes, *(name if name in given else "" for name in extra)]
    outputs = ["y", "yh", "yc"][: 3 if cell == "LSTM" else 2]
    layer = node(cell, inputs, outputs, hidden_size=hidden, direction=direction, **attributes)
    declared = [
        value(k, a.shape, helper.np_dtype_to_tensor_dtype(a.dtype))
        for k, a in arrays.items()
        if k in ("x", "l", "h", "c")
    ]
    weights = {k: a for k, a in arrays.items() if k not in ("x", "l", "h", "c")}
    feed = {k: a for k, a in arrays.items() if k not in weights}
    return model([layer], declared, outputs, weights, 14), feed


@st.composite
def layers(draw: st.DrawFn) -> tuple[ModelProto, dict[str, np.ndarray]]:
    cell = draw(st.sampled_from(list(GATES)))
    attributes: dict[str, Any] = {}
    if cell == "GRU":
        attributes["linear_before_reset"] = draw(st.integers(0, 1))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    activations = draw(st.sampled_from(ACTIVATIONS[cell]))
    return made(cell, draw(SEEDS), direction, draw(st.integers(0, 31)), activations, **attributes)


@settings(max_examples=30, deadline=None)
@given(layers())
def test_interpreted_layers(layer: tuple[ModelProto, dict[str, np.ndarray]]) -> None:
    network, feed = layer
    found = interpret(import_onnx(network), feed)
    for name, want in zip([o.name for o in network.graph.output], reference(network, feed),
                          strict=True):  # fmt: skip
        np.testing.assert_allclose(found[name], want, rtol=1e-4, atol=1e-5)


@settings(max_examples=6, deadline=None)
@given(layers())
def test_compiled_layers(layer: tuple[ModelProto, dict[str, np.ndarray]]) -> None:
    network, feed = layer
    found = glow.compile(network).run(None, feed)
    for have, want in zip(found, reference(network, feed), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_follow_each_other_on_several_threads(threads: int) -> None:
    rng = numbered(3)
    x = rng.uniform(-1, 1, (7, 8, 64)).astype(np.float32)
    weights = {k: rng.uniform(-0.2, 0.2, (1, 256, 64)).astype(np.float32) for k in "wr"}
    layer = node("LSTM", ["x", "w", "r"], ["y"], hidden_size=64)
    network = model([layer], [value("x", x.shape)], ["y"], weights, 14)
    (found,) = glow.compile(network, threads=threads).run(None, {"x": x})
    (want,) = reference(network, {"x": x})
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("per_column", [False, True])
def test_weights_that_are_integers(rng: np.random.Generator, per_column: bool) -> None:
    """They stand for reals, of which onnxruntime computes the layer."""
    seed = int(rng.integers(2**32))
    network, feed = made("LSTM", seed, "bidirectional", 31, None)
    layer = network.graph.node[0]
    weights = {t.name: numpy_helper.to_array(t) for t in network.graph.initializer}
    quantized, reals = dict(weights), dict(weights)
    for name, kind in (("w", np.uint8), ("r", np.int8)):
        d, rows, columns = weights[name].shape
        low = np.iinfo(kind).min
        stored = rng.integers(low, low + 256, (d, columns, rows)).astype(kind)
        sizes = (d, rows) if per_column else (d,)
        scale = rng.uniform(0.001, 0.01, sizes).astype(np.float32)
        zero = rng.integers(low + 100, low + 150, sizes).astype(kind)
        quantized |= {name: stored, f"{name}s": scale, f"{name}z": zero}
        by = (d, 1, rows if per_column else 1)
        difference = stored.astype(np.float32) - zero.astype(np.float32).reshape(by)
        reals[name] = (difference * scale.reshape(by)).transpose(0, 2, 1)
    inputs = [*layer.input, "ws", "wz", "rs", "rz"]
    same = {"hidden_size": weights["r"].shape[2], "direction": "bidirectional"}
    integers = node(
        "DynamicQuantizeLSTM", inputs, ["y", "yh", "yc"], domain="com.microsoft", **same
    )
    declared = list(network.graph.input)
    opsets = [helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)]
    made_of = model([integers], declared, ["y"], quantized, opset_imports=opsets)
    found = interpret(import_onnx(made_of), feed)
    (want,) = reference(model([layer], declared, ["y"], reals, 14), feed)
    np.testing.assert_allclose(found["y"], want, rtol=1e-4, atol=1e-5)


def test_unknown_activations_are_refused() -> None:
    network, _ = made("RNN", 1, "forward", 0, ["Sine"])
    with pytest.raises(GlowError, match=r"activations=\['Sine'\]"):
        import_onnx(network)


@pytest.mark.parametrize("batch_first", [0, 1])
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("sequence_lens", (1, 3)),
        ("initial_h", (1, 7, 3)),
        ("initial_h", (2, 3, 7)),
        ("initial_c", (1, 3, 5)),
        ("initial_c", (3, 7)),
        ("P", (1, 7, 3)),
    ],
)
def test_inputs_of_other_shapes_are_refused(
    name: str, wrong: tuple[int, ...], batch_first: int
) -> None:
    shapes = {"x": (3, 5, 2) if batch_first else (5, 3, 2), "w": (1, 28, 2), "r": (1, 28, 7)}
    names = ["B", "sequence_lens", "initial_h", "initial_c", "P"]
    inputs = [*shapes, *(other if other == name else "" for other in names)]
    layer = node("LSTM", inputs, ["y"], hidden_size=7, layout=batch_first)
    kind = TensorProto.INT32 if name == "sequence_lens" else TensorProto.FLOAT
    declared = [value(k, sizes) for k, sizes in shapes.items()] + [value(name, wrong, kind)]
    with pytest.raises(GlowError, match=rf"expected input '{name}' of shape .*, found tensor<"):
        import_onnx(model([layer], declared, ["y"], opset=14))
