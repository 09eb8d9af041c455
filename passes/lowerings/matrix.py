"""Decompositions of matrix operators."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ...glow_dialects.glow.arithmetic import AddOp, MulOp, ShiftRightOp, SubOp
from ...glow_dialects.glow.logic import CastOp, EqualOp, SelectOp
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp, PackedMatMulOp
from ...glow_dialects.glow.shape import ConcatOp, SliceOp, TransposeOp
from ...glow_dialects.glow.sparse import (
    GROUP_COLUMNS,
    SPARE_BITS,
    WORD_LANES,
    WORDS,
    SparseVectorMatMulOp,
    SparseVectorWordsMatMulOp,
)
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ..rewriting import Build
from .registry import lowering


@lowering(FullyConnectedOp)
def fully_connected(node: FullyConnectedOp, build: Build) -> SSAValue:
    """A matrix product with the transposed weights, and the bias on each row."""
    product = build(MatMulOp, node.input, node.weights, transpose_rhs=True)
    bias = build.broadcast(node.bias, shape_of(product.type))
    return build(AddOp, product, bias)


@lowering(PackedMatMulOp)
def packed_matmul(node: PackedMatMulOp, build: Build) -> SSAValue:
    """The product with the panels side by side."""
    panels, inner, width = shape_of(node.weights.type)
    columns = node.columns.value.data
    matrix = build(TransposeOp, node.weights, permutation=[1, 0, 2])
    matrix = build.reshape(matrix, [inner, panels * width])
    if columns < panels * width:
        matrix = build(SliceOp, matrix, starts=[0, 0], sizes=[inner, columns], strides=[1, 1])
    rows = prod(shape_of(node.input.type)[:-1])
    product = build(MatMulOp, build.reshape(node.input, [rows, inner]), matrix)
    return build.reshape(product, shape_of(node.result.type))


@lowering(SparseVectorMatMulOp)
def sparse_vector_matmul(node: SparseVectorMatMulOp, build: Build) -> SSAValue:
    """The product with a matrix that is zero where the vector is."""
    element, shape = element_of(node.weights.type), shape_of(node.weights.type)
    column = build.reshape(node.input, [shape[0], 1])
    zeros = build(EqualOp, column, build.splat(0.0, column.type))
    skipped = build.broadcast(zeros, shape)
    zero = build.splat(0.0, with_shape(element, shape))
    matrix = build(SelectOp, skipped, zero, node.weights)
    product = build(MatMulOp, build.reshape(node.input, [1, shape[0]]), matrix)
    return build.reshape(product, shape_of(node.result.type))


@lowering(SparseVectorWordsMatMulOp)
def sparse_vector_words_matmul(node: SparseVectorWordsMatMulOp, build: Build) -> SSAValue:
    """The product with the numbers as f32."""
    words, columns = node.weights, node.columns.value.data
    inner, groups, *_ = shape_of(words.type)
    high = build(ShiftRightOp, words, build.splat(SPARE_BITS, words.type))
    high = build(MulOp, high, build.splat(1 << SPARE_BITS, words.type))
    spare = build(SubOp, words, high)
    last: SSAValue | None = None
    for word in range(WORDS):
        sizes = [inner, groups, 1, WORD_LANES]
        part = build(SliceOp, spare, starts=[0, 0, word, 0], sizes=sizes, strides=[1] * 4)
        if last is not None:
            part = build(AddOp, _shifted(build, last), part)
        last = part
    assert last is not None
    numbers = build(ConcatOp, high, _shifted(build, last), axis=2)
    matrix = build(CastOp, numbers, result_types=[with_shape(f32, shape_of(numbers.type))])
    matrix = build.reshape(matrix, [inner, groups * GROUP_COLUMNS])
    if columns < groups * GROUP_COLUMNS:
        matrix = build(SliceOp, matrix, starts=[0, 0], sizes=[inner, columns], strides=[1, 1])
    matrix = build(MulOp, matrix, build.splat(node.scale.value.data, matrix.type))
    return build(SparseVectorMatMulOp, node.input, matrix)


def _shifted(build: Build, value: SSAValue) -> SSAValue:
    return build(MulOp, value, build.splat(1 << SPARE_BITS, value.type))
