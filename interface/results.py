"""Checks of the results of programs: a backend may be code of another package."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import GlowError
from ..wording import counted
from .signature import TensorInfo


def results_of(outputs: Sequence[np.ndarray], infos: Sequence[TensorInfo]) -> list[np.ndarray]:
    """
    Returns the results of a program in the form that other programs accept: contiguous. Raises
    GlowError if they are not of the number, shapes and types that the program declares.
    """
    if not isinstance(outputs, list | tuple):
        raise GlowError(f"expected a list of results, found {type(outputs).__name__}")
    if len(outputs) != len(infos):
        raise GlowError(f"expected {counted(len(infos), 'result')}, found {len(outputs)}")
    return [_checked(array, info) for array, info in zip(outputs, infos, strict=True)]


def _checked(array: np.ndarray | np.generic, info: TensorInfo) -> np.ndarray:
    if isinstance(array, np.generic):  # as numpy gives a single element
        array = np.asarray(array)
    if not isinstance(array, np.ndarray):
        raise GlowError(f"expected {info} as a result, found {type(array).__name__}")
    if array.dtype != info.memory_dtype or list(array.shape) != info.shape:
        raise GlowError(f"expected {info} as a result, found {array.dtype}{list(array.shape)}")
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)
