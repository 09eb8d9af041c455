"""Products whose operands are rounded as they are read."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, f32, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..glow.base import AcceptsEpilogue
from ..glow.matrix import factor_indices
from ..glow.structured import Structured
from ..operator import Call

_FLAG = IntegerAttr.constr(i1)
_FALSE = IntegerAttr(0, i1)


@irdl_op_definition
class RoundedMatMulOp(Structured):
    """
    `glow.matmul` of matrices of f32 whose elements are rounded to bf16 as they are read, with sums
    in f32. The kernel copies both operands to the pairs that the processor multiplies.

    ```mlir
    %r = glow_cpu.rounded_matmul %a, %b transpose_rhs true
       : (tensor<128x64xf32>, tensor<80x64xf32>) -> tensor<128x80xf32>
    ```
    """

    name = "glow_cpu.rounded_matmul"
    RANKS: ClassVar[range] = range(2, 9)

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    transpose_lhs = prop_def(_FLAG, default_value=_FALSE)
    transpose_rhs = prop_def(_FLAG, default_value=_FALSE)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

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
