"""Checks of the shapes, dtypes, axes and numbers that Python code gives a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ..errors import GlowError
from ..glow_dialects.elements import is_integer, stored_values
from ..semantics.arrays import element_type

Number: TypeAlias = "int | float"


@dataclass(frozen=True)
class Spec:
    """The shape and dtype of an input."""

    shape: tuple[int, ...]
    dtype: np.dtype | type | str = "float32"


Described: TypeAlias = "Spec | Sequence[int] | np.ndarray"
"""A description of an input: a specification, the shape of f32 numbers, or an array like it."""


def spec_of(name: str, described: Described) -> Spec:
    """Returns the specification of an input. Raises GlowError for what is no description."""
    match described:
        case Spec():
            spec = described
        case np.ndarray():
            return Spec(described.shape, described.dtype)
        case _:
            spec = Spec(described)  # pyright: ignore[reportArgumentType]
    return Spec(sizes_of(spec.shape, f"input {name!r}"), spec.dtype)


def sizes_of(shape: Any, what: str) -> tuple[int, ...]:
    """Returns the sizes of a shape. Raises GlowError if they are no integers of at least 0."""
    if not isinstance(shape, list | tuple) or not all(
        isinstance(size, int | np.integer) and size >= 0 for size in shape
    ):
        raise GlowError(f"{what}: expected a shape of integers of at least 0, found {shape!r}")
    return tuple(map(int, shape))


def element_named(dtype: np.dtype | type | str) -> Attribute:
    """Returns the element type of a dtype. Raises GlowError if there is none."""
    try:
        return element_type(np.dtype(dtype))
    except (TypeError, VerifyException) as problem:
        raise GlowError(str(problem)) from None


def axis_of(axis: int, rank: int) -> int:
    """
    Returns a dimension by its number, which may count from the end. Raises GlowError for one that a
    tensor of this rank lacks.
    """
    if not isinstance(axis, int | np.integer) or not -rank <= axis < rank:
        raise GlowError(f"expected an axis of -{rank} to {rank - 1}, found {axis!r}")
    return int(axis) % rank


def seed_of(seed: int) -> int:
    """Returns a seed of random numbers. Raises GlowError if it is none."""
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise GlowError(f"expected a seed that is an integer of 0 to 2**64 - 1, found {seed!r}")
    return int(seed)


def number_of(number: Any, element: Attribute) -> Number:
    """
    Returns a number as one of Python that a tensor of this element type can have. Raises GlowError
    for others, and for what is no number.
    """
    if not isinstance(number, Real | np.bool_):
        raise GlowError(
            f"expected a tensor or a number, found {type(number).__name__}; `graph.array` makes a "
            "tensor of an array"
        )
    value: Number = number.item() if isinstance(number, np.generic) else number  # pyright: ignore
    if is_integer(element):
        low, high = stored_values(element)
        if not low <= value <= high or value != int(value):
            raise GlowError(
                f"expected an integer of {low} to {high} beside a tensor of {element}, found "
                f"{value}; `cast` converts the tensor"
            )
        return int(value)
    return value


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape to which others are broadcast. Raises GlowError if there is none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        found = " and ".join(str(list(s)) for s in shapes)
        raise GlowError(f"expected shapes that broadcast to each other, found {found}") from None
