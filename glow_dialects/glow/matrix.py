"""Matrix products."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..operator import (
    Call,
    expect_float,
    expect_product,
    expect_rank,
)
from .base import AcceptsEpilogue
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value

_FLAG = IntegerAttr.constr(i1)
_FALSE = IntegerAttr(0, i1)


def factor_indices(call: Call) -> tuple[str, str]:
    """Returns the indices of both factors of a product of matrices, in a formula."""
    left = "b.., t, i" if call.get("transpose_lhs") else "b.., i, t"
    right = "b.., j, t" if call.get("transpose_rhs") else "b.., t, j"
    return left, right


class MatrixProduct(Structured, abc.ABC):
    """The base of products of the matrices in the last two dimensions of two operands."""

    RANKS: ClassVar[range] = range(2, 9)

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    transpose_lhs = prop_def(_FLAG, default_value=_FALSE)
    transpose_rhs = prop_def(_FLAG, default_value=_FALSE)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())


@irdl_op_definition
class MatMulOp(MatrixProduct):
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

    @classmethod
    def formula_of(cls, call: Call) -> str:
        left, right = factor_indices(call)
        return f"result[b.., i, j] = sum(t) lhs[{left}] * rhs[{right}]"

    @classmethod
    def check(cls, call: Call) -> None:
        expect_product(call)

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return expect_product(call)


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


def pivoted(rows: str, k: int, count: int, batch: str) -> str:
    """
    Returns the equations by which `turned{k}` has row `k` of the matrices `rows`, of `count` rows,
    in the place of the one from `k` on that is largest in column `k`, and that one in its place.
    """
    return f"""
        largest{k}[{batch}] = max(q) (abs({rows}[{batch}, q, {k}]) if q >= {k} else 0);
        pivot{k}[{batch}] = min(q) (
            q if q >= {k} and abs({rows}[{batch}, q, {k}]) == largest{k}[{batch}] else {count});
        turned{k}[{batch}, i, j] =
            {rows}[{batch}, clamp(pivot{k}[{batch}], 0, {count - 1}), j] if i == {k} else
            ({rows}[{batch}, {k}, j] if i == pivot{k}[{batch}] else {rows}[{batch}, i, j])"""


@irdl_op_definition
class DeterminantOp(Structured):
    """
    The determinants of the matrices in the last two dimensions, by elimination with row pivots.

    ```mlir
    %r = glow.determinant %x : (tensor<5x3x3xf32>) -> tensor<5xf32>
    ```
    """

    name = "glow.determinant"
    MOST_ROWS: ClassVar[int] = 32
    """The formula has some equations for each row."""

    input = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def formula_of(cls, call: Call) -> str:
        rows = call.shape(0)[-1]
        signs = "".join(f" * (1 if pivot{k}[b..] == {k} else -1)" for k in range(rows - 1))
        last = "input" if rows == 1 else f"left{rows - 2}"
        result = f"result[b..] = (prod(i) {last}[b.., i, i]){signs}"
        steps = [cls._step("input" if k == 0 else f"left{k - 1}", k, rows) for k in range(rows - 1)]
        return " where ".join([result, *(["; ".join(steps)] if steps else [])])

    @staticmethod
    def _step(rows: str, k: int, count: int) -> str:
        """Returns the equations of a pivot, and those by which column `k` becomes 0 below it."""
        return f"""
            {pivoted(rows, k, count, "b..")};
            left{k}[b.., i, j] = turned{k}[b.., i, j] - (turned{k}[b.., i, {k}]
                / (turned{k}[b.., {k}, {k}] if turned{k}[b.., {k}, {k}] != 0 else 1)
                * turned{k}[b.., {k}, j] if i > {k} else 0)"""

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        return {"b..": len(call.shape(0)) - 2}

    @classmethod
    def check(cls, call: Call) -> None:
        expect_float(call)
        *_, rows, columns = expect_rank(call, 0, range(2, 17), "matrices")
        if rows != columns or not 0 < rows <= cls.MOST_ROWS:
            raise call.fail(
                f"expected square matrices of 1 to {cls.MOST_ROWS} rows, found {call.operands[0]}"
            )
