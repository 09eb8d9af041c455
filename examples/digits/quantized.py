"""
Trains the network of `train.py` for integers of 8 and of 4 bits, and prints its accuracy on
held-out digits beside that of the float network and of quantization after training.

    python examples/digits/quantized.py [--seed N] [--per-tensor] [--epochs N]

The float network is trained first. Quantization-aware training continues from its parameters, with
a lower rate. Quantization after training minimises the squared errors of activations on training
images and of weights; no other of its methods is better here. Weights have one scale for each
output channel, or with `--per-tensor` one for all. All integer networks are compiled.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from pathlib import Path

import glow
import numpy as np
from glow import nn, quantization
from glow.training import Adam, Batches, QuantizationAware, linear
from train import BATCH, EPOCHS, Digits, load, shifted

TUNING_EPOCHS = 30


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


def quantized_afterwards(trainer: glow.Trainer, bits: int, per_channel: bool) -> float:
    """Returns the accuracy of quantization after training, by ranges of training images."""
    x, _, images, _ = load()
    batches = [{"image": part} for part in np.split(x[: 3 * len(images)], 3)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        quantization.profile(trainer.graph({"image": images.shape}), batches).save(path)
        choices = quantization.Quantization(
            profile=str(path),
            activations=f"i{bits}",
            weights=f"i{bits}",
            calibration="mse",
            weight_calibration="mse",
            per_channel=per_channel,
        )
        return accuracy(trainer, choices)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a network on digits for integers.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-tensor", action="store_true")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--tuning-epochs", type=int, default=TUNING_EPOCHS)
    args = parser.parse_args()
    network = Digits()
    network.initialize(args.seed)
    float_trainer = trained(network, args.epochs, 2e-3)
    print(f"float: {accuracy(float_trainer):.2%}", flush=True)
    per_channel = not args.per_tensor
    for bits in (8, 4):
        aware = QuantizationAware(weights=bits, activations=bits, per_channel=per_channel)
        tuned = trained(copy.deepcopy(network), args.tuning_epochs, 1e-3, aware)
        afterwards = quantized_afterwards(float_trainer, bits, per_channel)
        print(
            f"{bits} bits: {afterwards:.2%} by quantization after training, "
            f"{accuracy(tuned):.2%} by quantization-aware training",
            flush=True,
        )


if __name__ == "__main__":
    main()
