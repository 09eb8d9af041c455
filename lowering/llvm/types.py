"""Types and constants of the `llvm` dialect, made once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation

from ...errors import CompileError
from ...glow_dialects.elements import is_float
from ...glow_dialects.identity_cache import cached_by_identity

BRANCH_WEIGHTS = "branch_weights"
"""How often `llvm.cond_br` takes each of its targets; xDSL has no property for it."""
WRITTEN_OUT = "written_out"
"""
Marks a loop whose iterations the text of LLVM IR writes out one after the other. Its
`llvm.cond_br` has the first value, the step, and the number of values of the loop variable.
"""
PTR = llvm.LLVMPointerType()
VOID = llvm.LLVMVoidType()


@cached_by_identity
def convert_type(t: Attribute) -> Attribute:
    """
    Returns the type of a converted value: i64 for an index, signless integers, pointers for
    memrefs. Raises CompileError for types without a counterpart.
    """
    if isinstance(t, IndexType):
        return i64
    if isinstance(t, IntegerType):
        return IntegerType(t.width.data)
    if is_float(t):
        return t
    if isinstance(t, MemRefType | llvm.LLVMPointerType):
        return PTR
    if isinstance(t, VectorType) and len(t.shape.data) == 1 and not t.get_num_scalable_dims():
        element = convert_type(t.element_type)
        return t if element is t.element_type else VectorType(element, t.shape)
    raise CompileError(f"type {t} has no counterpart in the llvm dialect")


@cached_by_identity
def memory_type(t: Attribute) -> Attribute:
    """
    Returns the type that memory holds for values of a converted type: i8 for i1, lane by lane.
    """
    if isinstance(t, VectorType):
        element = memory_type(t.element_type)
        return t if element is t.element_type else VectorType(element, t.shape)
    return i8 if t == i1 else t


@cached_by_identity
def element_size(t: Attribute) -> int:
    """Returns bytes of an element in memory, which is also its natural alignment."""
    stored = memory_type(convert_type(t))
    if isinstance(stored, llvm.LLVMPointerType):
        return 8
    assert isinstance(stored, FixedBitwidthType)
    return stored.bitwidth // 8


@cached_by_identity
def vector_of(element: Attribute, lanes: int) -> VectorType:
    return VectorType(element, [lanes])


@cached_by_identity
def with_element(t: Attribute, element: Attribute) -> Attribute:
    """Returns `t`, scalar or vector, with another element type."""
    return VectorType(element, t.shape) if isinstance(t, VectorType) else element


def element_of(t: Attribute) -> Attribute:
    return t.element_type if isinstance(t, VectorType) else t


@cache
def array_of(size: int, element: Attribute) -> llvm.LLVMArrayType:
    return llvm.LLVMArrayType(size, element)


@cache
def int_attr(value: int, t: Attribute = i64) -> IntegerAttr:
    assert isinstance(t, IntegerType | IndexType)
    return IntegerAttr(value, t, truncate_bits=True)


@cached_by_identity
def natural_alignment(t: Attribute) -> IntegerAttr:
    """Returns the alignment of a scalar, or of one lane, as an attribute of memory accesses."""
    return int_attr(element_size(element_of(t)))


@cache
def index_array(*values: int) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, values)


def scalar_attr(value: float, t: Attribute) -> IntegerAttr | FloatAttr:
    """Returns `value` as an attribute of a scalar type."""
    if isinstance(t, IntegerType | IndexType):
        return int_attr(int(value), t)
    assert isinstance(t, AnyFloat)
    return FloatAttr(value, t)


def dense_attr(values: Sequence[float], t: VectorType) -> DenseIntOrFPElementsAttr:
    """Returns the lanes of a vector, or one number for all of them."""
    return DenseIntOrFPElementsAttr.from_list(t, values)  # pyright: ignore


def splat_attr(value: float, t: Attribute) -> Attribute:
    """Returns `value` as an attribute of a scalar or vector type, in every lane."""
    return dense_attr([value], t) if isinstance(t, VectorType) else scalar_attr(value, t)


def failure(op: Operation, reason: str) -> CompileError:
    """
    Returns the error for an operation that cannot be converted; names the operation and its
    function.
    """
    parent = op
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    where = f" in @{parent.sym_name.data}" if parent is not None else ""
    return CompileError(f"cannot convert '{op.name}'{where} to the llvm dialect: {reason}")
