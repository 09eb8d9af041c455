"""A step, or a start, that fails is one error, and leaves the state of the training."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import pytest
from glow import nn
from glow.errors import GlowError
from glow.training import SGD, Batches, QuantizationAware
from safetensors.numpy import save_file


def _regression(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x, y = (rng.standard_normal((23, n)).astype(np.float32) for n in (3, 2))
    return x, y


def _trainer(network: nn.Module, **options) -> glow.Trainer:
    backend = "interpreter"
    return glow.Trainer(network, nn.mean_squared_error, SGD(0.1), backend=backend, **options)


@pytest.mark.parametrize(
    "progress",
    [
        "{",
        "[1]",
        "{}",
        '{"step": null, "epoch": 1, "batch": 0, "seed": 0}',
        '{"step": 2, "epoch": -1, "batch": 0, "seed": 0}',
        '{"step": 2.5, "epoch": 1, "batch": 0, "seed": 0}',
    ],
)
def test_a_checkpoint_with_other_numbers(progress: str, tmp_path: Path) -> None:
    trainer, path = _trainer(nn.Linear(3, 2)), tmp_path / "damaged.safetensors"
    save_file(trainer.parameters, path, {"glow.training": progress})
    with pytest.raises(GlowError, match="expected the numbers step, epoch, batch, seed of a trai"):
        trainer.restore(path)
    assert trainer.step == 0


class _Normalized(nn.Module):
    """A normalisation of batches."""

    def __init__(self):
        self.norm, self.fc = nn.BatchNorm(3), nn.Linear(3, 2)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        return self.fc(self.norm(x))


@pytest.mark.parametrize("options", [{}, {"quantization": QuantizationAware()}])
def test_a_step_that_fails_at_its_second_batch_leaves_the_state(options: dict, rng) -> None:
    """Running statistics, and ranges of integers, are those before the step, too."""
    trainer = _trainer(_Normalized(), **options)
    first, (x, y) = _regression(rng), _regression(rng)
    for steps in range(2):
        before = trainer.parameters
        for wrong in ((x * np.float32("nan"), y), (x[:, :2], y)):
            with pytest.raises(GlowError):
                trainer.train_step([first, wrong])
        assert trainer.step == steps
        for name, array in before.items():
            np.testing.assert_array_equal(trainer.parameters[name], array)
        trainer.gradients(first)
        trainer.train_step([first, (x, y)])
    other = _trainer(_Normalized(), **options)
    for _ in range(2):
        other.train_step([first, (x, y)])
    for name, array in other.parameters.items():
        np.testing.assert_array_equal(trainer.parameters[name], array)


def test_a_step_of_no_batch() -> None:
    with pytest.raises(GlowError, match="at least 1 batch for a step, found none"):
        _trainer(nn.Linear(3, 2)).train_step([])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((np.ones((5, 3)), [1, 2, 3, 4, 5]), "one of targets, whose first .*, found list"),
        ((np.float64(1), np.ones(1)), "one of targets, whose first .*, found float64"),
        ((np.ones((5, 3)), np.ones(5), 2.5), "batches of 1 to 5 examples, found 2.5"),
    ],
)
def test_arrays_that_are_no_batches(given: tuple, message: str) -> None:
    with pytest.raises(GlowError, match=message):
        Batches(*given)
