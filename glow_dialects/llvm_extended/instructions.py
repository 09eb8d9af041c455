"""Instructions on values."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    IntegerAttr,
    SignlessIntegerConstraint,
    VectorType,
    i1,
    i64,
)
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
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .common import (
    FLOATS,
    INTEGERS,
    MASK,
    NO_FASTMATH,
    expect_same_shape,
)


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


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """
    The same value, or any value if it is poison or undefined.

    ```mlir
    %r = llvm.freeze %a : vector<4xf32>
    ```
    """

    name = "llvm.freeze"

    T: ClassVar = VarConstraint("T", AnyAttr())

    arg = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($res)"
