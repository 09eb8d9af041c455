"""
The types of kernels, and the flags of their operations. Memory and values are signless; 16-bit
floats compute in f32.
"""

from __future__ import annotations

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    FixedBitwidthType,
    IndexType,
    IntegerType,
    MemRefType,
    VectorType,
    i1,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import (
    compute_type,
    element_bytes,
    is_float,
    is_integer,
    is_minifloat,
    row_major_strides,
    storage_type,
    strided_memref,
    strides_of,
)
from ....glow_dialects.identity_cache import cached_by_identity
from ....glow_dialects.views import view_type

INDEX = IndexType()
REASSOCIATE = FastMathFlagsAttr([FastMathFlag.REASSOC])
NO_SIGNED_ZEROS = FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])
"""Permits either zero as a result, for example of the maximum of two zeros."""


@cached_by_identity
def memory_type(element: Attribute) -> Attribute:
    """
    Returns the element type of a kernel's memref: i8 for all that has a byte, signless integers,
    else the type itself.
    """
    stored = storage_type(element)
    if is_integer(stored) or is_minifloat(stored):
        return IntegerType(8 * element_bytes(stored))
    return stored


@cached_by_identity
def value_type(element: Attribute) -> Attribute:
    """
    Returns the type of a value in a register: f32 for 16-bit floats, signless integers of 8 bits or
    more, i8 for minifloats, i1.
    """
    computed = compute_type(element)
    return computed if computed == i1 else memory_type(computed)


@cached_by_identity
def bits(t: Attribute) -> int:
    """Returns the bits of a scalar type; an index has 64."""
    return t.bitwidth if isinstance(t, FixedBitwidthType) else 64


@cached_by_identity
def vector_type(t: Attribute, lanes: int) -> Attribute:
    """Returns `t` itself for one lane, else a vector of it."""
    return t if lanes == 1 else VectorType(t, [lanes])


def lanes_of(value: SSAValue) -> int:
    t = value.type
    return t.shape.data[0].data if isinstance(t, VectorType) else 1


@cached_by_identity
def flat_type(element: Attribute, low: int, high: int) -> MemRefType:
    """
    Returns a memref of one dimension that has the elements `low` to `high - 1`, counted from the
    pointer.
    """
    return strided_memref(memory_type(element), (high - low,), (1,), low)


def significant_strides(t: MemRefType) -> tuple[int, ...]:
    """Returns the strides of a memref, of those in equal arrangements the same."""
    shape = t.get_shape()
    if 0 in shape:
        return row_major_strides(shape)
    return strides_of(view_type(t.element_type, shape, strides_of(t)))


@cached_by_identity
def computes_in_float(element: Attribute) -> bool:
    return is_float(storage_type(element))
