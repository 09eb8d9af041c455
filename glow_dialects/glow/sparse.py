"""Products with vectors many of whose elements are zero."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, f32, f64, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..operator import (
    Call,
    expect_at_least,
    expect_float,
    expect_rank,
    expect_same_element,
    expect_shape,
    with_shape,
)
from .base import AcceptsEpilogue, Node

WORDS = 7
"""Words of 32 bits that hold eight numbers of 28."""
WORD_LANES = 16
"""Neighbouring columns whose numbers are in neighbouring words."""
GROUP_COLUMNS = (WORDS + 1) * WORD_LANES
"""Columns of a group of words."""
SPARE_BITS = 4
"""Low bits of a word, which hold a part of another number."""


def words_shape(inner: int, columns: int) -> tuple[int, ...]:
    """The shape of the words of a matrix [inner, columns]."""
    return inner, -(-columns // GROUP_COLUMNS), WORDS, WORD_LANES


@irdl_op_definition
class SparseVectorMatMulOp(Node):
    """
    A vector `input` [1, ..., 1, K] times the matrix `weights` [K, N], of which only those rows
    count that meet an element other than zero: `r[j] = sum(input[t] * weights[t, j])` over all `t`
    with `input[t] != 0`. NaN is not zero.

    For a matrix of finite elements that is the product. Rows that do not count are not read, so it
    takes less time the more elements of `input` are zero. 16-bit floats accumulate in f32.

    ```mlir
    %r = glow.sparse_vector_matmul %x, %w
       : (tensor<1x256xf32>, tensor<256x10xf32>) -> tensor<1x10xf32>
    ```
    """

    name = "glow.sparse_vector_matmul"

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        element = expect_same_element(call)
        expect_float(call)
        *rows, inner = _expect_row(call)
        _, columns = expect_rank(call, 1, 2, "weights")
        expect_shape(call, 1, (inner, columns), "weights")
        return (with_shape(element, [*rows, columns]),)


@irdl_op_definition
class SparseVectorWordsMatMulOp(Node):
    """
    `glow.sparse_vector_matmul` for a matrix [K, N] of fixed-point numbers of 28 bits, which takes
    an eighth less memory, and so an eighth less time, than one of f32:
    `r[j] = scale * sum(input[t] * 16 * number[t, j])` over all `t` with `input[t] != 0`, in f32.

    Groups of 128 columns, the last one filled up, share seven words of i32 for each 16 columns:
    `weights` [K, ceil(N / 128), 7, 16]. The high 28 bits of word `[t, g, w, l]` are the number of
    column `128 g + 16 w + l`, a two's complement; its low four bits are bits `27 - 4 w` to
    `24 - 4 w` of the number of column `128 g + 112 + l`.

    ```mlir
    %r = glow.sparse_vector_words_matmul %x, %w {columns = 200 : i64, scale = 0.25 : f64}
       : (tensor<1x256xf32>, tensor<256x2x7x16xi32>) -> tensor<1x200xf32>
    ```
    """

    name = "glow.sparse_vector_words_matmul"

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    columns = prop_def(IntegerAttr.constr(i64))
    scale = prop_def(FloatAttr.constr(f64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        if call.element(0) != f32 or call.element(1) != i32:
            found = ", ".join(str(t) for t in call.operands)
            raise call.fail(f"expected an input of f32 and weights of i32, found {found}")
        *rows, inner = _expect_row(call)
        expect_at_least(call, "columns", 1)
        columns = call.int("columns")
        expect_shape(call, 1, words_shape(inner, columns), "weights")
        return (with_shape(f32, [*rows, columns]),)


def _expect_row(call: Call) -> Sequence[int]:
    """The shape of an input of one row."""
    shape = expect_rank(call, 0, range(1, 9), "an input")
    if prod(shape[:-1]) != 1:
        raise call.fail(f"expected an input of one row, found {call.operands[0]}")
    return shape
