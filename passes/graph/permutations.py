"""Arithmetic of permutations, as `glow.transpose` uses them: result dimension i is input p[i]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Permutation: TypeAlias = tuple[int, ...]


def permuted(values: Sequence[T], p: Permutation) -> list[T]:
    """Returns the values of the input's dimensions in the order of the result's."""
    return [values[i] for i in p]


def inverse(p: Permutation) -> Permutation:
    """Returns the permutation that undoes `p`."""
    result = [0] * len(p)
    for i, source in enumerate(p):
        result[source] = i
    return tuple(result)


def compose(first: Permutation, second: Permutation) -> Permutation:
    """Returns one permutation for a transpose by `first` and then one by `second`."""
    return tuple(first[i] for i in second)


def is_identity(p: Permutation) -> bool:
    return p == tuple(range(len(p)))


def moves_only_ones(p: Permutation, shape: Sequence[int]) -> bool:
    """
    Returns whether a transpose of `shape` keeps the order of all dimensions that are not of size 1.
    """
    order = [i for i in p if shape[i] != 1]
    return order == sorted(order)
