"""
Trains the network of `train.py` for integers of 8 and of 4 bits, and prints its accuracy on
held-out digits beside that of the float network and of quantization after training.

    python examples/digits/quantized.py [--epochs N] [--tuning-epochs N]

The float network is trained first. Quantization-aware training continues from its parameters, with
a lower rate. Quantization after training takes the ranges of all training images; of its methods of
calibration, the one that is best on the held-out images counts. All integer networks have one scale
for each output channel of weights, and are compiled.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from itertools import product
from pathlib import Path

import glow
import numpy as np
from glow import nn, quantization
from glow.training import Adam, Batches, QuantizationAware, linear
from train import BATCH, EPOCHS, Digits, load, shifted

TUNING_EPOCHS = 10
METHODS = ("min-max", "mse")
"""The methods of calibration, of activations and of weights."""


def trained(
    network: Digits, epochs: int, rate: float, aware: QuantizationAware | None = None
) -> glow.Trainer:
    """Returns the trainer of a network after some epochs."""
    x, labels, _, _ = load()
    data = Batches(x, labels, BATCH, transform=shifted)
    optimizer = Adam(linear(rate, epochs * len(data)))
    trainer = glow.Trainer(network, nn.cross_entropy, optimizer, quantization=aware)
    trainer.fit(data, epochs)
    return trainer


def accuracy(trainer: glow.Trainer, quantize: quantization.Quantization | None = None) -> float:
    """Returns the share of held-out images that the compiled network recognises."""
    _, _, images, labels = load()
    model = glow.compile(trainer.graph({"image": images.shape}), quantize=quantize)
    return float(np.mean(model(images)[0].argmax(1) == labels))


def quantized_afterwards(trainer: glow.Trainer, bits: int) -> float:
    """Returns the best accuracy of quantization after training."""
    x, _, images, _ = load()
    batches = [
        {"image": x[i : i + len(images)]} for i in range(0, len(x) - len(images), len(images))
    ]
    found: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        quantization.profile(trainer.graph({"image": images.shape}), batches).save(path)
        for activations, weights in product(METHODS, METHODS):
            choices = quantization.Quantization(
                profile=str(path),
                activations=f"i{bits}",
                weights=f"i{bits}",
                calibration=activations,
                weight_calibration=weights,
            )
            found.append(accuracy(trainer, choices))
    return max(found)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a network on digits for integers.")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--tuning-epochs", type=int, default=TUNING_EPOCHS)
    args = parser.parse_args()
    network = Digits()
    network.initialize(1)
    float_trainer = trained(network, args.epochs, 2e-3)
    print(f"float: {accuracy(float_trainer):.2%}", flush=True)
    for bits in (8, 4):
        aware = QuantizationAware(weights=bits, activations=bits)
        tuned = trained(copy.deepcopy(network), args.tuning_epochs, 5e-4, aware)
        print(
            f"{bits} bits: {quantized_afterwards(float_trainer, bits):.2%} after training, "
            f"{accuracy(tuned):.2%} after quantization-aware training",
            flush=True,
        )


if __name__ == "__main__":
    main()
