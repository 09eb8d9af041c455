"""Intrinsics on numbers, lane by lane."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from .common import (
    FLOATS,
    FUNCTIONAL,
    INTEGERS,
    NO_FASTMATH,
)


class UnaryFloatIntrinsic(IRDLOperation, ABC):
    """`llvm.intr.x(%a) : (f32) -> f32`, on scalars or vectors."""

    T: ClassVar = VarConstraint("T", FLOATS)

    arg = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=NO_FASTMATH)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = FUNCTIONAL


class BinaryFloatIntrinsic(IRDLOperation, ABC):
    """`llvm.intr.x(%a, %b) : (f32, f32) -> f32`, on scalars or vectors."""

    T: ClassVar = VarConstraint("T", FLOATS)

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=NO_FASTMATH)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = FUNCTIONAL


class BinaryIntegerIntrinsic(IRDLOperation, ABC):
    """`llvm.intr.x(%a, %b) : (i32, i32) -> i32`, on scalars or vectors."""

    T: ClassVar = VarConstraint("T", INTEGERS)

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())
    assembly_format = FUNCTIONAL


@irdl_op_definition
class RintOp(UnaryFloatIntrinsic):
    """Nearest integer in the rounding mode of the thread: by default, ties to even."""

    name = "llvm.intr.rint"


@irdl_op_definition
class TanhOp(UnaryFloatIntrinsic):
    name = "llvm.intr.tanh"


@irdl_op_definition
class MaximumOp(BinaryFloatIntrinsic):
    """The larger operand; NaN if either is NaN; +0 is larger than -0."""

    name = "llvm.intr.maximum"


@irdl_op_definition
class MinimumOp(BinaryFloatIntrinsic):
    """The smaller operand; NaN if either is NaN; -0 is smaller than +0."""

    name = "llvm.intr.minimum"


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
