"""Operations that add several products in each lane."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType, bf16, f32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .lanes import lanes


@irdl_op_definition
class DotOp(IRDLOperation):
    """
    `acc + a[2i] * b[2i] + a[2i + 1] * b[2i + 1]` in lane i, with products and sums in f32
    (upstream's `x86vector.avx512.dot`, which xDSL lacks). Needs AVX512-BF16 and 4, 8 or 16 lanes.

    ```mlir
    %r = glow_vec.dot %acc, %a, %b : vector<16xf32>, vector<32xbf16>
    ```
    """

    name = "glow_vec.dot"

    S: ClassVar = VarConstraint("S", VectorType.constr(f32))
    P: ClassVar = VarConstraint("P", VectorType.constr(bf16))

    acc = operand_def(S)
    lhs = operand_def(P)
    rhs = operand_def(P)
    result = result_def(S)

    traits = traits_def(Pure())
    assembly_format = "$acc `,` $lhs `,` $rhs attr-dict `:` type($acc) `,` type($lhs)"

    def __init__(self, acc: SSAValue, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[acc, lhs, rhs], result_types=[acc.type])

    def verify_(self) -> None:
        if 2 * lanes(self.acc.type) != lanes(self.lhs.type) or lanes(self.acc.type) not in (
            4,
            8,
            16,
        ):
            raise VerifyException(
                f"expected 4, 8 or 16 lanes of f32 and twice as many of bf16, "
                f"found {self.acc.type} and {self.lhs.type}"
            )
