"""
Trains the network of `train.py` on the processes of a Ray cluster, or on those of this machine:

    pip install "ray[train]" ".[processes]"
    python examples/digits/ray_train.py --workers 2 --storage /shared/folder

Each worker computes the gradients of its part of every batch. If one of them dies, Ray starts all
of them again, and they continue from the last checkpoint, which is in the folder `--storage`. All
machines of the cluster must see that folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from glow.training import Processes
from ray.train import FailureConfig, RunConfig, ScalingConfig  # pyright: ignore
from ray.train.torch import TorchTrainer  # pyright: ignore
from train import EPOCHS, train


def work(config: dict[str, Any]) -> None:
    """Runs in each process. Ray has joined them with `torch.distributed` before."""
    checkpoint = Path(config["storage"]) / "digits.checkpoint"
    trainer, accuracy = train(config["epochs"], Processes(), checkpoint)
    if trainer.is_first:
        print(f"held-out accuracy {accuracy:.4f} after step {trainer.step}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a network on handwritten digits with Ray.")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--storage", type=Path, default=Path("digits-ray"))
    args = parser.parse_args()
    storage = args.storage.resolve()
    storage.mkdir(parents=True, exist_ok=True)
    TorchTrainer(
        work,
        train_loop_config={"epochs": args.epochs, "storage": str(storage)},
        scaling_config=ScalingConfig(num_workers=args.workers),
        run_config=RunConfig(
            storage_path=str(storage), failure_config=FailureConfig(max_failures=3)
        ),
    ).fit()


if __name__ == "__main__":
    main()
