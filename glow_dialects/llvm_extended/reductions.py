"""Reductions of a vector to a scalar."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloatConstr,
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
class ReduceFMaximumOp(FloatReduction):
    name = "llvm.intr.vector.reduce.fmaximum"


@irdl_op_definition
class ReduceFMinimumOp(FloatReduction):
    name = "llvm.intr.vector.reduce.fminimum"
