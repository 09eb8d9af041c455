"""Products with matrices that are stored in panels of columns."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..glow.base import AcceptsEpilogue
from ..glow.structured import Structured
from ..operator import (
    Call,
    expect_number,
    expect_rank,
    expect_same_element,
)


@irdl_op_definition
class PackedMatMulOp(Structured):
    """
    `input` [..., K] times a matrix [K, N] that is stored in panels of C columns, [ceil(N/C), K, C]:
    element [t, j] of the matrix is element [j / C, t, j % C] of `weights`. A kernel that computes C
    columns at a time reads such weights from front to back. What the last panel holds beyond column
    N does not matter.

    ```mlir
    %r = glow_cpu.packed_matmul %x, %w columns 80
       : (tensor<1x128x64xf32>, tensor<2x64x48xf32>) -> tensor<1x128x80xf32>
    ```
    """

    name = "glow_cpu.packed_matmul"
    FORMULA: ClassVar[str] = """
        result[r.., j] = sum(t)
            input[r.., t] * weights[j // size(weights, 2), t, j % size(weights, 2)]
        for j < columns
    """
    RANKS: ClassVar[range] = range(1, 9)

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    columns = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def check(cls, call: Call) -> None:
        expect_same_element(call)
        expect_number(call)
        panels, _, width = expect_rank(call, 1, 3, "weights")
        columns = call.int("columns")
        if width < 1 or not (panels - 1) * width < columns <= panels * width:
            raise call.fail(
                f"expected columns that need {panels} panels of {width}, found {columns}"
            )
