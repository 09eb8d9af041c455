"""Masked access, gather, scatter, and operations on blocks of memory."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    IntegerAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from .common import (
    MASK,
    POINTER,
    POINTERS,
    expect_same_shape,
)

ALIGNMENT = IntegerAttr.constr(i64) | IntegerAttr.constr(i32)
"""
The alignment in bytes. LLVM 24 writes numbers of 64 bits, and LLVM 23 and older write numbers of 32
bits.
"""


@irdl_op_definition
class MaskedStoreOp(IRDLOperation):
    """
    Stores the lanes that the mask selects.

    ```mlir
    llvm.intr.masked.store %v, %p, %mask {alignment = 4 : i64}
        : vector<4xf32>, vector<4xi1> into !llvm.ptr
    ```
    """

    name = "llvm.intr.masked.store"

    value = operand_def(VectorType)
    data = operand_def(POINTER)
    mask = operand_def(MASK)
    alignment = prop_def(ALIGNMENT)

    traits = traits_def(MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$value `,` $data `,` $mask attr-dict `:` type($value) `,` type($mask) `into` type($data)"
    )

    def verify_(self) -> None:
        expect_same_shape(self.mask, self.value)


@irdl_op_definition
class MaskedGatherOp(IRDLOperation):
    """
    Loads each selected lane from its own address.

    ```mlir
    %r = llvm.intr.masked.gather %p, %mask, %pass {alignment = 4 : i64}
        : (vector<4x!llvm.ptr>, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
    ```
    """

    name = "llvm.intr.masked.gather"

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))

    ptrs = operand_def(POINTERS)
    mask = operand_def(MASK)
    pass_thru = operand_def(T)
    alignment = prop_def(ALIGNMENT)
    res = result_def(T)

    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$ptrs `,` $mask `,` $pass_thru attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        expect_same_shape(self.ptrs, self.mask, self.res)


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """
    A cache hint. Upstream has only the generic syntax.

    ```mlir
    "llvm.intr.prefetch"(%p) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()
    ```
    """

    name = "llvm.intr.prefetch"

    addr = operand_def(POINTER)
    rw = prop_def(ALIGNMENT)
    hint = prop_def(ALIGNMENT)
    cache = prop_def(ALIGNMENT)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
