"""Products with vectors many of whose elements are zero."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..glow.base import AcceptsEpilogue, Node
from ..operator import (
    Call,
    expect_float,
    expect_rank,
    expect_same_element,
    expect_shape,
    with_shape,
)


@irdl_op_definition
class SparseVectorMatMulOp(Node):
    """
    A vector `input` [1, ..., 1, K] times the matrix `weights` [K, N], of which only those rows
    count that meet an element other than zero: `r[j] = sum(input[t] * weights[t, j])` over all `t`
    with `input[t] != 0`. NaN is not zero.

    For a matrix of finite elements that is the product. Rows that do not count are not read, so it
    takes less time the more elements of `input` are zero. 16-bit floats accumulate in f32.

    ```mlir
    %r = glow_cpu.sparse_vector_matmul %x, %w
       : (tensor<1x256xf32>, tensor<256x10xf32>) -> tensor<1x10xf32>
    ```
    """

    name = "glow_cpu.sparse_vector_matmul"

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        element = expect_same_element(call)
        expect_float(call)
        *rows, inner = expect_rank(call, 0, range(1, 9), "an input")
        if prod(rows) != 1:
            raise call.fail(f"expected an input of one row, found {call.operands[0]}")
        _, columns = expect_rank(call, 1, 2, "weights")
        expect_shape(call, 1, (inner, columns), "weights")
        return (with_shape(element, [*rows, columns]),)
