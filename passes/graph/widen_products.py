"""
Computes products of 16-bit floats in f32.

Processors without arithmetic on 16-bit floats convert a factor each time that they read it, and a
product reads its factors many times. So a convolution or a matrix product reads factors that casts
made f32 once, and another cast rounds its result. The result is the same but for the order of sums,
because 16-bit products accumulate in f32 and round once, too. With that, 16-bit floats have all
that products of f32 have: blocks of channels, Winograd's algorithm, panels. The casts become parts
of the kernels around them.

Constant factors are stored in f32, which takes twice the memory. A product of one row, or of one
column, reads each element of its matrix once, and reading takes the time. Such a matrix stays
narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.elements import compute_type
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import SplatOp
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.logic import CastOp
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ...glow_dialects.glow.transposed import TransposedConvolutionOp
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ...glow_dialects.python_values import to_python
from ...semantics.arrays import constant_reader, lazy_constant
from ..levels import GRAPH
from .rewriting import (
    Build,
    erase_if_dead,
    has_symbols,
    insert_after_definition,
    replace_node,
    tensor_nodes,
)


@dataclass(frozen=True)
class WidenProductsPass(ModulePass):
    """Computes convolutions and matrix products of 16-bit floats in f32."""

    name = "glow-widen-products"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wide: dict[SSAValue, SSAValue] = {}
        for node in tensor_nodes(op):
            if _is_product(node) and _is_narrow(node):
                _widen(node, wide)


def _is_product(node: Node) -> bool:
    """Returns whether a node reads its factors more than once, as far as is known."""
    if isinstance(node, ConvolutionOp | TransposedConvolutionOp):
        return not has_symbols(node)
    if not isinstance(node, MatMulOp | FullyConnectedOp) or has_symbols(node):
        return False
    return 1 not in shape_of(node.result.type)[-2:]


def _is_narrow(node: Node) -> bool:
    """Returns whether all operands and results are 16-bit floats of one type."""
    elements = {element_of(v.type) for v in (*node.operands, *node.results)}
    return len(elements) == 1 and {compute_type(e) for e in elements} == {f32} != elements


def _widen(node: Node, wide: dict[SSAValue, SSAValue]) -> None:
    """Replaces a product by one of f32; `wide` has the f32 of values that have it already."""
    build = Build()
    for value in node.operands:
        if value not in wide:
            new = _in_f32(value)
            new.results[0].name_hint = value.name_hint
            insert_after_definition(new, value)
            wide[value] = new.results[0]
    narrow = list(node.operands)
    (result,) = node.results
    factors = [wide[v] for v in narrow]
    y = build(type(node), *factors, **node.properties)  # pyright: ignore[reportArgumentType]
    replace_node(node, build.ops, build(CastOp, y, result_types=[result.type]))
    erase_if_dead(narrow)


def _in_f32(value: SSAValue) -> Node:
    """Returns a node that makes f32 of a value of 16-bit floats."""
    shape = shape_of(value.type)
    t = with_shape(f32, shape)
    if isinstance(value.owner, SplatOp):
        return SplatOp.of(value=float(to_python(value.owner.value)), result_types=[t])
    read = constant_reader(value)
    if read is None:
        return CastOp.of(value, result_types=[t])
    return lazy_constant(
        shape, f32, value.name_hint or "weights", lambda: read().astype(np.float32)
    )
