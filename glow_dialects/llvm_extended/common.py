"""Constraints and checks that the operations share."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    SignlessIntegerConstraint,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    base,
)
from xdsl.utils.exceptions import VerifyException

FLOATS = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
INTEGERS = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)
POINTER = base(llvm.LLVMPointerType)
POINTERS = VectorType.constr(POINTER)
MASK = VectorType.constr(i1)
NO_FASTMATH = llvm.FastMathAttr(None)

FUNCTIONAL = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


def shape_of(t: Attribute) -> tuple[int, ...] | None:
    """Returns the shape of a vector type; None for a scalar."""
    return t.get_shape() if isinstance(t, VectorType) else None


def expect_same_shape(*values: SSAValue) -> None:
    """Raises VerifyException unless all are scalars or all are vectors of one shape."""
    shapes = {shape_of(v.type) for v in values}
    if len(shapes) != 1:
        types = ", ".join(str(v.type) for v in values)
        raise VerifyException(f"expected scalars or vectors of one shape, found {types}")
