"""Facts about element types and layouts, shared by every stage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf, prod

from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
    TensorType,
    f32,
    i1,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from .quant import QuantizedType

FLOAT_TYPES = (Float16Type, BFloat16Type, Float32Type, Float64Type)


def is_float(element: Attribute) -> bool:
    return isinstance(element, FLOAT_TYPES)


def is_integer(element: Attribute) -> bool:
    """True for every width and signedness, i1 included."""
    return isinstance(element, IntegerType)


def storage_type(element: Attribute) -> Attribute:
    """The type that memory holds: the integer under a quantized type, otherwise the type itself."""
    return element.storage if isinstance(element, QuantizedType) else element


def compute_type(element: Attribute) -> Attribute:
    """The type in which scalar expressions compute: 16-bit floats compute in f32 and round once."""
    return f32 if isinstance(element, Float16Type | BFloat16Type) else storage_type(element)


@cache
def is_unsigned(element: Attribute) -> bool:
    """
    Whether elements are stored as integers that compare, divide and convert as unsigned: those of
    unsigned types, and i1.
    """
    stored = storage_type(element)
    if not isinstance(stored, IntegerType):
        return False
    return stored == i1 or stored.signedness.data is Signedness.UNSIGNED


def stored_values(element: Attribute) -> tuple[int | float, int | float]:
    """The smallest and the largest value of an element type; infinities for floats."""
    if not isinstance(element, IntegerType):
        return (-inf, inf)
    width = element.width.data
    if is_unsigned(element):
        return (0, 2**width - 1)
    return (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def element_bytes(element: Attribute) -> int:
    """Bytes of one element in memory; i1 takes one byte."""
    stored = storage_type(element)
    if not isinstance(stored, FixedBitwidthType):
        raise VerifyException(f"expected an element type of fixed size, found {element}")
    return -(-stored.bitwidth // 8)


def num_elements(shape: Sequence[int]) -> int:
    return prod(shape)


def type_bytes(t: TensorType | MemRefType) -> int:
    """Bytes of a dense tensor, or of the smallest buffer that holds a strided memref's elements."""
    if isinstance(t, TensorType) or isinstance(t.layout, NoneAttr):
        return prod(t.get_shape()) * element_bytes(t.element_type)
    return extent(t) * element_bytes(t.element_type)


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a dense row-major array."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


def strides_of(t: MemRefType) -> tuple[int, ...]:
    """Static strides of a memref in elements. A broadcast dimension has stride 0."""
    if isinstance(t.layout, StridedLayoutAttr):
        strides = t.layout.get_strides()
        if any(s is None for s in strides):
            raise VerifyException(f"expected static strides, found {t}")
        return tuple(s for s in strides if s is not None)
    if isinstance(t.layout, NoneAttr):
        return row_major_strides(t.get_shape())
    raise VerifyException(f"expected a strided layout, found {t}")


def offset_of(t: MemRefType) -> int:
    """Static offset of a memref in elements from the start of its buffer."""
    if isinstance(t.layout, StridedLayoutAttr):
        offset = t.layout.get_offset()
        if offset is None:
            raise VerifyException(f"expected a static offset, found {t}")
        return offset
    return 0


def extent(t: MemRefType) -> int:
    """One more than the largest element index that the memref reaches in its buffer; 0 if empty."""
    shape = t.get_shape()
    if 0 in shape:
        return 0
    reach = sum(max(0, (d - 1) * s) for d, s in zip(shape, strides_of(t), strict=True))
    return offset_of(t) + reach + 1


def lowest_index(t: MemRefType) -> int:
    """The smallest element index that the memref reaches in its buffer; 0 if empty."""
    shape = t.get_shape()
    if 0 in shape:
        return 0
    return offset_of(t) + sum(
        min(0, (d - 1) * s) for d, s in zip(shape, strides_of(t), strict=True)
    )


def is_contiguous(t: MemRefType) -> bool:
    """True if the elements lie densely in row-major order (dimensions of size 1 do not matter)."""
    dense = row_major_strides(t.get_shape())
    return all(
        d == 1 or s == e for d, s, e in zip(t.get_shape(), strides_of(t), dense, strict=True)
    )


def strided_memref(
    element: Attribute, shape: Sequence[int], strides: Sequence[int], offset: int = 0
) -> MemRefType:
    """A memref with the identity layout where that says the same, a strided one otherwise."""
    if offset == 0 and tuple(strides) == row_major_strides(shape):
        return MemRefType(element, shape)
    return MemRefType(element, shape, StridedLayoutAttr(strides, offset))


def tensor_of(t: MemRefType) -> TensorType:
    """The tensor type with the same shape and elements."""
    return TensorType(t.element_type, t.get_shape())


def memref_of(t: TensorType) -> MemRefType:
    """The dense memref type with the same shape and elements."""
    return MemRefType(t.element_type, t.get_shape())


def lowest(element: Attribute) -> int | float:
    """The identity of the maximum: no value of this element type is below it."""
    return stored_values(storage_type(element))[0]


def highest(element: Attribute) -> int | float:
    """The identity of the minimum: no value of this element type is above it."""
    return stored_values(storage_type(element))[1]
