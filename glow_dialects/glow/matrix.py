"""Matrix products."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..operator import (
    Call,
    expect_product,
)
from .base import AcceptsEpilogue
from .structured import Structured

_FLAG = IntegerAttr.constr(i1)
_FALSE = IntegerAttr(0, i1)


@irdl_op_definition
class MatMulOp(Structured):
    """
    Product of the matrices in the last two dimensions; the dimensions before them are equal.

    `transpose_lhs` and `transpose_rhs` swap the last two dimensions of an operand as it is read.
    16-bit floats accumulate in f32.

    ```mlir
    %r = glow.matmul %a, %b transpose_rhs true
       : (tensor<8x2x3xf32>, tensor<8x4x3xf32>) -> tensor<8x2x4xf32>
    ```
    """

    name = "glow.matmul"

    RANKS: ClassVar[range] = range(2, 9)

    @classmethod
    def formula_of(cls, call: Call) -> str:
        left = "t, i" if call.get("transpose_lhs") else "i, t"
        right = "j, t" if call.get("transpose_rhs") else "t, j"
        return f"result[b.., i, j] = sum(t) lhs[b.., {left}] * rhs[b.., {right}]"

    @classmethod
    def check(cls, call: Call) -> None:
        expect_product(call)

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return expect_product(call)

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    transpose_lhs = prop_def(_FLAG, default_value=_FALSE)
    transpose_rhs = prop_def(_FLAG, default_value=_FALSE)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())


@irdl_op_definition
class FullyConnectedOp(Structured):
    """
    `input` [M, K] times the transpose of `weights` [N, K], plus `bias` [N] on each row.

    ```mlir
    %r = glow.fully_connected %x, %w, %b
       : (tensor<1x256xf32>, tensor<10x256xf32>, tensor<10xf32>) -> tensor<1x10xf32>
    ```
    """

    name = "glow.fully_connected"
    FORMULA: ClassVar[str] = "result[i, j] = bias[j] + sum(t) input[i, t] * weights[j, t]"

    @classmethod
    def check(cls, call: Call) -> None:
        expect_product(call, addend=2)

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return expect_product(call, addend=2)

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())
