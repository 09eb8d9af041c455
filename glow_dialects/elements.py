"""Facts about element types and layouts, shared by every stage."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from math import inf, prod
from typing import TypeAlias

from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    MemRefLayoutAttr,
    MemRefType,
    NoneAttr,
    ReducedPrecisionFloatType,
    StridedLayoutAttr,
    TensorType,
    f32,
    f64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from .dims import symbolic_shape, with_symbols
from .extents import Extent
from .identity_cache import cached_by_identity
from .integers import integer_range, is_unsigned_integer, u32
from .quant import QuantizedType

_DENSE = NoneAttr()
Layout: TypeAlias = "MemRefLayoutAttr | NoneAttr"
FLOAT_TYPES = (Float16Type, BFloat16Type, Float32Type, Float64Type)
"""The floats that operators compute on."""
_BYTE = 8
"""Bits of the smallest element in memory."""
WORD = u32
"""The element type of bit patterns: unsigned words of 32 bits."""


def is_float(element: Attribute) -> bool:
    return isinstance(element, FLOAT_TYPES)


def is_minifloat(element: Attribute) -> bool:
    """
    Returns whether elements are minifloats: floats of up to 8 bits, such as f8E4M3FN. They are
    stored, moved and converted, but nothing is computed on them.
    """
    return isinstance(element, ReducedPrecisionFloatType) and element.bitwidth <= _BYTE


def is_integer(element: Attribute) -> bool:
    """Returns true for every width and signedness, i1 included."""
    return isinstance(element, IntegerType)


def is_byte(element: Attribute) -> bool:
    """Returns whether elements are integers of 8 bits, or quantized numbers stored as such."""
    stored = storage_type(element)
    return isinstance(stored, IntegerType) and stored.width.data == _BYTE


def is_narrow_storage(element: Attribute) -> bool:
    """
    Returns whether elements are integers of 2 to 7 bits, or quantized numbers stored as such. Each
    has a byte in memory, which holds the same number.
    """
    stored = storage_type(element)
    return isinstance(stored, IntegerType) and 1 < stored.width.data < _BYTE


def storage_type(element: Attribute) -> Attribute:
    """
    Returns the type that memory holds: the integer under a quantized type, otherwise the type
    itself.
    """
    return element.storage if isinstance(element, QuantizedType) else element


def compute_type(element: Attribute) -> Attribute:
    """
    Returns the type in which scalar expressions compute: 16-bit floats compute in f32 and round
    once.
    """
    return f32 if isinstance(element, Float16Type | BFloat16Type) else storage_type(element)


@cached_by_identity
def is_unsigned(element: Attribute) -> bool:
    """
    Returns whether elements are stored as integers that compare, divide and convert as unsigned:
    those of unsigned types, and i1.
    """
    stored = storage_type(element)
    return isinstance(stored, IntegerType) and is_unsigned_integer(stored)


def stored_values(element: Attribute) -> tuple[int | float, int | float]:
    """Returns the smallest and the largest value of an element type; infinities for floats."""
    return integer_range(element) if isinstance(element, IntegerType) else (-inf, inf)


def element_bytes(element: Attribute) -> int:
    """Returns bytes of one element in memory; i1 takes one byte."""
    stored = storage_type(element)
    if not isinstance(stored, FixedBitwidthType):
        raise VerifyException(f"expected an element type of fixed size, found {element}")
    return -(-stored.bitwidth // 8)


def num_elements(shape: Sequence[int]) -> int:
    return prod(shape)


def type_bytes(t: TensorType | MemRefType) -> int:
    """
    Returns bytes of a dense tensor, or of the smallest buffer that holds a strided memref's
    elements.
    """
    if isinstance(t, TensorType):
        return prod(symbolic_shape(t)) * element_bytes(t.element_type)
    if isinstance(t.layout, NoneAttr):
        return prod(t.get_shape()) * element_bytes(t.element_type)
    return extent(t) * element_bytes(t.element_type)


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a dense row-major array."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


@cached_by_identity
def strides_of(t: MemRefType) -> tuple[int, ...]:
    """Returns static strides of a memref in elements. A broadcast dimension has stride 0."""
    if isinstance(t.layout, StridedLayoutAttr):
        strides = t.layout.get_strides()
        if any(s is None for s in strides):
            raise VerifyException(f"expected static strides, found {t}")
        return tuple(s for s in strides if s is not None)
    if isinstance(t.layout, NoneAttr):
        return row_major_strides(t.get_shape())
    raise VerifyException(f"expected a strided layout, found {t}")


@cached_by_identity
def offset_of(t: MemRefType) -> int:
    """Returns static offset of a memref in elements from the start of its buffer."""
    if isinstance(t.layout, StridedLayoutAttr):
        offset = t.layout.get_offset()
        if offset is None:
            raise VerifyException(f"expected a static offset, found {t}")
        return offset
    return 0


@cached_by_identity
def extent(t: MemRefType) -> int:
    """
    Returns one more than the largest element index that the memref reaches in its buffer; 0 if
    empty.
    """
    shape = t.get_shape()
    if 0 in shape:
        return 0
    reach = sum(max(0, (d - 1) * s) for d, s in zip(shape, strides_of(t), strict=True))
    return offset_of(t) + reach + 1


@cached_by_identity
def lowest_index(t: MemRefType) -> int:
    """Returns the smallest element index that the memref reaches in its buffer; 0 if empty."""
    shape = t.get_shape()
    if 0 in shape:
        return 0
    return offset_of(t) + sum(
        min(0, (d - 1) * s) for d, s in zip(shape, strides_of(t), strict=True)
    )


def is_contiguous(t: MemRefType) -> bool:
    """
    Returns true if the elements lie densely in row-major order (dimensions of size 1 do not
    matter).
    """
    dense = row_major_strides(t.get_shape())
    return all(
        d == 1 or s == e for d, s, e in zip(t.get_shape(), strides_of(t), dense, strict=True)
    )


def strided_memref(
    element: Attribute, shape: Sequence[int], strides: Sequence[int], offset: int = 0
) -> MemRefType:
    """
    Returns a memref with the identity layout if that is equivalent, and with a strided one
    otherwise.
    """
    if offset == 0 and tuple(strides) == row_major_strides(shape):
        return memref_type(element, shape)
    return memref_type(element, shape, _layout(tuple(strides), offset))


# xDSL takes 50 us to make a tensor type and 180 us to make a memref type, and programs have few
# different ones, so types that were made before are found again. A quantized element takes as long
# to hash if it has many scales.


def tensor_type(element: Attribute, shape: Sequence[int]) -> TensorType:
    """Returns the type of a tensor, of which some sizes may be extents."""
    make = _new_tensor_type if isinstance(element, QuantizedType) else _tensor_type
    return make(element, tuple(shape))


def memref_type(element: Attribute, shape: Sequence[int], layout: Layout = _DENSE) -> MemRefType:
    """Returns the type of a memref, dense without a layout."""
    make = MemRefType if isinstance(element, QuantizedType) else _memref_type
    return make(element, tuple(shape), layout)


def _new_tensor_type(element: Attribute, shape: tuple[int, ...]) -> TensorType:
    if any(isinstance(size, Extent) for size in shape):
        return with_symbols(element, shape)
    return TensorType(element, shape)


_tensor_type = lru_cache(maxsize=8192)(_new_tensor_type)


@lru_cache(maxsize=8192)
def _memref_type(element: Attribute, shape: tuple[int, ...], layout: Layout) -> MemRefType:
    return MemRefType(element, shape, layout)


@lru_cache(maxsize=8192)
def _layout(strides: tuple[int, ...], offset: int) -> StridedLayoutAttr:
    return StridedLayoutAttr(strides, offset)


def tensor_of(t: MemRefType) -> TensorType:
    """Returns the tensor type with the same shape and elements."""
    return tensor_type(t.element_type, t.get_shape())


def memref_of(t: TensorType) -> MemRefType:
    """Returns the dense memref type with the same shape and elements."""
    return memref_type(t.element_type, t.get_shape())


def lowest(element: Attribute) -> int | float:
    """Returns the identity of the maximum: no value of this element type is below it."""
    return stored_values(storage_type(element))[0]


def least_finite(element: Attribute) -> float:
    """Returns the least number that an f32 or f64 holds."""
    assert element in (f32, f64)
    return -((2 - 2.0**-23) * 2.0**127 if element == f32 else sys.float_info.max)


def highest(element: Attribute) -> int | float:
    """Returns the identity of the minimum: no value of this element type is above it."""
    return stored_values(storage_type(element))[1]
