"""
Conversion of `memref`, and of loads and stores of vectors: bare pointers, static strides, constant
offsets folded.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, memref, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...glow_dialects import glow_vec
from ...glow_dialects import llvm_extended as lx
from ...glow_dialects.creation import create
from ...glow_dialects.elements import extent, offset_of, strides_of
from .function import Buffer, FunctionConverter, converts
from .linear import Linear, combine
from .types import PTR, convert_type, element_size, failure, memory_type, natural_alignment

STACK_ALIGNMENT = 64
"""Bytes; a cache line, and the widest vector."""


def layout_of(t: MemRefType, op: Operation) -> tuple[tuple[int, ...], Linear]:
    """
    Returns the strides and the offset of a memref in bytes. Raises CompileError if they are not
    static.
    """
    try:
        size = element_size(t.element_type)
        return tuple(s * size for s in strides_of(t)), Linear(offset_of(t) * size)
    except VerifyException as error:
        raise failure(op, str(error)) from error


def buffer_type(value: SSAValue, op: Operation) -> MemRefType:
    t = value.type
    if not isinstance(t, MemRefType):
        raise failure(op, f"expected a memref, found {t}")
    return t


def element_address(
    fn: FunctionConverter, base: SSAValue, indices: Sequence[SSAValue], op: Operation
) -> SSAValue:
    """Returns the pointer to one element of a memref."""
    return fn.address(fn.buffers[base], indices, buffer_type(base, op).element_type)


def vector_address(
    fn: FunctionConverter, base: SSAValue, indices: Sequence[SSAValue], op: Operation
) -> SSAValue:
    """Returns the address of a vector in memory, whose lanes must be neighbours."""
    t = buffer_type(base, op)
    strides = fn.buffers[base].strides
    if not strides or strides[-1] != element_size(t.element_type):
        raise failure(op, f"expected a last dimension with stride 1, found {t}")
    return element_address(fn, base, indices, op)


def load(fn: FunctionConverter, pointer: SSAValue, t: Attribute) -> SSAValue:
    """Returns a value of converted type `t` from memory that is aligned for one element."""
    stored = memory_type(t)
    properties = {"alignment": natural_alignment(t)}
    value = fn.emit(llvm.LoadOp, (pointer,), stored, properties)
    if stored is t or stored == t:
        return value
    return fn.compare(llvm.ICmpPredicateFlag.NE, value, fn.number(0, stored))


def as_stored(fn: FunctionConverter, value: SSAValue) -> SSAValue:
    """Returns a value in the form that memory holds: bytes instead of bits."""
    t = value.type
    stored = memory_type(t)
    return value if stored is t or stored == t else fn.emit(llvm.ZExtOp, (value,), stored)


def store(fn: FunctionConverter, value: SSAValue, pointer: SSAValue) -> None:
    operands = (as_stored(fn, value), pointer)
    fn.add(create(llvm.StoreOp, operands, (), {"alignment": natural_alignment(value.type)}))


def load_pointer(fn: FunctionConverter, array: SSAValue, index: int) -> SSAValue:
    """Returns a pointer from an array of pointers."""
    return load(fn, fn.pointer(array, Linear(8 * index), PTR), PTR)


@converts(memref.LoadOp, vector.LoadOp)
def convert_load(op: memref.LoadOp | vector.LoadOp, fn: FunctionConverter) -> None:
    (result,) = op.results
    base, *indices = op.operands
    address = vector_address if isinstance(op, vector.LoadOp) else element_address
    loaded = load(fn, address(fn, base, indices, op), convert_type(result.type))
    if any(isinstance(use.operation, glow_vec.SelectOp) for use in result.uses):
        # LLVM makes a masked store of a selection that is stored where one of its vectors was
        # loaded: dozens of operations on processors of AMD with AVX2
        loaded = fn.emit(lx.FreezeOp, (loaded,), loaded.type)
    fn.define(result, loaded)


@converts(memref.StoreOp, vector.StoreOp)
def convert_store(op: memref.StoreOp | vector.StoreOp, fn: FunctionConverter) -> None:
    value, base, *indices = op.operands
    address = vector_address if isinstance(op, vector.StoreOp) else element_address
    pointer = address(fn, base, indices, op)
    store(fn, fn.value(value), pointer)


@converts(memref.AllocaOp)
def convert_alloca(op: memref.AllocaOp, fn: FunctionConverter) -> None:
    t = op.memref.type
    if op.dynamic_sizes or DYNAMIC_INDEX in t.get_shape():
        raise failure(op, f"expected a static shape, found {t}")
    layout, alignment = layout_of(t, op), STACK_ALIGNMENT
    if op.alignment is not None:
        alignment = max(alignment, op.alignment.value.data)
    element = memory_type(convert_type(t.element_type))
    pointer = fn.alloca(element, max(1, extent(t)), alignment)
    fn.buffers[op.memref] = Buffer(pointer, *layout)


@converts(memref.ViewOp)
def convert_view(op: memref.ViewOp, fn: FunctionConverter) -> None:
    source, t = fn.buffers[op.source], buffer_type(op.result, op)
    if op.sizes:
        raise failure(op, f"expected a static shape, found {t}")
    start = combine([(source.start, 1), (source.offset, 1), (fn.indices[op.byte_shift], 1)])
    fn.buffers[op.result] = Buffer(source.base, *layout_of(t, op), start)


@converts(memref.ReinterpretCastOp)
def convert_reinterpret_cast(op: memref.ReinterpretCastOp, fn: FunctionConverter) -> None:
    source, t = fn.buffers[op.source], buffer_type(op.result, op)
    if op.offsets:
        raise failure(op, "expected a static offset")
    # the new offset counts from the source's pointer, not from its first element
    fn.buffers[op.result] = Buffer(source.base, *layout_of(t, op), source.start)
