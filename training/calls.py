"""Calls of functions that the user of a trainer gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import GlowError
from ..nn.tensor import Tensor

R = TypeVar("R")


def called(function: Callable[..., R], tensors: Sequence[Tensor], what: str) -> R:
    """
    Returns what a function makes of tensors; `what` says which function of which tensors it is.
    Raises GlowError if it is no function, or does not take so many.
    """
    if not callable(function):
        raise GlowError(f"expected {what}, found {function!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # functions in C may have none
        return function(*tensors)
    try:
        signature.bind(*tensors)
    except TypeError as error:
        raise GlowError(f"expected {what}: {error}") from None
    return function(*tensors)
