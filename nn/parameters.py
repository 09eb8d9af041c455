"""Parameters of networks, and the numbers with which they begin."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import TypeAlias

import numpy as np

from .arguments import seed_of, sizes_of

Initializer: TypeAlias = Callable[[np.random.Generator, Sequence[int]], np.ndarray]
"""`initializer(generator, shape)` returns the first values of a parameter."""


class Parameter:
    """A tensor that belongs to a network: its weights, or what it keeps from step to step."""

    def __init__(self, shape: Sequence[int], initializer: Initializer, trainable: bool = True):
        """`trainable` is whether an optimizer changes it; a module updates others by itself."""
        self.shape = sizes_of(shape, "parameter")
        self.initializer = initializer
        self.trainable = trainable
        self._array: np.ndarray | None = None

    @property
    def array(self) -> np.ndarray:
        """The value, f32. Reading it before `initialize` draws it with seed 0."""
        if self._array is None:
            self.initialize(0)
        assert self._array is not None
        return self._array

    @array.setter
    def array(self, array: np.ndarray) -> None:
        if array.shape != self.shape:
            raise ValueError(f"expected an array of shape {self.shape}, found {array.shape}")
        self._array = np.ascontiguousarray(array, np.float32)

    def initialize(self, seed: int, name: str = "") -> None:
        """Draws the value from a generator that depends on a seed and a name."""
        generator = np.random.default_rng([seed_of(seed), zlib.crc32(name.encode())])
        self.array = self.initializer(generator, self.shape)


def zeros(generator: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    return np.zeros(shape, np.float32)


def ones(generator: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    return np.ones(shape, np.float32)


def normal(deviation: float) -> Initializer:
    """Returns an initializer of normal numbers with mean 0 and a standard deviation."""

    def draw(generator: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
        return generator.normal(0, deviation, shape).astype(np.float32)

    return draw


def uniform(bound: float) -> Initializer:
    """Returns an initializer of numbers between `-bound` and `bound`."""

    def draw(generator: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
        return generator.uniform(-bound, bound, shape).astype(np.float32)

    return draw


def glorot_uniform(generator: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """
    Returns uniform numbers of variance `2 / (fan in + fan out)` (Glorot and Bengio 2010,
    "Understanding the difficulty of training deep feedforward neural networks", equation 16).
    """
    return uniform(sqrt(6 / max(sum(_fans(shape)), 1)))(generator, shape)


def he_normal(generator: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """
    Returns normal numbers of variance `2 / fan in`, for layers before a rectifier (He et al. 2015,
    "Delving Deep into Rectifiers", equation 10).
    """
    return normal(sqrt(2 / max(_fans(shape)[0], 1)))(generator, shape)


def _fans(shape: Sequence[int]) -> tuple[int, int]:
    """Returns how many inputs an output of weights [O, I, ...] sees, and outputs an input."""
    window = prod(shape[2:])
    return shape[1] * window, shape[0] * window
