"""Whole networks train as PyTorch's do: gradients, running statistics, and curves of the loss."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow import nn
from glow.benchmarks import training_networks
from glow.training import SGD, Adagrad, AdamW, RMSprop

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # threads that wait for work take time from other tests

STEPS = 50
NETWORKS = {
    "cnn": ("DigitsCnn", (), (8, 1, 8, 8), 10),
    "residual": ("ResNet", ((4, 6), 5), (4, 3, 9, 7), 5),
    "pooled": ("ResNet", ((4, 8), 5, True), (2, 3, 21, 19), 5),
    "encoder": ("Encoder", (11, 8, 2, 2, 3), (4, 7), 3),
    "unet": ("UNet", (3, 2), (2, 1, 6, 10), 2),
    "lstm": ("Tagger", ("LSTM", 11, 6, 2, 3, True), (3, 7), 3),
    "gru": ("Tagger", ("GRU", 11, 5, 1, 3), (3, 7), 3),
    "mobile": ("Mobile", (4, 5), (2, 3, 11, 9), 5),
    "dense": ("Dense", (3, 2, 5), (2, 1, 9, 11), 5),
    "decoder": ("Decoder", (7, 5, 8, 2, 1), (3, 5), 7),
}
ON_TOKENS = {"encoder", "lstm", "gru", "decoder"}
AT_PLACES = {"unet", "decoder"}
"""Networks with scores for each place of the input."""


def _pair(name: str, rng: np.random.Generator):
    """Returns a network in both forms with the same parameters, an input and labels."""
    # importing it needs torch
    from glow.benchmarks import torch_networks
    from glow.benchmarks.torch_networks import copy_parameters

    kind, arguments, shape, classes = NETWORKS[name]
    torch.manual_seed(int(rng.integers(1 << 30)))
    ours = getattr(training_networks, kind)(*arguments)
    theirs = getattr(torch_networks, kind)(*arguments)
    copy_parameters(ours, theirs)
    if name in ON_TOKENS:
        x = rng.integers(0, 7, shape)
    else:
        x = rng.standard_normal(shape).astype(np.float32)
    rest = shape[1:] if name in ON_TOKENS else shape[2:]
    labels = (shape[0], *rest) if name in AT_PLACES else (shape[0],)
    return ours, theirs, x, rng.integers(0, classes, labels)


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_of_networks(name: str, rng) -> None:
    """
    A step without momentum and with rate 1 subtracts the gradient, which is that of PyTorch in f64:
    on some CPUs, gradients of small filters in f32 are wrong.
    """
    ours, theirs, x, y = _pair(name, rng)
    trainer = glow.Trainer(ours, nn.cross_entropy, SGD(1.0), backend="interpreter")
    before = trainer.parameters
    (loss,) = trainer.train_step([(x, y)])
    given = torch.from_numpy(x if name in ON_TOKENS else x.astype(np.float64))
    expected = torch.nn.functional.cross_entropy(theirs.double()(given), torch.from_numpy(y))
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    gradients = {n: p.grad.numpy() for n, p in theirs.named_parameters()}
    largest = max(np.abs(g).max() for g in gradients.values())
    for parameter, gradient in gradients.items():
        found = before[parameter] - trainer.parameters[parameter]
        np.testing.assert_allclose(found, gradient, rtol=1e-3, atol=1e-4 * largest)
    for buffer, value in theirs.named_buffers():
        if value.dim():
            np.testing.assert_allclose(trainer.parameters[buffer], value, rtol=1e-4, atol=1e-6)


def _curves(name: str, rng: np.random.Generator) -> tuple[list[float], list[float]]:
    """Returns the losses of fifty compiled steps, and those of PyTorch."""
    ours, theirs, x, y = _pair(name, rng)
    trainer = glow.Trainer(ours, nn.cross_entropy, AdamW(2e-3, weight_decay=0.1, clip_norm=1.0))
    optimizer = torch.optim.AdamW(theirs.parameters(), 2e-3, weight_decay=0.1)
    found, expected = [], []
    for _ in range(STEPS):
        found += trainer.train_step([(x, y)])
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(theirs(torch.from_numpy(x)), torch.from_numpy(y))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
        expected.append(loss.item())
    return found, expected


@pytest.mark.parametrize("name", ["cnn", "encoder"])
def test_curves_of_losses(name: str, rng) -> None:
    """
    Compiled steps give the losses of PyTorch. Where two numbers of a maximum are nearly equal,
    either may be the larger one after rounding, and the curves go apart; so a second network may
    show what the first one does not.
    """
    tolerance = 1e-3
    found, expected = _curves(name, rng)
    if not np.allclose(found, expected, rtol=tolerance, atol=tolerance):
        found, expected = _curves(name, rng)
    assert expected[-1] < 0.75 * expected[0]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "rate", "options"),
    [
        ("Adagrad", 0.05, {}),
        ("Adagrad", 0.05, {"weight_decay": 0.1}),
        ("RMSprop", 0.01, {}),
        ("RMSprop", 0.01, {"decay": 0.9, "momentum": 0.8, "weight_decay": 0.1}),
        ("RMSprop", 0.01, {"decay": 0.9, "centered": True, "epsilon": 1e-3}),
    ],
    ids=["adagrad", "adagrad-decay", "rmsprop", "rmsprop-momentum", "rmsprop-centered"],
)
def test_optimizers(name: str, rate: float, options: dict[str, float | bool], rng) -> None:
    """
    Parameters after five steps are those of PyTorch in f64 within 1e-4 of the largest one. The
    gradients are far from 0: where one is about 0, rounding decides its sign, and so the step.
    """
    optimizer = {"Adagrad": Adagrad, "RMSprop": RMSprop}[name](rate, **options)
    theirs_options = {{"decay": "alpha", "epsilon": "eps"}.get(k, k): v for k, v in options.items()}
    layer, network = torch.nn.Linear(3, 5).double(), nn.Linear(3, 5)
    for ours, theirs in ((network.weight, layer.weight), (network.bias, layer.bias)):
        ours.array = theirs.detach().numpy().astype(np.float32)
    theirs = getattr(torch.optim, name)(layer.parameters(), rate, **theirs_options)
    trainer = glow.Trainer(network, lambda y, t: (y * y + y * t).sum(), optimizer)
    for _ in range(5):
        x = rng.uniform(1, 2, (7, 3)).astype(np.float32)
        target = rng.uniform(20, 30, (7, 5)).astype(np.float32)
        trainer.train_step([(x, target)])
        y = layer(torch.from_numpy(x).double())
        theirs.zero_grad()
        (y * y + y * torch.from_numpy(target)).sum().backward()
        theirs.step()
    for parameter, value in layer.named_parameters():
        expected = value.detach().numpy()
        tolerance = 1e-4 * np.abs(expected).max()
        np.testing.assert_allclose(trainer.parameters[parameter], expected, atol=tolerance)
