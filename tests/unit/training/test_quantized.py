"""Quantization-aware training: ranges, gradients, and the integers of the trained network."""

from __future__ import annotations

import re
from pathlib import Path

import glow
import numpy as np
import onnxruntime
import pytest
from glow import nn
from glow.errors import GlowError, QuantizationError
from glow.glow_dialects.glow.quantization import FakeQuantizeOp
from glow.interface.backend import find_backend
from glow.nn import Graph, Spec
from glow.quantization import choose, choose_per_axis
from glow.quantization.roles import moved, roles_of
from glow.quantization.schemas import STORAGES
from glow.training import SGD, Adam, QuantizationAware
from glow.training.networks import BuiltNetwork
from glow.training.quantized import RANGE, QuantizedNetwork
from glow.training.ranges import asymmetric, symmetric
from xdsl.dialects.builtin import ModuleOp

SHAPE = (3, 2, 7, 5)


class Mixed(nn.Module):
    """Everything that rounding meets: normalisation, dropout, a residual, pools, two layers."""

    def __init__(self):
        self.conv0 = nn.Conv2d(2, 5, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm(5)
        self.conv1 = nn.Conv2d(5, 5, 3, padding=1)
        self.drop = nn.Dropout(0.3)
        self.fc0 = nn.Linear(5 * 3 * 2, 7)
        self.fc1 = nn.Linear(7, 3)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        x = nn.relu(self.norm(self.conv0(x)))
        x = nn.max_pool(nn.relu(self.conv1(x) + x), 2)
        x = nn.relu(self.fc0(self.drop(nn.flatten(x))))
        return self.fc1(self.drop(x))


class Scores(nn.Module):
    """One layer."""

    def __init__(self):
        self.fc = nn.Linear(5, 3)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        return self.fc(x)


def _trainer(network: nn.Module, aware: QuantizationAware | None, **options) -> glow.Trainer:
    network.initialize(3)
    chosen = {"optimizer": SGD(0.05), "backend": "interpreter", **options}
    return glow.Trainer(network, nn.mean_squared_error, quantization=aware, **chosen)


def _batch(
    rng: np.random.Generator, shape: tuple[int, ...] = SHAPE
) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal(shape).astype(np.float32)
    return x, rng.standard_normal((shape[0], 3)).astype(np.float32)


def _values(
    x: np.ndarray, scale: np.ndarray | np.floating, point: int, low: int, high: int
) -> np.ndarray:
    return (np.clip(np.rint(x / scale) + point, low, high) - point) * scale


@pytest.mark.parametrize(("bits", "per_channel"), [(8, True), (4, False)])
def test_integers_are_what_the_trainer_evaluates(
    bits: int, per_channel: bool, rng: np.random.Generator, tmp_path: Path
) -> None:
    trainer = _trainer(Mixed(), QuantizationAware(bits, bits, per_channel))
    for _ in range(3):
        trainer.train_step([_batch(rng)])
    x, _ = _batch(rng)
    module = trainer.graph({"input": x})
    (expected,) = glow.compile(module, backend="interpreter")(x)
    # to the bit: the loss compares the outputs of evaluation with these
    assert trainer.evaluate([(x, expected)])["loss"] == 0
    model = glow.compile(module)
    ranges = [r for name, r in trainer.parameters.items() if name.startswith(RANGE)]
    step = max(np.ptp(np.append(r, 0)) for r in ranges) / (2**bits - 1)
    np.testing.assert_allclose(model(x)[0], expected, atol=step)
    model.dump_stages(tmp_path)
    text = (tmp_path / "01-optimized.mlir").read_text()
    products = re.findall(r"glow\.(?:convolution|fully_connected) .*-> tensor<\S*x(\w+)>", text)
    assert products == ["i32"] * 4
    trainer.export(tmp_path / "q.onnx", {"input": x})
    options = onnxruntime.SessionOptions()
    # its fused products saturate on some CPUs, and its optimiser does not know 4 bits
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(tmp_path / "q.onnx", options)
    found = np.asarray(session.run(None, {"input": x})[0])
    np.testing.assert_allclose(found, expected, atol=step)
    np.testing.assert_allclose(glow.compile(tmp_path / "q.onnx")(x)[0], expected, atol=step)


@pytest.mark.parametrize("training", [True, False])
def test_products_read_rounded_values(training: bool) -> None:
    """Activations, weights and biases of all products are rounded, once each, and nothing else."""
    network = Mixed()
    network.initialize(1)
    quantized = QuantizedNetwork(BuiltNetwork(network), QuantizationAware(), find_backend("cpu"))
    for building in (True, training):  # a graph for training makes the ranges
        graph = Graph(training=building, names=quantized.names)
        for name, array in quantized.values.items():
            graph.parameters[name] = graph.input(name, array)
        outputs = quantized.outputs(graph, [graph.input("x", Spec(SHAPE))])
        module = graph.finish(outputs)
        module.verify()
    products = [op for op in module.walk() if roles_of(op) is not None]
    rounded = [op for op in module.walk() if isinstance(op, FakeQuantizeOp)]
    assert len(products) == 4
    assert len(rounded) == 4 + 4 + 3  # one convolution has no bias
    for node in products:
        activation = node.operands[0]
        while (source := moved(activation)) is not None:
            activation = source
        for value in (activation, node.operands[1]):
            assert isinstance(value.owner, FakeQuantizeOp)
    moving = {f"{RANGE}{n}.input" for n in ("conv0", "conv1", "fc0", "fc1")}
    assert {name for name in quantized.updated if name.startswith(RANGE)} == moving
    assert {n for n in graph.updates if n.startswith(RANGE)} == (moving if training else set())


def test_gradients_pass_straight_through(rng: np.random.Generator) -> None:
    """The gradients of one layer are those at rounded numbers, whose rounding is transparent."""
    trainer = _trainer(Scores(), QuantizationAware(4, 4, per_channel=True))
    x, y = _batch(rng, (11, 5))
    w, b = (trainer.parameters[f"fc.{n}"] for n in ("weight", "bias"))
    t = choose(glow.quantization.Range(float(x.min()), float(x.max())), storage="i4")
    s, (point,) = np.float32(t.scale_values()[0]), t.zero_point_values()
    rounded_x = _values(x, s, point, -8, 7)
    scales = np.abs(w).max(1) / np.float32(7)
    rounded_w = _values(w, scales[:, None], 0, -8, 7)
    rounded_b = np.rint(b / (s * scales)) * s * scales
    d = 2 * (rounded_x @ rounded_w.T + rounded_b - y) / y.size
    found = trainer.gradients((x, y))
    np.testing.assert_allclose(found["fc.weight"], d.T @ rounded_x, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found["fc.bias"], d.sum(0), rtol=1e-4, atol=1e-6)


def test_ranges_are_moving_averages(rng: np.random.Generator) -> None:
    """The first batch gives the range, and others move it; accumulated batches count, too."""
    trainer = _trainer(Scores(), QuantizationAware(momentum=0.25))
    batches = [_batch(rng, (n, 5)) for n in (4, 4, 3, 4)]
    trainer.train_step(batches[:1])
    trainer.train_step(batches[1:3])
    trainer.train_step(batches[3:])
    ends = [np.array([x.min(), x.max()]) for x, _ in batches]
    want = ends[0]
    for new in ends[1:]:
        want = 0.75 * want + 0.25 * new
    np.testing.assert_allclose(trainer.parameters["range.fc.input"], want, rtol=1e-6)


def _evaluated(graph: Graph, *outputs: nn.Tensor) -> list[np.ndarray]:
    module: ModuleOp = graph.finish({f"out{i}": t for i, t in enumerate(outputs)})
    return glow.compile(module, backend="interpreter").run(None, {})


@pytest.mark.parametrize("storage", ["i8", "i4"])
def test_scales_are_those_of_the_schemas(storage: str, rng: np.random.Generator) -> None:
    ranges = np.sort(rng.standard_normal((20, 2)) * 10.0 ** rng.integers(-6, 6, (20, 1)), 1)
    special = [(0, 0), (0, 3), (-2, 0), (0, 1e-44), (1, 2), (-3, -1), (-1e38, 3e38)]
    for ends in np.array([*ranges, *special], np.float32):
        graph = Graph()
        found = _evaluated(graph, *asymmetric(graph.array(ends), STORAGES[storage]))
        t = choose(glow.quantization.Range(*map(float, ends)), storage=storage)
        assert (*found[0].tolist(), *found[1].tolist()) == (
            *t.scale_values(),
            *t.zero_point_values(),
        )
    weights = (rng.standard_normal((5, 7, 3)) * 10.0 ** rng.integers(-6, 6, (1, 7, 1))).astype("f4")
    weights[:, 3] = 0
    graph = Graph()
    (found,) = _evaluated(graph, symmetric(graph.array(weights), STORAGES[storage], 1))
    lows, highs = weights.min((0, 2)), weights.max((0, 2))
    assert tuple(found.tolist()) == choose_per_axis(lows, highs, 1, storage=storage).scale_values()


def test_a_training_continues_to_the_bit(rng: np.random.Generator, tmp_path: Path) -> None:
    """Ranges are in the checkpoint. One of a training in float begins without them."""
    batches = [_batch(rng) for _ in range(4)]
    aware = QuantizationAware(momentum=0.3)
    whole = _trainer(Mixed(), aware, optimizer=Adam(0.01))
    for batch in batches[:2]:
        whole.train_step([batch])
    whole.save(tmp_path / "half")
    for batch in batches[2:]:
        whole.train_step([batch])
    again = _trainer(Mixed(), aware, optimizer=Adam(0.01))
    again.restore(tmp_path / "half")
    for batch in batches[2:]:
        again.train_step([batch])
    assert any(name.startswith(RANGE) for name in again.parameters)
    for name, array in whole.parameters.items():
        np.testing.assert_array_equal(again.parameters[name], array)
    plain = _trainer(Mixed(), None, optimizer=Adam(0.01))
    plain.train_step([batches[0]])
    plain.save(tmp_path / "float")
    again.restore(tmp_path / "float")
    with pytest.raises(GlowError, match=r"the range of conv0\.input is not known before"):
        again.evaluate([batches[0]])
    again.train_step([batches[0]])
    x = batches[0][0]
    np.testing.assert_array_equal(again.parameters["range.conv0.input"], [x.min(), x.max()])
    with pytest.raises(GlowError, match=r"another network or optimizer:\n  range"):
        plain.restore(tmp_path / "half")


def test_products_that_stay_float(rng: np.random.Generator) -> None:
    trainer = _trainer(Mixed(), QuantizationAware(keep_float=("fc*",)))
    x, y = _batch(rng)
    trainer.train_step([(x, y)])
    ranges = {name for name in trainer.parameters if name.startswith(RANGE)}
    assert ranges == {"range.conv0.input", "range.conv1.input"}
    (found,) = glow.compile(trainer.graph({"x": x}), backend="interpreter")(x)
    assert trainer.evaluate([(x, found)])["loss"] == 0


def test_an_imported_network(rng: np.random.Generator, tmp_path: Path) -> None:
    x, y = _batch(rng)
    first = _trainer(Mixed(), None)
    first.export(tmp_path / "m.onnx", {"input": x})
    trainer = glow.Trainer(
        tmp_path / "m.onnx",
        nn.mean_squared_error,
        SGD(0.01),
        quantization=QuantizationAware(),
        backend="interpreter",
    )
    losses = [trainer.train_step([(x, y)])[0] for _ in range(5)]
    assert losses[-1] < losses[0]
    (found,) = glow.compile(trainer.graph({"input": x}), backend="interpreter")(x)
    assert trainer.evaluate([(x, found)])["loss"] == 0


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"weights": 5}, "expected weights of 8 or 4 bits, found 5"),
        ({"activations": "i8"}, "expected activations of 8 or 4 bits, found 'i8'"),
        ({"momentum": 0}, "expected a momentum above 0 and up to 1, found 0"),
        ({"per_channel": 1}, "expected per_channel to be True or False, found 1"),
        ({"keep_float": "fc"}, "expected a tuple of patterns to keep, found 'fc'"),
        (
            {"keep_float": ("q*",)},
            "no parameter that can be trained matches 'q*'; there are fc.bias",
        ),
    ],
)
def test_bad_choices(choices: dict[str, object], message: str) -> None:
    with pytest.raises(GlowError, match=re.escape(message)):
        _trainer(Scores(), QuantizationAware(**choices))  # pyright: ignore


def test_there_is_no_integer_program_before_the_first_step() -> None:
    trainer = _trainer(Scores(), QuantizationAware())
    with pytest.raises(GlowError, match=r"range of fc\.input is not known before the first step"):
        trainer.graph({"x": (2, 5)})


class Changing(nn.Module):
    """A network with a node in training that it does not have afterwards."""

    def __init__(self):
        self.fc = nn.Linear(5, 3)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        return self.fc(nn.relu(x) if x.graph.training else x)


class Scaled(nn.Module):
    """A network without products."""

    def __init__(self):
        self.norm = nn.LayerNorm(3)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        return self.norm(x)


def test_networks_that_cannot_be_quantized(rng: np.random.Generator) -> None:
    x, y = _batch(rng, (4, 5))
    with pytest.raises(GlowError, match=r"has glow\.relu in training where it has glow\.fully"):
        _trainer(Changing(), QuantizationAware()).train_step([(x, y)])
    with pytest.raises(QuantizationError, match="nothing is quantized"):
        _trainer(Scaled(), QuantizationAware()).train_step([(y, y)])
