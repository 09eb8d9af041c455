"""
Trains a small decoder of characters, and writes it as an ONNX model with caches.

    python examples/decoder/train.py [--output FILE] [--steps N] [--report FILE]

Text: the topics of the help of Python, which each Python has in `pydoc_data.topics` (465,000
characters; PSF License Agreement). The last twentieth is held out. Training: AdamW on the
cross-entropy of the next character, in pieces of the text of 256 characters, with a rate that falls
linearly. The seed is fixed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from pydoc_data.topics import topics

import glow
import numpy as np
import onnx
from glow import nn
from glow.training import AdamW, Report, linear
from network import MODEL, POSITIONS, VOCABULARY, Decoder, onnx_model, tokens_of

LENGTH, BATCH = POSITIONS, 8
STEPS = 2400
STEPS_OF_EPOCH = 100
RATE = 2e-3


class Pieces:
    """Batches of pieces of a text that begin at random, and the characters that follow."""

    def __init__(self, tokens: np.ndarray, steps: int):
        self.tokens, self.steps = tokens, steps

    def epoch(self, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
        rng = np.random.default_rng([1, number])
        return [self._batch(rng) for _ in range(self.steps)]

    def _batch(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        starts = rng.integers(0, len(self.tokens) - LENGTH, BATCH)
        rows = self.tokens[starts[:, None] + np.arange(LENGTH + 1)]
        return rows[:, :-1], rows[:, 1:].reshape(-1)


def next_character_loss(scores: nn.Tensor, targets: nn.Tensor) -> nn.Tensor:
    """Returns the mean cross-entropy of the characters [N * positions], in nats."""
    return nn.cross_entropy(scores.reshape(-1, VOCABULARY), targets)


def load() -> tuple[np.ndarray, np.ndarray]:
    """Returns the characters of the text to train on, and of the held-out text."""
    text = "\n".join(topics[name] for name in sorted(topics))
    tokens = np.array(tokens_of(text), np.int64)
    end = len(tokens) * 19 // 20
    return tokens[:end], tokens[end:]


def print_report(trainer: glow.Trainer, report: Report) -> None:
    held_out = report.validation["loss"]
    print(f"step {trainer.step}: loss {report.loss:.3f}, held-out loss {held_out:.3f}", flush=True)


def train(
    steps: int = STEPS, threads: int = 1, report: Path | None = None
) -> tuple[glow.Trainer, float]:
    """Returns the trainer after its training, and the loss on the held-out text, in nats."""
    text, held_out = load()
    network = Decoder()
    network.initialize(1)
    data = Pieces(text, min(steps, STEPS_OF_EPOCH))
    optimizer = AdamW(linear(RATE, steps), weight_decay=0.01)
    trainer = glow.Trainer(network, next_character_loss, optimizer, threads=threads)
    reports = trainer.fit(
        *(data, steps // data.steps),
        validation=Pieces(held_out, 10).epoch(0),
        callbacks=[print_report],
        report=report,
    )
    return trainer, reports[-1].validation["loss"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a decoder of characters.")
    parser.add_argument("--output", type=Path, default=MODEL)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--report", type=Path, help="where to write curves and histograms")
    args = parser.parse_args()
    trainer, _ = train(args.steps, args.threads, args.report)
    onnx.save(onnx_model(trainer.parameters), args.output)


if __name__ == "__main__":
    main()
