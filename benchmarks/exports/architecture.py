"""Descriptions of architectures for their export: a network, its inputs, and sizes to try."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

InputKind = Literal["normal", "ids", "mask", "lengths"]
Sizes = Mapping[str, int]
BATCHES: Sequence[Sizes] = [{"batch": b} for b in (2, 1, 3, 5, 4)]
"""Five batches to try; the first is that of the example that a network is exported with."""
LENGTHS: Sequence[Sizes] = [
    {"batch": b, "sequence": s} for b, s in ((2, 7), (1, 12), (3, 5), (1, 20), (4, 9))
]
"""Five batches of sequences to try."""


@dataclass(frozen=True)
class Input:
    """An input of a network: its name, its shape, in which strings are symbols, and its values."""

    name: str
    shape: Sequence[int | str]
    kind: InputKind = "normal"
    below: int = 0
    """The bound of ids."""
    longest: str = ""
    """The symbol that bounds lengths."""

    def dims(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(d if isinstance(d, int) else sizes[d] for d in self.shape)

    def sample(self, sizes: Sizes, rng: np.random.Generator) -> np.ndarray:
        """Returns random values: f32, or i64 for ids, masks and lengths."""
        shape = self.dims(sizes)
        match self.kind:
            case "normal":
                return rng.standard_normal(shape).astype(np.float32)
            case "ids":
                return rng.integers(0, self.below, shape)
            case "lengths":
                found = rng.integers(1, sizes[self.longest] + 1, shape)
                found[0] = sizes[self.longest]
                return np.sort(found)[::-1].copy()
            case "mask":
                kept = rng.integers((shape[-1] + 1) // 2, shape[-1] + 1, shape[:-1])
                return (np.arange(shape[-1]) < kept[..., None]).astype(np.int64)

    @property
    def symbols(self) -> dict[int, str]:
        """The symbolic dimensions."""
        return {i: d for i, d in enumerate(self.shape) if isinstance(d, str)}


@dataclass(frozen=True)
class Scale:
    """An architecture in one size."""

    build: Callable[[], Any]
    """Makes the `torch.nn.Module`, which takes the inputs in order and returns tensors."""
    inputs: Sequence[Input]
    sizes: Sequence[Sizes]
    """Sizes of the symbols; models with fixed shapes have the first ones."""

    def feeds(self, seed: int) -> list[dict[str, np.ndarray]]:
        """Returns inputs for each of the sizes."""
        rng = np.random.default_rng(seed)
        return [{i.name: i.sample(sizes, rng) for i in self.inputs} for sizes in self.sizes]


@dataclass(frozen=True)
class Architecture:
    """An architecture with few and narrow layers, and in the size that people use."""

    small: Scale
    full: Scale | None = None
