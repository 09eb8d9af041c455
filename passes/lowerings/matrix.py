"""Decompositions of matrix operators."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...glow_dialects.glow.arithmetic import AddOp
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ...glow_dialects.operator import shape_of
from ..rewriting import Build
from .registry import lowering


@lowering(FullyConnectedOp)
def fully_connected(node: FullyConnectedOp, build: Build) -> SSAValue:
    """A matrix product with the transposed weights, and the bias on each row."""
    product = build(MatMulOp, node.input, node.weights, transpose_rhs=True)
    bias = build.broadcast(node.bias, shape_of(product.type))
    return build(AddOp, product, bias)
