"""Reductions of a vector to a scalar."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    SignlessIntegerConstraint,
    VectorType,
)
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
    FUNCTIONAL,
    NO_FASTMATH,
)


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
    assembly_format = FUNCTIONAL


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
