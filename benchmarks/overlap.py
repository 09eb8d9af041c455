"""
Time for each step of training on several processes, with and without sums of gradients that overlap
with the backward pass.

    python -m glow.benchmarks.overlap [NETWORK ...] [--processes N] [--seconds S]

Each process has one thread and a batch of its own. The two kinds of steps take turns, and the table
has the fastest of several rounds.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

import glow
import numpy as np
from glow import nn
from glow.training import SGD, Processes
from glow.training.execution import Execution

from .training import MOMENTUM, NETWORKS, RATE

ROUNDS = 6
CHOSEN: Sequence[str] = ("resnet18-32-8", "encoder-128-8")


def _without_overlap() -> None:
    """Makes sums begin when a program has ended."""
    run = Execution.run

    def late(self: Execution, model, feed, complete=None):
        outputs = run(self, model, feed)
        if complete is not None:
            for name, array in outputs.items():
                complete(name, array)
        return outputs

    Execution.run = late


def _measure(name: str, seconds: float, processes: Processes) -> list[float]:
    """Returns the seconds of the fastest steps with overlap, and without."""
    chosen, rng = NETWORKS[name], np.random.default_rng(0)
    network, x = chosen.build(), chosen.inputs(rng)
    network.initialize(0)
    x = np.concatenate([x] * processes.count)
    batch = x, rng.integers(0, chosen.classes, len(x))
    trainer = glow.Trainer(network, nn.cross_entropy, SGD(RATE, MOMENTUM), processes=processes)
    trainer.train_step([batch])
    best, overlapping = [float("inf")] * 2, Execution.run
    for turn in range(2 * ROUNDS):
        Execution.run = overlapping
        if turn % 2:
            _without_overlap()
        start = time.perf_counter()
        while processes.total([time.perf_counter() - start])[0] < seconds * processes.count:
            begin = time.perf_counter()
            trainer.train_step([batch])
            best[turn % 2] = min(best[turn % 2], time.perf_counter() - begin)
    Execution.run = overlapping
    return best


def _work(names: list[str], seconds: float) -> None:
    """Runs in each process; the first one prints the table."""
    processes = Processes()
    for name in names:
        together, apart = _measure(name, seconds, processes)
        if processes.rank == 0:
            print(
                f"{name}: {together * 1e3:.1f} ms with overlap, {apart * 1e3:.1f} ms without, "
                f"ratio {together / apart:.3f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description="Time steps of training on several processes.")
    parser.add_argument("networks", nargs="*", help=f"some of {', '.join(NETWORKS)}")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round")
    args = parser.parse_args()
    chosen: list[str] = args.networks or [*CHOSEN]
    if unknown := [name for name in chosen if name not in NETWORKS]:
        parser.error(f"no network is called {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    if "RANK" in os.environ:
        _work(chosen, args.seconds)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "glow.benchmarks.overlap", *sys.argv[1:]]
    # as torchrun does: threads of PyTorch that wait for work would take processors
    where = {
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "WORLD_SIZE": str(args.processes),
    }
    running = [
        subprocess.Popen(command, env={**os.environ, **where, "RANK": str(rank)})
        for rank in range(args.processes)
    ]
    sys.exit(max([process.wait() for process in running]))


if __name__ == "__main__":
    main()
