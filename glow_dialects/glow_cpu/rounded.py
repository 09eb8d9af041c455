"""Products whose operands are rounded as they are read."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from ..glow.matrix import MatrixProduct, factor_indices
from ..operator import Call


@irdl_op_definition
class RoundedMatMulOp(MatrixProduct):
    """
    `glow.matmul` of matrices of f32 whose elements are rounded to bf16 as they are read, with sums
    in f32. The kernel copies both operands to the pairs that the processor multiplies.

    ```mlir
    %r = glow_cpu.rounded_matmul %a, %b transpose_rhs true
       : (tensor<128x64xf32>, tensor<80x64xf32>) -> tensor<128x80xf32>
    ```
    """

    name = "glow_cpu.rounded_matmul"

    @classmethod
    def formula_of(cls, call: Call) -> str:
        left, right = factor_indices(call)
        return f"result[b.., i, j] = sum(t) f32(bf16(lhs[{left}])) * f32(bf16(rhs[{right}]))"

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return f32

    @classmethod
    def check(cls, call: Call) -> None:
        for i in range(2):
            if call.element(i) != f32:
                raise call.fail(f"expected operand {i} with f32, found {call.operands[i]}")
