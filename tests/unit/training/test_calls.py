"""Functions and numbers that a trainer is given and cannot use are errors that say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import glow
import numpy as np
import pytest
from glow import nn
from glow.errors import GlowError
from glow.training import SGD, Adagrad, Adam, AdamW, RMSprop, cosine, linear
from glow.training.optimizers import Schedule
from onnx import numpy_helper, parser


def trainer(rng: np.random.Generator, loss=nn.mean_squared_error, rate: float | Schedule = 0.1):
    """Returns a trainer of a product of matrices [5, 3] and [3, 2]."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[5,3] x) => (float[5,2] y) { y = MatMul(x, w) }""")
    w = rng.standard_normal((3, 2)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    return glow.Trainer(model, loss, SGD(rate), backend="interpreter")


def batch(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x, target = (rng.standard_normal((5, n)).astype(np.float32) for n in (3, 2))
    return x, target


def test_a_loss_of_another_number_of_tensors(rng: np.random.Generator) -> None:
    x, target = batch(rng)
    wrong = trainer(rng, loss=lambda output: output.sum())
    with pytest.raises(GlowError, match="a loss that is a function of 1 output and 1 target: too"):
        wrong.train_step([(x, target)])
    right = trainer(rng)
    with pytest.raises(GlowError, match="a loss that is a function of 1 output and 2 targets: too"):
        right.train_step([(x, (target, target))])
    with pytest.raises(GlowError, match="a metric that is a function of 1 output and 1 target: mi"):
        right.evaluate([(x, target)], {"far": lambda output, target, third: output.sum()})


def test_a_mistake_within_a_loss_is_seen(rng: np.random.Generator) -> None:
    """A TypeError that the function itself raises is none of its arguments."""

    def loss(output: nn.Tensor, target: nn.Tensor) -> nn.Tensor:
        return len(3)  # pyright: ignore

    with pytest.raises(TypeError, match="has no len"):
        trainer(rng, loss).train_step([batch(rng)])


def test_another_number_of_inputs(rng: np.random.Generator) -> None:
    x, target = batch(rng)
    imported = trainer(rng)
    with pytest.raises(GlowError, match=r"expected 1 input \(x\), found 0"):
        imported.graph({})
    with pytest.raises(GlowError, match=r"expected 1 input \(x\), found 2"):
        imported.train_step([((x, x), target)])
    built = glow.Trainer(nn.Linear(3, 2), nn.mean_squared_error, SGD(0.1), backend="interpreter")
    with pytest.raises(GlowError, match="as many tensors as a batch has inputs, 2: too many"):
        built.train_step([((x, x), target)])


@pytest.mark.parametrize("found", [float("nan"), float("inf"), "0.1", None])
def test_a_rate_that_is_no_finite_number(found: object, rng: np.random.Generator) -> None:
    """The state is that before the step."""
    one = trainer(rng, rate=lambda step: 0.1 if step == 1 else found)  # pyright: ignore
    one.train_step([batch(rng)])
    before = one.parameters["w"]
    with pytest.raises(GlowError, match=f"finite number as the rate of step 2, found '?{found}"):
        one.train_step([batch(rng)])
    np.testing.assert_array_equal(one.parameters["w"], before)


def test_a_file_that_cannot_be_written(tmp_path: Path, rng: np.random.Generator) -> None:
    with pytest.raises(GlowError, match=r"cannot write the model .*: No such file or directory"):
        trainer(rng).export(tmp_path / "none" / "model.onnx", {"x": (5, 3)})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adam(0.1, betas=(0.9, 1.0)), "betas: .* at least 0 and below 1, found 1.0"),
        (lambda: AdamW(0.1, betas=(-0.1, 0.9)), "betas: .* at least 0 and below 1, found -0.1"),
        (lambda: Adam(0.1, betas=(0.9,)), "expected two betas"),  # pyright: ignore
        (lambda: Adam(0.1, epsilon=float("nan")), "epsilon: .* 0 and finite, found nan"),
        (lambda: SGD(0.1, momentum=-0.5), "momentum: .* 0 and finite, found -0.5"),
        (lambda: SGD(0.1, weight_decay="1"), "weight_decay: .* finite, found '1'"),  # pyright: ignore
        (lambda: SGD(0.1, clip_norm="1"), "positive norm .*, found '1'"),  # pyright: ignore
        (lambda: Adagrad(0.1, epsilon=-1.0), "epsilon: .* 0 and finite, found -1.0"),
        (lambda: RMSprop(0.1, decay=1.5), "decay: .* at least 0 and below 1, found 1.5"),
        (lambda: linear(0.1, 5, warmup=6), "found 5 and a warmup of 6"),
        (lambda: cosine(0.1, 5, warmup=6), "found 5 and a warmup of 6"),
        (lambda: cosine(0.1, -1), "found -1 and a warmup of 0"),
        (lambda: linear("0.1", 5), "expected a learning rate that is"),  # pyright: ignore
    ],
)
def test_numbers_that_no_optimizer_can_use(make: Callable[[], object], message: str) -> None:
    with pytest.raises(GlowError, match=message):
        make()


def test_a_rate_that_is_a_number_of_numpy() -> None:
    assert SGD(np.float32(0.5)).numbers(3) == {"rate": 0.5}  # pyright: ignore


def test_a_network_that_returns_no_tensor(rng: np.random.Generator) -> None:
    layer = nn.Linear(3, 2)

    class Twice(nn.Module):
        def __init__(self):
            self.layer = layer

        def __call__(self, x: nn.Tensor) -> nn.Tensor:
            return self.layer(x), self.layer(x)  # pyright: ignore

    with pytest.raises(GlowError, match="a network that returns one tensor, found tuple"):
        nn.build(Twice(), {"x": (5, 3)})
    one = glow.Trainer(Twice(), nn.mean_squared_error, SGD(0.1), backend="interpreter")
    with pytest.raises(GlowError, match="a network that returns one tensor, found tuple"):
        one.train_step([batch(rng)])
    with pytest.raises(GlowError, match="a list of patterns of names, found the string 'layer"):
        glow.Trainer(layer, nn.mean_squared_error, SGD(0.1), freeze="layer.*")


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Conv2d(4, 4, 3, group=0),
        lambda: nn.Conv2d(4, 4, (3, 3)),  # pyright: ignore
        lambda: nn.Linear(-1, 2),
        lambda: nn.Linear(2.5, 2),  # pyright: ignore
        lambda: nn.LSTM(3, 0),
        lambda: nn.GRU(3, 2, 0),
        lambda: nn.MultiHeadAttention(4, 0),
        lambda: nn.build(nn.MultiHeadAttention(4, 2), {"x": (3, 4)}),
    ],
)
def test_sizes_of_no_module(make: Callable[[], object]) -> None:
    with pytest.raises(GlowError, match=r"expected .*, found"):
        make()
