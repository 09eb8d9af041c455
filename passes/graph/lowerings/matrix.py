"""Decompositions of matrix operators."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ....glow_dialects.glow.arithmetic import AddOp
from ....glow_dialects.glow.logic import EqualOp, SelectOp
from ....glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ....glow_dialects.glow.shape import SliceOp, TransposeOp
from ....glow_dialects.glow_cpu.packed import PackedMatMulOp
from ....glow_dialects.glow_cpu.sparse import SparseVectorMatMulOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ..rewriting import Build
from .registry import lowering


@lowering(FullyConnectedOp)
def fully_connected(node: FullyConnectedOp, build: Build) -> SSAValue:
    """Returns a matrix product with the transposed weights, and the bias on each row."""
    product = build(MatMulOp, node.input, node.weights, transpose_rhs=True)
    bias = build.broadcast(node.bias, shape_of(product.type))
    return build(AddOp, product, bias)


@lowering(PackedMatMulOp)
def packed_matmul(node: PackedMatMulOp, build: Build) -> SSAValue:
    """Returns the product with the panels side by side."""
    panels, inner, width = shape_of(node.weights.type)
    columns = node.columns.value.data
    matrix = build(TransposeOp, node.weights, permutation=[1, 0, 2])
    matrix = build.reshape(matrix, [inner, panels * width])
    if columns < panels * width:
        matrix = build(SliceOp, matrix, sizes=[inner, columns])
    rows = prod(shape_of(node.input.type)[:-1])
    product = build(MatMulOp, build.reshape(node.input, [rows, inner]), matrix)
    return build.reshape(product, shape_of(node.result.type))


@lowering(SparseVectorMatMulOp)
def sparse_vector_matmul(node: SparseVectorMatMulOp, build: Build) -> SSAValue:
    """Returns the product with a matrix that is zero where the vector is."""
    element, shape = element_of(node.weights.type), shape_of(node.weights.type)
    column = build.reshape(node.input, [shape[0], 1])
    zeros = build(EqualOp, column, build.splat(0.0, column.type))
    skipped = build.broadcast(zeros, shape)
    zero = build.splat(0.0, with_shape(element, shape))
    matrix = build(SelectOp, skipped, zero, node.weights)
    product = build(MatMulOp, build.reshape(node.input, [1, shape[0]]), matrix)
    return build.reshape(product, shape_of(node.result.type))
