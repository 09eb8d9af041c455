"""
The `llvm` dialect as upstream MLIR has it, as far as the compiler needs it.

xDSL 0.74 defines 72 operations of the dialect. This module adds the ones that it lacks and replaces
those that it restricts to scalars (`llvm.fcmp`, `llvm.select`, `llvm.getelementptr`,
`llvm.intr.masked.store`). Names, properties and assembly are upstream's: what this dialect prints,
`mlir-opt` reads. See https://mlir.llvm.org/docs/Dialects/LLVM/ for the meaning of each operation.
"""

from __future__ import annotations

from abc import ABC
from enum import IntEnum
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    DenseArrayBase,
    IntegerAttr,
    SignlessIntegerConstraint,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import (
    parse_dynamic_index_list_without_types,
    print_dynamic_index_list,
)
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

FLOATS = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
INTEGERS = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)
POINTER = base(llvm.LLVMPointerType)
POINTERS = VectorType.constr(POINTER)
MASK = VectorType.constr(i1)
NO_FASTMATH = llvm.FastMathAttr(None)

_FUNCTIONAL = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


def shape_of(t: Attribute) -> tuple[int, ...] | None:
    """The shape of a vector type; None for a scalar."""
    return t.get_shape() if isinstance(t, VectorType) else None


def expect_same_shape(*values: SSAValue) -> None:
    """Raises VerifyException unless all are scalars or all are vectors of one shape."""
    shapes = {shape_of(v.type) for v in values}
    if len(shapes) != 1:
        types = ", ".join(str(v.type) for v in values)
        raise VerifyException(f"expected scalars or vectors of one shape, found {types}")


# Instructions


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """
    One lane of a vector.

    ```mlir
    %r = llvm.extractelement %v[%i : i64] : vector<4xf32>
    ```
    """

    name = "llvm.extractelement"

    T: ClassVar = VarConstraint("T", AnyAttr())

    vector = operand_def(VectorType.constr(T))
    position = operand_def(SignlessIntegerConstraint)
    res = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """
    An arbitrary fixed value in place of poison or undef.

    ```mlir
    %r = llvm.freeze %x : vector<4xf32>
    ```
    """

    name = "llvm.freeze"

    T: ClassVar = VarConstraint("T", AnyAttr())

    val = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$val attr-dict `:` type($val)"


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """
    A value that may be anything, for lanes that are never read.

    ```mlir
    %r = llvm.mlir.poison : vector<4xf32>
    ```
    """

    name = "llvm.mlir.poison"

    res = result_def()

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"


@irdl_op_definition
class UIToFPOp(IRDLOperation):
    """
    ```mlir
    %r = llvm.uitofp %x : vector<4xi32> to vector<4xf32>
    ```
    """

    name = "llvm.uitofp"

    arg = operand_def(INTEGERS)
    res = result_def(FLOATS)

    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    def verify_(self) -> None:
        expect_same_shape(self.arg, self.res)


class FloatToInteger(IRDLOperation, ABC):
    """Truncates towards zero; poison if the integer type cannot hold the number."""

    arg = operand_def(FLOATS)
    res = result_def(INTEGERS)

    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    def verify_(self) -> None:
        expect_same_shape(self.arg, self.res)


@irdl_op_definition
class FPToSIOp(FloatToInteger):
    """
    ```mlir
    %r = llvm.fptosi %x : f32 to i32
    ```
    """

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(FloatToInteger):
    """
    ```mlir
    %r = llvm.fptoui %x : f32 to i8
    ```
    """

    name = "llvm.fptoui"


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """
    Comparison of floats, also of vectors.

    ```mlir
    %r = llvm.fcmp "olt" %a, %b : vector<4xf32>
    ```
    """

    name = "llvm.fcmp"

    T: ClassVar = VarConstraint("T", FLOATS)

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(base(type(i1)) | MASK)
    predicate = prop_def(IntegerAttr.constr(i64))
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=NO_FASTMATH)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        expect_same_shape(self.lhs, self.res)

    @classmethod
    def parse(cls, parser: Parser) -> FCmpOp:
        predicate = llvm.FCmpPredicateFlag(parser.parse_str_literal()).to_int()
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        t = parser.parse_type()
        return cls.create(
            operands=parser.resolve_operands([lhs, rhs], [t, t], parser.pos),
            result_types=[VectorType(i1, t.get_shape()) if isinstance(t, VectorType) else i1],
            properties={
                "predicate": IntegerAttr(predicate, i64),
                "fastmathFlags": attributes.pop("fastmathFlags", NO_FASTMATH),
            },
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        flag = llvm.FCmpPredicateFlag.from_int(self.predicate.value.data)
        printer.print_string(f' "{flag}" ')
        printer.print_ssa_value(self.lhs)
        printer.print_string(", ")
        printer.print_ssa_value(self.rhs)
        flags = {} if self.fastmathFlags == NO_FASTMATH else {"fastmathFlags": self.fastmathFlags}
        printer.print_op_attributes({**flags, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """
    A choice by one condition, or lane by lane by a mask.

    ```mlir
    %r = llvm.select %mask, %a, %b : vector<4xi1>, vector<4xf32>
    ```
    """

    name = "llvm.select"

    T: ClassVar = VarConstraint("T", AnyAttr())

    cond = operand_def(base(type(i1)) | MASK)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=NO_FASTMATH)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"

    def verify_(self) -> None:
        if isinstance(self.cond.type, VectorType):
            expect_same_shape(self.cond, self.res)
        elif self.cond.type != i1:
            raise VerifyException(f"expected an i1 condition, found {self.cond.type}")


class NoWrap(IntEnum):
    """What `llvm.getelementptr` promises of its arithmetic. Values are upstream's."""

    NONE = 0
    NUSW = 2
    INBOUNDS = 3
    """The result and every intermediate address lie in one object (or just past its end)."""
    NUW = 4


DYNAMIC = llvm.GEP_USE_SSA_VAL
"""Stands in `rawConstantIndices` for an index that is an operand."""


@irdl_op_definition
class GEPOp(IRDLOperation):
    """
    Address arithmetic: `base` plus the first index times the size of `elem_type`, then further
    indices into that type. A vector of indices gives a vector of pointers.

    ```mlir
    %p = llvm.getelementptr inbounds %base[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %q = llvm.getelementptr %base[%v] : (!llvm.ptr, vector<4xi64>) -> vector<4x!llvm.ptr>, f32
    ```
    """

    name = "llvm.getelementptr"

    base = operand_def(POINTER | POINTERS)
    dynamicIndices = var_operand_def(INTEGERS)
    rawConstantIndices = prop_def(DenseArrayBase.constr(i32))
    elem_type = prop_def()
    noWrapFlags = prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(NoWrap.NONE, i32))
    res = result_def(POINTER | POINTERS)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        indices = self.rawConstantIndices.get_values()
        if not indices:
            raise VerifyException("expected at least one index")
        if indices.count(DYNAMIC) != len(self.dynamicIndices):
            raise VerifyException(
                f"expected {indices.count(DYNAMIC)} indices as operands, "
                f"found {len(self.dynamicIndices)}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> GEPOp:
        flags = NoWrap.NONE
        for flag in (NoWrap.INBOUNDS, NoWrap.NUSW, NoWrap.NUW):
            if parser.parse_optional_keyword(flag.name.lower()) is not None:
                flags = flag
        pointer = parser.parse_unresolved_operand()
        dynamic, indices = parse_dynamic_index_list_without_types(parser, DYNAMIC)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        function = parser.parse_function_type()
        parser.parse_punctuation(",")
        return cls.create(
            operands=parser.resolve_operands([pointer, *dynamic], function.inputs.data, parser.pos),
            result_types=function.outputs.data,
            properties={
                "rawConstantIndices": DenseArrayBase.from_list(i32, indices),
                "elem_type": parser.parse_type(),
                "noWrapFlags": IntegerAttr(flags, i32),
            },
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        flags = NoWrap(self.noWrapFlags.value.data)
        if flags is not NoWrap.NONE:
            printer.print_string(f" {flags.name.lower()}")
        printer.print_string(" ")
        printer.print_ssa_value(self.base)
        print_dynamic_index_list(
            printer, DYNAMIC, self.dynamicIndices, self.rawConstantIndices.get_values()
        )
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type([o.type for o in self.operands], [self.res.type])
        printer.print_string(", ")
        printer.print_attribute(self.elem_type)


# Intrinsics of numbers and vectors


class UnaryFloatIntrinsic(IRDLOperation, ABC):
    """`llvm.intr.x(%a) : (f32) -> f32`, on scalars or vectors."""

    T: ClassVar = VarConstraint("T", FLOATS)

    arg = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=NO_FASTMATH)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _FUNCTIONAL


class BinaryFloatIntrinsic(IRDLOperation, ABC):
    """`llvm.intr.x(%a, %b) : (f32, f32) -> f32`, on scalars or vectors."""

    T: ClassVar = VarConstraint("T", FLOATS)

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=NO_FASTMATH)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _FUNCTIONAL


class BinaryIntegerIntrinsic(IRDLOperation, ABC):
    """`llvm.intr.x(%a, %b) : (i32, i32) -> i32`, on scalars or vectors."""

    T: ClassVar = VarConstraint("T", INTEGERS)

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())
    assembly_format = _FUNCTIONAL


@irdl_op_definition
class RoundEvenOp(UnaryFloatIntrinsic):
    """Nearest integer, ties to even."""

    name = "llvm.intr.roundeven"


@irdl_op_definition
class RoundOp(UnaryFloatIntrinsic):
    """Nearest integer, ties away from zero."""

    name = "llvm.intr.round"


@irdl_op_definition
class FTruncOp(UnaryFloatIntrinsic):
    """Nearest integer towards zero."""

    name = "llvm.intr.trunc"


@irdl_op_definition
class TanhOp(UnaryFloatIntrinsic):
    name = "llvm.intr.tanh"


@irdl_op_definition
class TanOp(UnaryFloatIntrinsic):
    name = "llvm.intr.tan"


@irdl_op_definition
class SinhOp(UnaryFloatIntrinsic):
    name = "llvm.intr.sinh"


@irdl_op_definition
class CoshOp(UnaryFloatIntrinsic):
    name = "llvm.intr.cosh"


@irdl_op_definition
class ASinOp(UnaryFloatIntrinsic):
    name = "llvm.intr.asin"


@irdl_op_definition
class ACosOp(UnaryFloatIntrinsic):
    name = "llvm.intr.acos"


@irdl_op_definition
class ATanOp(UnaryFloatIntrinsic):
    name = "llvm.intr.atan"


@irdl_op_definition
class Log10Op(UnaryFloatIntrinsic):
    name = "llvm.intr.log10"


@irdl_op_definition
class ATan2Op(BinaryFloatIntrinsic):
    name = "llvm.intr.atan2"


@irdl_op_definition
class MaximumOp(BinaryFloatIntrinsic):
    """The larger operand; NaN if either is NaN; +0 is larger than -0."""

    name = "llvm.intr.maximum"


@irdl_op_definition
class MinimumOp(BinaryFloatIntrinsic):
    """The smaller operand; NaN if either is NaN; -0 is smaller than +0."""

    name = "llvm.intr.minimum"


@irdl_op_definition
class FMulAddOp(IRDLOperation):
    """`a * b + c`, fused where that is fast."""

    name = "llvm.intr.fmuladd"

    T: ClassVar = VarConstraint("T", FLOATS)

    a = operand_def(T)
    b = operand_def(T)
    c = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=NO_FASTMATH)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _FUNCTIONAL


@irdl_op_definition
class SMaxOp(BinaryIntegerIntrinsic):
    name = "llvm.intr.smax"


@irdl_op_definition
class SMinOp(BinaryIntegerIntrinsic):
    name = "llvm.intr.smin"


@irdl_op_definition
class UMaxOp(BinaryIntegerIntrinsic):
    name = "llvm.intr.umax"


@irdl_op_definition
class UMinOp(BinaryIntegerIntrinsic):
    name = "llvm.intr.umin"


@irdl_op_definition
class AbsOp(IRDLOperation):
    """
    Absolute value of a signed integer. Upstream has only the generic syntax.

    ```mlir
    %r = "llvm.intr.abs"(%x) <{is_int_min_poison = false}> : (i32) -> i32
    ```
    """

    name = "llvm.intr.abs"

    T: ClassVar = VarConstraint("T", INTEGERS)

    arg = operand_def(T)
    is_int_min_poison = prop_def(IntegerAttr.constr(i1))
    res = result_def(T)

    traits = traits_def(Pure())


# Reductions of a vector to a scalar


class IntegerReduction(IRDLOperation, ABC):
    """
    Upstream has only the generic syntax.

    ```mlir
    %r = "llvm.intr.vector.reduce.add"(%v) : (vector<4xi32>) -> i32
    ```
    """

    T: ClassVar = VarConstraint("T", SignlessIntegerConstraint)

    vector = operand_def(VectorType.constr(T))
    res = result_def(T)

    traits = traits_def(Pure())


class FloatReduction(IRDLOperation, ABC):
    """
    ```mlir
    %r = llvm.intr.vector.reduce.fmaximum(%v) : (vector<4xf32>) -> f32
    ```
    """

    T: ClassVar = VarConstraint("T", AnyFloatConstr)

    vector = operand_def(VectorType.constr(T))
    res = result_def(T)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=NO_FASTMATH)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _FUNCTIONAL


@irdl_op_definition
class ReduceAddOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.add"


@irdl_op_definition
class ReduceMulOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.mul"


@irdl_op_definition
class ReduceAndOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.and"


@irdl_op_definition
class ReduceOrOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.or"


@irdl_op_definition
class ReduceXorOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.xor"


@irdl_op_definition
class ReduceSMaxOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.smax"


@irdl_op_definition
class ReduceSMinOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.smin"


@irdl_op_definition
class ReduceUMaxOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.umax"


@irdl_op_definition
class ReduceUMinOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.umin"


@irdl_op_definition
class ReduceFMaxOp(FloatReduction):
    name = "llvm.intr.vector.reduce.fmax"


@irdl_op_definition
class ReduceFMinOp(FloatReduction):
    name = "llvm.intr.vector.reduce.fmin"


@irdl_op_definition
class ReduceFMaximumOp(FloatReduction):
    name = "llvm.intr.vector.reduce.fmaximum"


@irdl_op_definition
class ReduceFMinimumOp(FloatReduction):
    name = "llvm.intr.vector.reduce.fminimum"


# Memory


@irdl_op_definition
class MaskedLoadOp(IRDLOperation):
    """
    Loads the lanes that the mask selects; the others are those of `pass_thru`.

    ```mlir
    %r = llvm.intr.masked.load %p, %mask, %pass {alignment = 4 : i32}
        : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
    ```
    """

    name = "llvm.intr.masked.load"

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))

    data = operand_def(POINTER)
    mask = operand_def(MASK)
    pass_thru = operand_def(T)
    alignment = prop_def(IntegerAttr.constr(i32))
    res = result_def(T)

    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$data `,` $mask `,` $pass_thru attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        expect_same_shape(self.mask, self.res)


@irdl_op_definition
class MaskedStoreOp(IRDLOperation):
    """
    Stores the lanes that the mask selects.

    ```mlir
    llvm.intr.masked.store %v, %p, %mask {alignment = 4 : i32}
        : vector<4xf32>, vector<4xi1> into !llvm.ptr
    ```
    """

    name = "llvm.intr.masked.store"

    value = operand_def(VectorType)
    data = operand_def(POINTER)
    mask = operand_def(MASK)
    alignment = prop_def(IntegerAttr.constr(i32))

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
    %r = llvm.intr.masked.gather %p, %mask, %pass {alignment = 4 : i32}
        : (vector<4x!llvm.ptr>, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
    ```
    """

    name = "llvm.intr.masked.gather"

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))

    ptrs = operand_def(POINTERS)
    mask = operand_def(MASK)
    pass_thru = operand_def(T)
    alignment = prop_def(IntegerAttr.constr(i32))
    res = result_def(T)

    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$ptrs `,` $mask `,` $pass_thru attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        expect_same_shape(self.ptrs, self.mask, self.res)


@irdl_op_definition
class MaskedScatterOp(IRDLOperation):
    """
    Stores each selected lane to its own address, in the order of the lanes.

    ```mlir
    llvm.intr.masked.scatter %v, %p, %mask {alignment = 4 : i32}
        : vector<4xf32>, vector<4xi1> into vector<4x!llvm.ptr>
    ```
    """

    name = "llvm.intr.masked.scatter"

    value = operand_def(VectorType)
    ptrs = operand_def(POINTERS)
    mask = operand_def(MASK)
    alignment = prop_def(IntegerAttr.constr(i32))

    traits = traits_def(MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$value `,` $ptrs `,` $mask attr-dict `:` type($value) `,` type($mask) `into` type($ptrs)"
    )

    def verify_(self) -> None:
        expect_same_shape(self.value, self.ptrs, self.mask)


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
    rw = prop_def(IntegerAttr.constr(i32))
    hint = prop_def(IntegerAttr.constr(i32))
    cache = prop_def(IntegerAttr.constr(i32))

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class MemcpyOp(IRDLOperation):
    """
    Copies bytes between buffers that do not overlap. Upstream has only the generic syntax.

    ```mlir
    "llvm.intr.memcpy"(%d, %s, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
    ```
    """

    name = "llvm.intr.memcpy"

    dst = operand_def(POINTER)
    src = operand_def(POINTER)
    len = operand_def(SignlessIntegerConstraint)
    isVolatile = prop_def(IntegerAttr.constr(i1))

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class MemsetOp(IRDLOperation):
    """
    Fills bytes. Upstream has only the generic syntax.

    ```mlir
    "llvm.intr.memset"(%d, %b, %n) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
    ```
    """

    name = "llvm.intr.memset"

    dst = operand_def(POINTER)
    val = operand_def(SignlessIntegerConstraint)
    len = operand_def(SignlessIntegerConstraint)
    isVolatile = prop_def(IntegerAttr.constr(i1))

    traits = traits_def(MemoryWriteEffect())


_OWN: list[type[IRDLOperation]] = [
    *(AbsOp, ACosOp, ASinOp, ATan2Op, ATanOp, CoshOp, ExtractElementOp, FCmpOp, FMulAddOp),
    *(FPToSIOp, FPToUIOp, FTruncOp, FreezeOp, GEPOp, Log10Op, MaskedGatherOp, MaskedLoadOp),
    *(MaskedScatterOp, MaskedStoreOp, MaximumOp, MemcpyOp, MemsetOp, MinimumOp, PoisonOp),
    *(PrefetchOp, ReduceAddOp, ReduceAndOp, ReduceFMaxOp, ReduceFMaximumOp, ReduceFMinOp),
    *(ReduceFMinimumOp, ReduceMulOp, ReduceOrOp, ReduceSMaxOp, ReduceSMinOp, ReduceUMaxOp),
    *(ReduceUMinOp, ReduceXorOp, RoundEvenOp, RoundOp, SMaxOp, SMinOp, SelectOp, SinhOp),
    *(TanOp, TanhOp, UIToFPOp, UMaxOp, UMinOp),
]
_NAMES = {op.name for op in _OWN}

EXTENDED_LLVM = Dialect(
    "llvm",
    [*(op for op in llvm.LLVM.operations if op.name not in _NAMES), *_OWN],
    list(llvm.LLVM.attributes),
)
