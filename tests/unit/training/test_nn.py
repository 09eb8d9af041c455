"""Networks that are built in Python compute what onnxruntime computes of their exports."""

from __future__ import annotations

import re
from collections.abc import Callable

import glow
import numpy as np
import onnxruntime
import pytest
from glow import nn
from glow.errors import GlowError
from glow.frontend.onnx.export import export_onnx


class Encoder(nn.Module):
    """A transformer encoder layer after an embedding."""

    def __init__(self):
        self.table = nn.Embedding(11, 8)
        self.norm = nn.LayerNorm(8)
        self.attention = nn.MultiHeadAttention(8, 2)
        self.feed = [nn.Linear(8, 13), nn.gelu, nn.Linear(13, 3)]

    def __call__(self, tokens: nn.Tensor) -> nn.Tensor:
        x = self.table(tokens)
        x = x + self.attention(self.norm(x))
        for layer in self.feed:
            x = layer(x)
        return nn.softmax(x)


class Branches(nn.Module):
    """Convolutions in all forms, on a path down and one up."""

    def __init__(self):
        self.down = nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm(4)
        self.inner = nn.Conv2d(4, 6, 3, padding=1, group=2)
        self.up = nn.ConvTranspose2d(6, 2, 2, stride=2)
        self.dropout = nn.Dropout(0.5)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        y = nn.sigmoid(self.norm(self.down(x)))
        y = self.up(nn.tanh(self.inner(self.dropout(y))))
        y = nn.concat([y, nn.avg_pool(x, 3, stride=1, padding=1)], axis=1)
        return (2 - y) / (1 + y * y) ** 0.5 - y.mean([2, 3], keep_dims=True)


def _by_session(module, inputs: dict[str, np.ndarray]) -> np.ndarray:
    session = onnxruntime.InferenceSession(export_onnx(module).SerializeToString())
    (found,) = session.run(None, inputs)
    assert isinstance(found, np.ndarray)
    return found


@pytest.mark.parametrize("network", [Encoder, Branches])
def test_networks_and_their_exports(network: Callable[[], nn.Module], rng) -> None:
    net = network()
    net.initialize(7)
    if network is Encoder:
        inputs = {"input": rng.integers(0, 11, (2, 5))}
    else:
        inputs = {"input": rng.standard_normal((2, 3, 6, 10)).astype(np.float32)}
    module = nn.build(net, inputs)
    model = glow.compile(module, backend="interpreter")
    (found,) = model(*inputs.values())
    np.testing.assert_allclose(found, _by_session(module, inputs), rtol=1e-4, atol=1e-5)


def test_parameters_have_the_names_of_their_places() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.relu, nn.Sequential(nn.BatchNorm(3)))
    assert list(net.parameters()) == [
        *("0.weight", "0.bias", "2.0.weight", "2.0.bias"),
        *("2.0.running_mean", "2.0.running_var"),
    ]
    assert list(Encoder().parameters())[-2:] == ["feed.2.weight", "feed.2.bias"]


def test_a_parameter_in_two_places_is_one(rng) -> None:
    shared = nn.Linear(4, 4)
    net = nn.Sequential(shared, nn.tanh, shared)
    assert list(net.parameters()) == ["0.weight", "0.bias"]
    x = rng.standard_normal((3, 4)).astype(np.float32)
    w, b = (p.array for p in net.parameters().values())
    (found,) = glow.compile(nn.build(net, {"x": x}), backend="interpreter")(x)
    np.testing.assert_allclose(found, np.tanh(x @ w.T + b) @ w.T + b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("initializer", "variance"),
    [(nn.he_normal, 2 / 450), (nn.glorot_uniform, 2 / (450 + 675)), (nn.normal(0.5), 0.25)],
)
def test_initializers_follow_from_seed_and_name(initializer: nn.Initializer, variance: float):
    """75 x 50 windows of 9 elements have a variance within 3 % of the stated one."""
    parameter = nn.Parameter((75, 50, 3, 3), initializer)
    parameter.initialize(1, "a")
    first = parameter.array
    assert first.var() == pytest.approx(variance, rel=0.03)
    parameter.initialize(1, "a")
    np.testing.assert_array_equal(parameter.array, first)
    parameter.initialize(1, "b")
    assert not np.array_equal(parameter.array, first)


def _losses(build: Callable[[nn.Graph], nn.Tensor], *inputs: np.ndarray) -> float:
    graph = nn.Graph()
    for i, array in enumerate(inputs):
        graph.input(f"x{i}", array)
    model = glow.compile(graph.finish({"loss": build(graph)}), backend="interpreter")
    (found,) = model(*inputs)
    assert found.shape == ()
    return float(found)


def test_losses(rng) -> None:
    """Losses are what their formulas say in f64, also where exponentials overflow."""
    scores = rng.uniform(-200, 200, (3, 5, 2))
    labels = rng.integers(0, 5, (3, 2))
    target = rng.uniform(0, 1, scores.shape)

    def on(loss: Callable[[nn.Tensor, nn.Tensor], nn.Tensor]):
        return lambda graph: loss(*graph.inputs.values())

    logs = scores - np.logaddexp.reduce(scores, 1, keepdims=True)
    expected = -np.take_along_axis(logs, labels[:, None], 1).mean()
    found = _losses(on(nn.cross_entropy), scores, labels)
    assert found == pytest.approx(expected, rel=1e-12)
    expected = np.mean(np.logaddexp(0, scores) - scores * target)
    found = _losses(on(nn.binary_cross_entropy), scores, target)
    assert found == pytest.approx(expected, rel=1e-12)
    found = _losses(on(nn.mean_squared_error), scores, target)
    assert found == pytest.approx(np.mean((scores - target) ** 2), rel=1e-12)
    found = _losses(on(nn.accuracy), scores, labels)
    assert found == pytest.approx((scores.argmax(1) == labels).mean())


def test_dropout_keeps_the_mean(rng) -> None:
    """A quarter of 4,000 ones is 0 within five standard deviations, the others are 4/3."""
    x, state = np.ones((40, 100), np.float32), rng.integers(0, 2**32, 3, np.uint32)
    module = nn.build(nn.Sequential(nn.Dropout(0.25)), {"x": x}, training=True)
    model = glow.compile(module, backend="interpreter")
    (found,) = model(x, state)
    assert set(np.unique(found)) == {np.float32(0), np.float32(4 / 3)}
    assert np.count_nonzero(found == 0) == pytest.approx(1000, abs=5 * np.sqrt(4000 * 3 / 16))
    (other,) = model(x, state + np.array([0, 0, 1], np.uint32))
    assert not np.array_equal(found, other)


@pytest.mark.parametrize(
    "described", [(-1, 3), ("N", 3), 3, (2.5,), nn.Spec((2,), "complex64"), np.array(["a"])]
)
def test_bad_descriptions_of_inputs(described) -> None:
    with pytest.raises(GlowError, match=r"of integers of at least 0, found|of floats, integers"):
        nn.build(nn.relu, {"x": described})


def test_numbers_of_numpy_are_numbers(rng) -> None:
    """Numbers of a wider type do not widen the tensor, as Python's do not."""
    x = rng.standard_normal((3, 1, 5)).astype(np.float32)
    module = nn.build(lambda x: np.float64(2) * x - np.float32(0.5), {"x": x})
    (found,) = glow.compile(module, backend="interpreter")(x)
    np.testing.assert_array_equal(found, 2 * x - np.float32(0.5), strict=True)


@pytest.mark.parametrize(
    ("dtype", "classes"), [("int8", 201), ("uint8", 301), ("uint32", 7), ("bool", 2), ("bool", 3)]
)
def test_labels_of_types_that_lack_classes(dtype: str, classes: int, rng) -> None:
    scores = rng.standard_normal((7, classes)).astype(np.float32)
    labels = rng.integers(0, min(classes, 2 if dtype == "bool" else 128), 7)
    module = nn.build(nn.cross_entropy, {"scores": scores, "labels": nn.Spec((7,), dtype)})
    (found,) = glow.compile(module)(scores, labels.astype(dtype))
    logs = scores - np.log(np.exp(scores.astype(np.float64)).sum(1, keepdims=True))
    np.testing.assert_allclose(found, -logs[np.arange(7), labels].mean(), rtol=1e-5)


def _on(*shapes: tuple[int, ...]) -> list[nn.Tensor]:
    graph = nn.Graph()
    return [graph.input(f"x{i}", shape) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize(
    ("function", "shapes", "message"),
    [
        (lambda a, b: a + b, [(2, 3), (4,)], "shapes that broadcast to each other, found [2, 3]"),
        (lambda a: a.reshape(4, -1), [(2, 3)], "expected a shape of 6 elements, found [4, -1]"),
        (lambda a: a.graph.gradients(a, {}), [(2, 3)], "expected a loss of one element, found one"),
        (nn.cross_entropy, [(2, 3), (3,)], "expected labels of shape [2] for scores of shape"),
        (nn.mean_squared_error, [(2, 3), (3, 2)], "expected a target of the shape of the output"),
        (lambda a: nn.Linear(2, 2)(a), [(1, 2)], "belongs to no module that is built"),
        (lambda a: nn.dropout(a, 1.0), [(1,)], "rate of dropout of at least 0 and below 1"),
        (lambda a: nn.max_pool(a, 2), [(1, 2)], "glow.max_pool: "),
        (lambda a: a.graph.formula("y[i] = x[i, 0]", a), [(3,)], "y[i] = x[i, 0]: "),
        (nn.cross_entropy, [(2, 3), (2,)], "expected labels that are integers, found float32"),
        (lambda a: nn.softmax(a, 2), [(2, 3)], "expected an axis of -2 to 1, found 2"),
        (lambda a: a.mean([0, -3]), [(2, 3)], "expected an axis of -2 to 1, found -3"),
        (lambda a: nn.concat([a, a], 2), [(2, 3)], "expected an axis of -2 to 1, found 2"),
        (lambda a: nn.concat([], 0), [(1,)], "expected tensors to concatenate, found none"),
        (lambda a: a.reshape(-2, -3), [(2, 3)], "a shape of integers of at least 0, found [-2, -3"),
        (lambda a: a.reshape(0, -1), [(2, 3)], "expected a shape of 6 elements, found [0, -1]"),
        (lambda a: a + "1", [(3,)], "expected a tensor or a number, found str"),
        (lambda a: np.ones(3) * a, [(3,)], "expected a tensor or a number, found ndarray"),
        (lambda a: a.cast("int32") + 0.5, [(3,)], "expected an integer of -2147483648 to"),
        (lambda a: a.cast("uint8") + 256, [(3,)], "expected an integer of 0 to 255 beside a"),
        (lambda a: a.cast("int64") * float("nan"), [(3,)], "tensor of i64, found nan"),
        (lambda a: a.cast("words"), [(3,)], "data type 'words' not understood"),
    ],
)
def test_bad_networks(function, shapes, message: str) -> None:
    with pytest.raises(GlowError, match=re.escape(message)):
        function(*_on(*shapes))
