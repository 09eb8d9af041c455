"""A network trains the same way whatever its inputs and parameters are called."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import pytest
from glow import nn
from glow.training import SGD, Adam, QuantizationAware
from glow.training.optimizers import Optimizer
from onnx import ModelProto, numpy_helper, parser

PLAIN = ("x", "w", "u", "v")
CLASHES = [
    ("target0", "number.rate", "random", "velocity.random"),
    ("random", "gradient.loss", "loss", "new.loss"),
    ("number.rate", "target0", "velocity.target0", "number.share"),
    ("new.w", "mean.w", "w", "square.w"),
    ("number.step", "range.w.input", "range.w", "trainer.random"),
]


def imported(names: tuple[str, ...], arrays: list[np.ndarray]) -> ModelProto:
    """Returns a model `tanh(x @ w + u) @ v` with these names."""
    x, w, u, v = (name.replace(".", "__") for name in names)
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[5,3] {x}) => (float[5,2] y) {{
        p = MatMul({x}, {w}) s = Add(p, {u}) t = Tanh(s) y = MatMul(t, {v}) }}""")
    # ONNX's parser takes no names with dots
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = name.replace("__", ".")
    model.graph.input[0].name = names[0]
    model.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in zip(names[1:], arrays, strict=True)
    )
    return model


@pytest.mark.parametrize("names", CLASHES, ids=" ".join)
@pytest.mark.parametrize("optimizer", [SGD(0.1, momentum=0.9), Adam(0.1)], ids=["sgd", "adam"])
def test_names_of_imported_models(
    names: tuple[str, ...], optimizer: Optimizer, tmp_path: Path, rng: np.random.Generator
) -> None:
    """A step of two batches, a checkpoint, and a step after it are those of plain names."""
    arrays = [rng.standard_normal(s).astype(np.float32) for s in ((3, 7), (7,), (7, 2))]
    inputs, targets = (rng.standard_normal((2, 5, n)).astype(np.float32) for n in (3, 2))
    batches = list(zip(inputs, targets, strict=True))
    results: list[list[np.ndarray]] = []
    for chosen in (PLAIN, names):
        model = imported(chosen, arrays)
        trainer = glow.Trainer(model, nn.mean_squared_error, optimizer)
        trainer.train_step(batches)
        trainer.save(tmp_path / "checkpoint")
        again = glow.Trainer(model, nn.mean_squared_error, optimizer)
        again.restore(tmp_path / "checkpoint")
        again.train_step(batches[:1])
        assert set(again.parameters) == set(chosen[1:])
        gradients = again.gradients(batches[1])
        results.append(
            [part[name] for part in (again.parameters, gradients) for name in chosen[1:]]
        )
        assert again.evaluate(batches)["loss"] > 0
    for found, expected in zip(results[1], results[0], strict=True):
        np.testing.assert_array_equal(found, expected)


class Noisy(nn.Module):
    """A layer and dropout; the attribute with the bias has a name of the test's choice."""

    def __init__(self, name: str, weight: np.ndarray):
        self.weight = nn.Parameter(weight.shape, nn.zeros)
        self._name = name
        setattr(self, name, nn.Parameter(weight.shape[:1], nn.zeros))

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        weight, bias = (x.graph.parameter(p) for p in (self.weight, getattr(self, self._name)))
        return nn.dropout(nn.linear(x, weight, bias), 0.5)


@pytest.mark.parametrize("name", ["input", "random", "target0", "loss"])
def test_names_of_modules(name: str, rng: np.random.Generator) -> None:
    """A parameter called like an input, or like the state of random numbers, is another tensor."""
    weight = rng.standard_normal((5, 3)).astype(np.float32)
    x, target = (rng.standard_normal((7, n)).astype(np.float32) for n in (3, 5))
    results: list[list[np.ndarray]] = []
    for chosen in ("bias", name):
        network = Noisy(chosen, weight)
        network.weight.array = weight.copy()
        trainer = glow.Trainer(network, nn.mean_squared_error, SGD(0.1), seed=3)
        trainer.train_step([(x, target)])
        results.append([trainer.parameters[n] for n in ("weight", chosen)])
    assert not np.array_equal(results[0][0], weight)
    for found, expected in zip(results[1], results[0], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_an_input_called_as_random_numbers_are(rng: np.random.Generator) -> None:
    """The input of a network that is built is not what its dropout draws numbers from."""
    x = rng.standard_normal((5, 7)).astype(np.float32)
    graphs = [
        nn.build(lambda t: nn.dropout(t, 0.5), {name: x}, training=True) for name in ("x", "random")
    ]
    state = np.array([1, 2, 3], np.uint32)
    found = [glow.compile(graph, "interpreter")(x, state)[0] for graph in graphs]
    np.testing.assert_array_equal(found[0], found[1])


def test_a_parameter_called_like_a_range(rng: np.random.Generator) -> None:
    """Ranges of quantization-aware training have names of their own."""
    arrays = [rng.standard_normal(s).astype(np.float32) for s in ((3, 7), (7,), (7, 2))]
    x, target = (rng.standard_normal((5, n)).astype(np.float32) for n in (3, 2))
    results: list[list[np.ndarray]] = []
    for chosen in (PLAIN, ("x", "w", "range.w.input", "range.v")):
        model, aware = imported(chosen, arrays), QuantizationAware()
        trainer = glow.Trainer(model, nn.mean_squared_error, SGD(0.1), quantization=aware)
        for _ in range(2):
            trainer.train_step([(x, target)])
        results.append([trainer.parameters[name] for name in chosen[1:]])
        assert not np.array_equal(results[-1][1], arrays[1])
    for found, expected in zip(results[1], results[0], strict=True):
        np.testing.assert_array_equal(found, expected)
