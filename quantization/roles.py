"""
The roles of operands for quantization: activations, weights and biases.

An operator is in one of three tables. Products (convolutions, fully connected layers, matrix
products) are faster with integers. Their activations are quantized by the ranges of a profile,
constant weights by their own numbers. Movers (reshapes, pools of maxima, ...) give numbers that
their operand has, so their results keep its type. All others compute in float, in registers of the
loop that dequantizes their operands.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue

from ..glow_dialects.glow.base import DataParallel, Node
from ..glow_dialects.glow.convolution import ConvolutionOp
from ..glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ..glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from ..glow_dialects.glow.quantization import DequantizeOp
from ..glow_dialects.glow.reduction import ReduceMeanOp
from ..glow_dialects.glow.shape import ReshapeOp, SliceOp, TransposeOp
from ..glow_dialects.glow.transposed import TransposedConvolutionOp
from ..glow_dialects.operator import shape_of
from ..passes.graph.rewriting import is_constant, source_of
from ..table import Table


@dataclass(frozen=True)
class Roles:
    """Operands of a product, by number."""

    activations: tuple[int, ...]
    weights: int | None = None
    axis: int | None = None
    """The dimension of the weights along which output channels lie."""
    bias: int | None = None


N = TypeVar("N", bound=Node)
RolesOf: TypeAlias = Callable[[N], Roles]
PRODUCTS: Table[type[Node], RolesOf[Any]] = Table("roles")


def product(operator: type[N]) -> Callable[[RolesOf[N]], RolesOf[N]]:
    """Registers how the operands of a product are quantized."""
    return PRODUCTS.entry(operator)


@product(ConvolutionOp)
def convolution(node: ConvolutionOp) -> Roles:
    return _by_constant(node, axis=0, bias=2)


@product(FullyConnectedOp)
def fully_connected(node: FullyConnectedOp) -> Roles:
    return _by_constant(node, axis=0, bias=2)


@product(TransposedConvolutionOp)
def transposed_convolution(node: TransposedConvolutionOp) -> Roles:
    """Returns the roles for a filter that has the outputs of one group in dimension 1."""
    return _by_constant(node, axis=1 if node.group.value.data == 1 else None, bias=2)


@product(MatMulOp)
def matmul(node: MatMulOp) -> Roles:
    rank = len(shape_of(node.rhs.type))
    transposed = bool(node.transpose_rhs.value.data)
    # several matrices have different columns, which one scale per column cannot describe
    single = all(d == 1 for d in shape_of(node.rhs.type)[:-2])
    return _by_constant(node, axis=rank - 1 - transposed if single else None, bias=None)


def _by_constant(node: Node, axis: int | None, bias: int | None) -> Roles:
    """
    Returns the roles by which operand of two is constant. One scale is all that a backend computes
    with for a constant on the left, and that a constant has which is repeated.
    """
    left, right = node.operands[:2]
    if is_constant(right):
        return Roles((0,), 1, axis if source_of(right) is right else None, bias)
    if is_constant(left):
        return Roles((1,), 0, None, bias)
    return Roles((0, 1), bias=bias)


def roles_of(node: object) -> Roles | None:
    """Returns the roles of the operands of a product; None for other operators."""
    found = PRODUCTS.get(type(node))
    return None if found is None else found(node)


MOVERS: frozenset[type[Node]] = frozenset({MaxPoolOp, ReshapeOp, SliceOp, TransposeOp})
"""Operators whose results have no numbers but those of operand 0."""

AVERAGES: frozenset[type[Node]] = frozenset({AvgPoolOp, ReduceMeanOp})
"""Operators whose results are within the range of operand 0."""


def moved(value: SSAValue) -> SSAValue | None:
    """
    Returns the value that another one is a rearrangement or a part of; None if it is computed.
    """
    owner = value.owner
    return owner.operands[0] if isinstance(owner, Node) and type(owner) in MOVERS else None


def needs_integers(
    result: SSAValue, stored: Container[SSAValue], products: Container[Operation]
) -> bool:
    """
    Returns whether a result of a graph must be made of integers. It need not if it is the sum of a
    quantized product, or a stored value, followed by elementwise operators on it alone: floats can
    be made of it at the end.
    """
    node = result.owner
    while isinstance(node, DataParallel) and node not in products:
        variables = [o for o in node.operands if not is_constant(o)]
        if len(variables) != 1:
            return True
        if isinstance(node, DequantizeOp) or variables[0] in stored:
            return False
        node = variables[0].owner
    return type(node) in AVERAGES
