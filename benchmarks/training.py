"""
Time for each step of training, beside PyTorch on the same CPU.

    python -m glow.benchmarks.training [NETWORK ...] [--threads N] [--seconds S] [--precision bf16]

Both begin with the same parameters and see the same batches; their losses must agree. They take
turns, and the table has the fastest of several rounds, because other programs can only slow a round
down. With `--precision bf16`, a step in f32 takes its turn as well, and PyTorch uses its autocast.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import glow
import numpy as np
from glow import nn
from glow.training import SGD
from rich.console import Console
from rich.table import Table

from . import training_networks

ROUNDS = 4
RATE, MOMENTUM = 0.01, 0.9
TOLERANCES = {"f32": 1e-2, "bf16": 3e-2}
"""How far losses may be from those of f32."""


@dataclass(frozen=True)
class Network:
    build: Callable[[], nn.Module]
    build_torch: Callable[[], Any]
    inputs: Callable[[np.random.Generator], np.ndarray]
    classes: int


def _images(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.standard_normal(shape).astype(np.float32)


def _tokens(count: int, *shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.integers(0, count, shape)


def _of(name: str, *arguments: object, **options: object) -> tuple[Callable, Callable]:
    """Returns functions that make both forms of a network."""
    return (
        lambda: getattr(training_networks, name)(*arguments, **options),
        lambda: getattr(_torch_networks(), name)(*arguments, **options),
    )


def _torch_networks() -> Any:
    # the help of the program needs no PyTorch
    from . import torch_networks

    return torch_networks


WIDTHS = (64, 128, 256, 512)
NETWORKS: Mapping[str, Network] = {
    "digits-64": Network(*_of("DigitsCnn"), _images(64, 1, 8, 8), 10),
    "resnet18-32-8": Network(*_of("ResNet", WIDTHS, 10), _images(8, 3, 32, 32), 10),
    "resnet18-224-8": Network(
        *_of("ResNet", WIDTHS, 1000, imagenet=True), _images(8, 3, 224, 224), 1000
    ),
    "encoder-128-8": Network(*_of("Encoder", 1000, 256, 4, 2, 10), _tokens(1000, 8, 128), 10),
    "lstm-64-32": Network(*_of("Tagger", "LSTM", 1000, 256, 2, 10), _tokens(1000, 32, 64), 10),
}


Step = Callable[[], float]


def _steps(name: str, threads: int, precision: str) -> dict[str, Step]:
    """Returns functions that do a step with glow and with PyTorch, by the name of a column."""
    chosen, rng = NETWORKS[name], np.random.default_rng(0)
    torch = _torch_networks().seeded(threads)
    other = chosen.build_torch()
    x = chosen.inputs(rng)
    y = rng.integers(0, chosen.classes, len(x))
    steps: dict[str, Step] = {}
    for kind in dict.fromkeys((precision, "f32")):
        network = chosen.build()
        _torch_networks().copy_parameters(network, other)
        optimizer = SGD(RATE, MOMENTUM)
        options = {"threads": threads, "precision": kind}
        trainer = glow.Trainer(network, nn.cross_entropy, optimizer, **options)
        steps[f"glow {kind}"] = lambda trainer=trainer: trainer.train_step([(x, y)])[0]
    optimizer = torch.optim.SGD(other.parameters(), RATE, MOMENTUM)
    inputs = torch.from_numpy(x), torch.from_numpy(y)
    steps[f"PyTorch {precision}"] = lambda: _torch_networks().step(
        other, optimizer, *inputs, precision=precision
    )
    return steps


def _round(step: Callable[[], float], seconds: float) -> float:
    """Returns the seconds of the fastest step in a round."""
    end, best = time.perf_counter() + seconds, float("inf")
    while (start := time.perf_counter()) < end:
        step()
        best = min(best, time.perf_counter() - start)
    return best


def measure(name: str, threads: int, seconds: float, precision: str) -> dict[str, float]:
    """Returns the seconds for a step, of each way to do one."""
    steps = _steps(name, threads, precision)
    for i in range(3):
        losses = {way: step() for way, step in steps.items()}
        if not np.allclose(list(losses.values()), losses["glow f32"], rtol=TOLERANCES[precision]):
            raise SystemExit(f"{name}: the losses of step {i + 1} are {losses}")
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(ROUNDS):
        best = {way: min(best[way], _round(step, seconds)) for way, step in steps.items()}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description="Time training steps beside PyTorch.")
    names = ", ".join(NETWORKS)
    parser.add_argument("networks", nargs="*", help=f"some of {names}; by default all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each round")
    parser.add_argument("--precision", choices=sorted(TOLERANCES), default="f32")
    args = parser.parse_args()
    chosen = args.networks or list(NETWORKS)
    if unknown := [name for name in chosen if name not in NETWORKS]:
        parser.error(f"no network is called {', '.join(unknown)}; there are {names}")
    table = Table("network")
    for name in chosen:
        best = measure(name, args.threads, args.seconds, args.precision)
        if not table.row_count:
            for column in (*(f"{way} ms" for way in best), *(f"/ {way}" for way in [*best][1:])):
                table.add_column(column, justify="right")
        ours, *others = best.values()
        ratios = (f"{ours / theirs:.2f}" for theirs in others)
        table.add_row(name, *(f"{t * 1e3:.2f}" for t in best.values()), *ratios)
    if table.row_count:
        Console().print(table)


if __name__ == "__main__":
    main()
