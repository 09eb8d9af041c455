"""Training with factors of products that are rounded to bf16."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import glow
import ml_dtypes
import numpy as np
import pytest
from glow import nn
from glow.errors import GlowError
from glow.lowering.target import find_target, host_target
from glow.tests.unit.training.digits_example import digits_example
from glow.training import SGD, Adam, Batches, linear
from glow.training.step import Kind

needs_bf16 = pytest.mark.skipif(
    not find_target().describe().has_bf16_dot, reason="this machine has no AVX512-BF16"
)


def _rounded(a: np.ndarray) -> np.ndarray:
    """Returns the numbers of bf16 that are next to those of an array, in f64."""
    return a.astype(ml_dtypes.bfloat16).astype(np.float64)


class _Hidden(nn.Module):
    def __init__(self):
        self.first, self.last = nn.Linear(96, 80), nn.Linear(80, 64)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        return self.last(nn.relu(self.first(x)))


@needs_bf16
def test_gradients_are_those_of_rounded_products(rng: np.random.Generator):
    """
    The oracle rounds the factors of each product, and computes all else in f64. A sum in f32 may
    round to the next bf16, so gradients differ by a few units of bf16 of a term in 64.
    """
    network = _Hidden()
    network.initialize(1)
    x, y = (rng.standard_normal((64, n)).astype(np.float32) for n in (96, 64))
    trainer = glow.Trainer(network, nn.mean_squared_error, SGD(0.1), precision="bf16")
    found, p = trainer.gradients(([x], [y])), trainer.parameters
    hidden = _rounded(x) @ _rounded(p["first.weight"]).T + p["first.bias"]
    active = np.maximum(hidden, 0)
    output = _rounded(active) @ _rounded(p["last.weight"]).T + p["last.bias"]
    d = 2 * (output - y) / y.size
    back = _rounded(d) @ _rounded(p["last.weight"]) * (hidden > 0)
    expected = {
        "last.weight": _rounded(d).T @ _rounded(active),
        "last.bias": d.sum(0),
        "first.weight": _rounded(back).T @ _rounded(x),
        "first.bias": back.sum(0),
    }
    for name, gradient in expected.items():
        most = np.abs(gradient).max()
        np.testing.assert_allclose(found[name], gradient, rtol=0, atol=1e-3 * most, err_msg=name)


class _Images(nn.Module):
    def __init__(self):
        self.conv0, self.conv1 = nn.Conv2d(3, 48, 3, padding=1), nn.Conv2d(48, 48, 3, padding=1)
        self.norm, self.fc = nn.BatchNorm(48), nn.Linear(48 * 4, 10)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        """Returns scores; no choice among numbers that are nearly equal makes gradients jump."""
        x = nn.avg_pool(self.norm(nn.tanh(self.conv0(x))), 2)
        return self.fc(nn.flatten(nn.avg_pool(nn.gelu(self.conv1(x)), 2)))


class _Sequences(nn.Module):
    def __init__(self):
        self.lstm, self.qkv = nn.LSTM(24, 64), nn.Linear(64, 3 * 64)
        self.fc = nn.Linear(64, 10)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        rows = self.qkv(self.lstm(x))
        q, k, v = (rows.slice([0, 0, i * 64], [6, 40, 64]) for i in range(3))
        scores = nn.softmax(q @ k.transpose(0, 2, 1) * 0.125)
        return self.fc((scores @ v).mean((1,)))


NETWORKS = [(_Images, (24, 3, 8, 8)), (_Sequences, (6, 40, 24))]


@needs_bf16
@pytest.mark.parametrize(("network", "shape"), NETWORKS, ids=["images", "sequences"])
def test_gradients_are_near_those_of_f32(
    network: Callable[[], nn.Module], shape: tuple[int, ...], rng: np.random.Generator
):
    """Each gradient has another rounding, and differs by at most 2 % of its norm."""
    x = rng.standard_normal(shape).astype(np.float32)
    y = rng.integers(0, 10, shape[0])
    found: list[dict[str, np.ndarray]] = []
    for precision in ("f32", "bf16"):
        module = network()
        module.initialize(2)
        trainer = glow.Trainer(module, nn.cross_entropy, SGD(0.1), precision=precision)
        found.append(trainer.gradients(([x], [y])))
    exact, rounded = found
    different = 0
    for name, gradient in exact.items():
        error = np.linalg.norm(rounded[name] - gradient) / np.linalg.norm(gradient)
        assert error < 2e-2, name
        different += error > 1e-4
    assert different > len(exact) // 2


@needs_bf16
def test_a_step_in_the_interpreter(rng: np.random.Generator):
    """The interpreter computes the rounded graph of a step as machine code does."""
    module = _Images()
    module.initialize(3)
    batch = [rng.standard_normal((24, 3, 8, 8)).astype(np.float32)], [rng.integers(0, 10, 24)]
    trainer = glow.Trainer(module, nn.cross_entropy, SGD(0.1), precision="bf16")
    step = trainer._graphs.step(*batch, Kind())
    model = glow.compile(step, precision="bf16", cache=False)
    stage = model.stages["rounded"]
    assert str(stage).count("glow_cpu.rounded_matmul") >= 2
    feed = {"number.rate": np.array(0.1, np.float32), "target0": batch[1][0], "input": batch[0][0]}
    feed |= {name: array for name, array in trainer._execution.arrays.items()}
    given = [feed[i.name] for i in model.get_inputs()]
    for have, want in zip(model(*given), glow.compile(stage, "interpreter")(*given), strict=True):
        np.testing.assert_allclose(have, want, rtol=0, atol=2e-3 * max(1, np.abs(want).max()))


@needs_bf16
def test_digits_are_learned_as_in_f32():
    """After 12 epochs, of all 1,797 digits, at most half a percent more are wrong."""
    pytest.importorskip("sklearn")
    example = digits_example()
    x, y, held_out, held_out_labels = example.load()
    right: list[float] = []
    for precision in ("f32", "bf16"):
        network = example.Digits()
        network.initialize(1)
        data = Batches(x, y, 64, transform=example.shifted)
        rate = linear(2e-3, 12 * len(data))
        trainer = glow.Trainer(network, nn.cross_entropy, Adam(rate), precision=precision)
        trainer.fit(data, 12, progress=False)
        everything = [(np.concatenate([x, held_out]), np.concatenate([y, held_out_labels]))]
        right.append(trainer.evaluate(everything, {"accuracy": nn.accuracy})["accuracy"])
    assert right[0] > 0.95
    assert right[1] > right[0] - 5e-3


def _noisy_images(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((count, 3, 8, 8)).astype(np.float32), rng.integers(0, 10, count)


@needs_bf16
def test_a_resumed_training_is_equal_to_the_bit(tmp_path: Path, rng: np.random.Generator):
    data = Batches(*_noisy_images(rng, 96), 24)
    whole, first, second = (
        glow.Trainer(_Images(), nn.cross_entropy, Adam(1e-2), seed=5, precision="bf16")
        for _ in range(3)
    )
    whole.fit(data, 2)
    first.fit(data, 1, checkpoint=tmp_path / "c")
    second.restore(tmp_path / "c")
    second.fit(data, 2)
    for name, array in whole.parameters.items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(second.parameters[name], array, err_msg=name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "f16"}, "expected precision to be f32 or bf16, found 'f16'"),
        (
            {"precision": "bf16", "backend": "interpreter"},
            "precision is an option of the backend cpu; the backend is interpreter",
        ),
        pytest.param(
            {"precision": "bf16", "target_cpu": "x86-64-v3"},
            "precision bf16 needs a CPU with AVX512-BF16, which 'x86-64-v3' lacks; leave out",
            marks=pytest.mark.skipif(
                host_target().architecture != "x86_64", reason="the name is one of x86-64"
            ),
        ),
    ],
)
def test_precisions_that_there_are_not(options: dict[str, Any], message: str):
    """The error comes from the constructor, before data are read."""
    with pytest.raises(GlowError, match=re.escape(message)):
        glow.Trainer(_Hidden(), nn.mean_squared_error, SGD(0.1), **options)
