"""ONNX's Backend interface."""

from __future__ import annotations

from typing import Any

import glow.onnx_backend as backend
import numpy as np
import pytest
from glow.errors import InputError, UnsupportedError
from onnx.backend.base import Backend, BackendRep

from .models import model, node, value

OPTIONS: dict[str, Any] = {"backend": "interpreter"}


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((2, 3)).astype(np.float32)


def test_it_is_a_backend() -> None:
    assert issubclass(backend.GlowBackend, Backend)
    assert issubclass(backend.GlowBackendRep, BackendRep)


@pytest.mark.parametrize("options", [OPTIONS, {}])
def test_prepare_and_run(x: np.ndarray, options: dict[str, Any]) -> None:
    nodes = [node("Relu", ["x"], ["first"]), node("Neg", ["x"], ["second"])]
    made = model(nodes, [value("x", [2, 3])], ["first", "second"])
    prepared = backend.prepare(made, "CPU", **options)
    for inputs in ([x], {"x": x}, x):
        outputs = prepared.run(inputs)
        np.testing.assert_array_equal(outputs.first, np.maximum(x, 0))  # pyright: ignore
        np.testing.assert_array_equal(outputs[1], -x)
    (found, _) = backend.run_model(made, [x], **options)
    np.testing.assert_array_equal(found, np.maximum(x, 0))


def test_symbolic_dimensions_follow_the_inputs(x: np.ndarray) -> None:
    made = model([node("Neg", ["x"], ["y"])], [value("x", ["batch", 3])], ["y"])
    prepared = backend.prepare(made, **OPTIONS)
    for array in (x, x[:1], np.concatenate([x, x])):
        np.testing.assert_array_equal(prepared.run([array])[0], -array)
    fixed = backend.prepare(made, symbols={"batch": 2}, **OPTIONS)
    with pytest.raises(InputError):
        fixed.run([x[:1]])


def test_run_node(x: np.ndarray) -> None:
    (found,) = backend.run_node(node("Add", ["a", "b"], ["y"]), [x, x], **OPTIONS)
    np.testing.assert_array_equal(found, x + x)
    axes = np.array([1])
    made = node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)
    (found,) = backend.run_node(made, {"x": x, "axes": axes}, **OPTIONS)
    np.testing.assert_allclose(found, x.sum(axis=1), rtol=1e-6)
    limits = [np.array(n) for n in (0, 5, 1)]
    (found,) = backend.run_node(node("Range", ["a", "b", "c"], ["y"]), limits, **OPTIONS)
    np.testing.assert_array_equal(found, np.arange(5))
    old = node("Softmax", ["x"], ["y"], axis=0)
    (found,) = backend.run_node(old, [x], opset_version=11, **OPTIONS)
    np.testing.assert_allclose(found.sum(), 1, rtol=1e-6)


def test_devices() -> None:
    assert backend.supports_device("CPU")
    assert backend.supports_device("CPU:0")
    assert not backend.supports_device("CUDA")
    with pytest.raises(InputError, match="CUDA"):
        backend.prepare(model([node("Neg", ["x"], ["y"])], [value("x", [2])], ["y"]), "CUDA")


def test_unsupported_models() -> None:
    made = model([node("StringNormalizer", ["x"], ["y"])], [value("x", [2])], ["y"])
    assert not backend.is_compatible(made)
    with pytest.raises(UnsupportedError):
        backend.prepare(made, **OPTIONS)
    with pytest.raises(UnsupportedError):
        backend.run_node(made.graph.node[0], [np.ones(2, np.float32)], **OPTIONS)
    assert backend.is_compatible(model([], [value("x", [2])], ["x"]))


def test_wrong_number_of_inputs(x: np.ndarray) -> None:
    prepared = backend.prepare(model([], [value("x", [2, 3])], ["x"]), **OPTIONS)
    with pytest.raises(InputError, match="expected 1 input "):
        prepared.run([x, x])
    with pytest.raises(InputError, match="expected 2 inputs"):
        backend.run_node(node("Add", ["a", "b"], ["y"]), [x], **OPTIONS)
