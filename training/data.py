"""Batches of examples, in an order that repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from ..errors import InputError
from ..nn.arguments import seed_of

Arrays: TypeAlias = "np.ndarray | Sequence[np.ndarray]"
Batch: TypeAlias = "tuple[Arrays, Arrays]"
"""The inputs of the network, and the targets of the loss: one array each, or several."""
Transform: TypeAlias = Callable[[np.random.Generator, np.ndarray], np.ndarray]


@runtime_checkable
class Epochs(Protocol):
    """A data set whose order differs from epoch to epoch, and is the same in each run."""

    def epoch(self, number: int) -> Iterable[Batch]:
        """Returns the batches of an epoch; the first one is 0."""
        ...


Dataset: TypeAlias = "Epochs | Iterable[Batch]"
"""Data for `Trainer.fit`. An iterable must give its batches each time that it is iterated."""


class Batches:
    """Batches of two arrays, in a new order in each epoch."""

    def __init__(
        self,
        inputs: np.ndarray,
        targets: np.ndarray,
        size: int = 64,
        shuffle: bool = True,
        seed: int = 0,
        transform: Transform | None = None,
        partial: bool = False,
    ):
        """
        - `inputs`, `targets`: arrays whose first dimension counts examples.
        - `size`: the number of examples in a batch.
        - `shuffle`: whether the order follows from the seed and the number of the epoch; else it is
          that of the arrays.
        - `transform`: changes the inputs of each batch, with a generator that follows from the
          seed, the epoch and the batch.
        - `partial`: whether a last batch with fewer examples counts.

        Raises InputError for what is no array, arrays of different lengths, or fewer examples than
        a batch has.
        """
        for array in (inputs, targets):
            if not isinstance(array, np.ndarray) or not array.ndim:
                raise InputError(
                    "expected one array of inputs and one of targets, whose first dimension counts "
                    f"examples, found {type(array).__name__}; an object with a method "
                    "`epoch(number)` can give several arrays"
                )
        if len(inputs) != len(targets):
            raise InputError(
                f"expected as many targets as inputs, found {len(targets)} and {len(inputs)}"
            )
        if (
            not isinstance(size, int | np.integer)
            or size < 1
            or (len(inputs) < size and not partial)
        ):
            raise InputError(f"expected batches of 1 to {len(inputs)} examples, found {size}")
        self._inputs, self._targets = inputs, targets
        self._size, self._shuffle, self._seed = size, shuffle, seed_of(seed)
        self._transform, self._partial = transform, partial

    def __len__(self) -> int:
        """Returns the number of batches."""
        count, rest = divmod(len(self._inputs), self._size)
        return count + (self._partial and rest > 0)

    def epoch(self, number: int) -> Iterator[Batch]:
        order = np.arange(len(self._inputs))
        if self._shuffle:
            order = np.random.default_rng([self._seed, number]).permutation(order)
        for i in range(len(self)):
            chosen = order[i * self._size : (i + 1) * self._size]
            inputs = self._inputs[chosen]
            if self._transform is not None:
                generator = np.random.default_rng([self._seed, number, i])
                inputs = self._transform(generator, inputs)
            yield inputs, self._targets[chosen]


def batches_of(dataset: Dataset, epoch: int) -> Iterable[Batch]:
    """Returns the batches of an epoch. Raises InputError for what is no data set."""
    if isinstance(dataset, Epochs):
        return dataset.epoch(epoch)
    if not isinstance(dataset, Iterable):
        raise InputError(
            f"expected a data set that gives batches, found {type(dataset).__name__}; "
            "glow.training.Batches makes one of two arrays"
        )
    return dataset


def parts_of(batch: Batch) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """
    Returns the inputs and the targets of a batch. Raises InputError if it is no pair of arrays, or
    has no examples.
    """
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        what = f"{len(batch)} parts" if isinstance(batch, tuple | list) else type(batch).__name__
        raise InputError(f"expected batches that are pairs of inputs and targets, found {what}")
    inputs, targets = map(arrays_of, batch)
    if any(array.ndim and not len(array) for array in (*inputs, *targets)):
        raise InputError("expected batches with examples, found one without")
    return inputs, targets


def arrays_of(arrays: Arrays) -> list[np.ndarray]:
    """
    Returns one array or several as a list. Raises InputError for what is no array of numpy.
    """
    found = list(arrays) if isinstance(arrays, Sequence) else [arrays]
    for array in found:
        if not isinstance(array, np.ndarray | np.generic):
            raise InputError(
                f"expected an array of numpy, or several, found {type(array).__name__}; "
                "numpy.asarray makes one"
            )
    return found
