"""
Trains the small convolutional network of the demo, and writes it as an ONNX model.

    python examples/digits/train.py [--output FILE] [--images DIR]

Or on two processes, which needs PyTorch (the extra `processes`):

    torchrun --nproc-per-node 2 examples/digits/train.py --processes

Data: the 1,797 handwritten digits, 8x8 pixels with values 0 to 16, that scikit-learn ships (a copy
of the test set of the UCI "Optical Recognition of Handwritten Digits" data, CC BY 4.0). A fifth of
them is held out. Network: conv 3x3 (16) - ReLU - conv 3x3 (32) - ReLU - max pool 2x2 - conv 3x3
(32) - ReLU - max pool 2x2 - fully connected - softmax. Training: Adam on cross-entropy, with images
shifted by up to one pixel. The seed is fixed: the same machine writes the same file.

The input `image` of the model is 1x1x8x8 f32 with values 0 to 1. With `--images`, a dozen PNG files
of held-out digits named `<index>_is_<digit>.png` are written as well.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import glow
import numpy as np
from glow import nn
from glow.training import Adam, Batches, Processes, Report, linear
from PIL import Image
from sklearn.datasets import load_digits

EPOCHS = 40
BATCH = 64


class Digits(nn.Module):
    """Scores of ten digits for images [N, 1, 8, 8]."""

    def __init__(self):
        self.conv0 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv1 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 2 * 2, 10)

    def __call__(self, image: nn.Tensor) -> nn.Tensor:
        x = nn.relu(self.conv0(image))
        x = nn.max_pool(nn.relu(self.conv1(x)), 2)
        x = nn.max_pool(nn.relu(self.conv2(x)), 2)
        return self.fc(nn.flatten(x))


def shifted(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Returns the images, each moved by up to one pixel."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moved = [
        image[:, i : i + 8, j : j + 8]
        for image, (i, j) in zip(padded, rng.integers(0, 3, (len(x), 2)), strict=True)
    ]
    return np.stack(moved)


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """
    Returns training images and labels, held-out images and labels; images are Nx1x8x8 f32, 0 to 1.
    """
    pixels, digits = load_digits(return_X_y=True)
    x = (pixels.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(x))
    held_out, rest = order[: len(x) // 5], order[len(x) // 5 :]
    return x[rest], digits[rest], x[held_out], digits[held_out]


def write_images(x: np.ndarray, labels: np.ndarray, folder: Path) -> None:
    """
    Writes a dozen held-out images, 8-bit grey: the first of each digit, and the first two left.
    """
    folder.mkdir(exist_ok=True)
    chosen = [int(np.argmax(labels == digit)) for digit in range(10)]
    left = [i for i in range(len(labels)) if i not in chosen]
    for i in [*chosen, *left[:2]]:
        pixels = np.round(x[i, 0] * 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:03}_is_{labels[i]}.png")


def print_report(trainer: glow.Trainer, report: Report) -> None:
    if report.epoch % 10 == 0 and trainer.is_first:
        accuracy = report.validation["accuracy"]
        print(f"epoch {report.epoch}: loss {report.loss:.4f}, held-out accuracy {accuracy:.4f}")


def train(
    epochs: int = EPOCHS, processes: Processes | None = None, checkpoint: Path | None = None
) -> tuple[glow.Trainer, float]:
    """
    Returns the trainer after its training, which continues from a checkpoint if there is one, and
    the accuracy on the held-out images.
    """
    x, labels, held_out, held_out_labels = load()
    network = Digits()
    network.initialize(1)
    data = Batches(x, labels, BATCH, transform=shifted)
    rate = linear(2e-3, epochs * len(data))
    trainer = glow.Trainer(network, nn.cross_entropy, Adam(rate), processes=processes)
    if checkpoint is not None and checkpoint.exists():
        trainer.restore(checkpoint)
    validation, metrics = [(held_out, held_out_labels)], {"accuracy": nn.accuracy}
    trainer.fit(
        *(data, epochs),
        validation=validation,
        metrics=metrics,
        callbacks=[print_report],
        checkpoint=checkpoint,
    )
    return trainer, trainer.evaluate(validation, metrics)["accuracy"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a network on handwritten digits.")
    parser.add_argument("--output", type=Path, default=Path("digits-trained.onnx"))
    parser.add_argument("--images", type=Path, help="where to write some held-out images")
    parser.add_argument("--processes", action="store_true", help="train with others of torchrun")
    args = parser.parse_args()
    trainer, found = train(processes=Processes() if args.processes else None)
    if found < 0.98:
        raise SystemExit("the accuracy is below 98 %; nothing was written")
    if not trainer.is_first:
        return
    trainer.export(args.output, {"image": (1, 1, 8, 8)}, then=nn.softmax)
    if args.images is not None:
        _, _, held_out, labels = load()
        write_images(held_out, labels, args.images)


if __name__ == "__main__":
    main()
