"""
Arrays in memory that other packages export by DLPack (dmlc/dlpack, `dlpack.h`).

numpy imports all types but bfloat16, for which it has no dtype of its own. Its elements are
imported as u16 and seen as those of `ml_dtypes`.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

_UNSIGNED, _BFLOAT = 1, 4
"""Codes of types, `DLDataTypeCode`."""
_TYPE_AT = {b"dltensor_versioned": 52, b"dltensor": 20}
"""
Names of capsules, and where the code of the elements' type is in what they hold, before its bits,
on systems of 64 bits (`DLManagedTensorVersioned`, `DLManagedTensor`).
"""
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


class _AsWords:
    """Elements of bfloat16 as u16."""

    def __init__(self, value: Any):
        self._value = value

    def __dlpack__(self, **options: object) -> object:
        """Returns the capsule of the value, which is its caller's own, for elements of u16."""
        capsule = self._value.__dlpack__(**options)
        kind = element_type(capsule)
        if tuple(kind) != (_BFLOAT, 16):
            raise BufferError("numpy has no such type of elements")
        kind[0] = _UNSIGNED
        return capsule

    def __dlpack_device__(self) -> object:
        return self._value.__dlpack_device__()


def element_type(capsule: object) -> ctypes.Array[ctypes.c_uint8]:
    """Returns the code and the bits of the type of elements, in the memory of a capsule."""
    name = next(name for name in _TYPE_AT if _is_valid(capsule, name))
    return (ctypes.c_uint8 * 2).from_address(_pointer_of(capsule, name) + _TYPE_AT[name])


def from_dlpack(value: Any) -> np.ndarray:
    """Returns exported memory as an array, without a copy. Raises what numpy raises."""
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError) as error:
        try:
            words = np.from_dlpack(_AsWords(value))  # pyright: ignore[reportArgumentType]
        except Exception:
            raise error from None
    # few programs have such elements
    import ml_dtypes

    return words.view(ml_dtypes.bfloat16)
