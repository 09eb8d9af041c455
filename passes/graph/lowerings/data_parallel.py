"""
Data-parallel operators from their scalar expressions.

An expression is folded with an algebra whose values are graph values: each primitive becomes its
node, each constant a splat. So an operator that has an expression needs no decomposition of its
own.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow import logic
from ....glow_dialects.glow.base import DataParallel
from ....glow_dialects.glow.primitives import PRIMITIVE_NODES
from ....glow_dialects.glow.quantization import StorageCastOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ....glow_dialects.scalar import Expr, Number, Primitive, fold
from ..rewriting import Build
from .precision import convert, stored

_PRIMITIVE_CLASSES = frozenset({*PRIMITIVE_NODES.values(), StorageCastOp})


class NodeAlgebra:
    """Builds nodes for primitives; `result` is the type of the whole expression."""

    def __init__(self, build: Build, result: Attribute):
        self.build = build
        self.result = result

    def constant(
        self, value: Number, like: Sequence[SSAValue], element: Attribute | None
    ) -> SSAValue:
        if element is not None:
            return self.build.splat(value, self._shaped(element))
        return self.build.splat(value, like[0].type if like else self.result)

    def convert(self, value: SSAValue, target: Attribute | None) -> SSAValue:
        return convert(self.build, value, target or element_of(self.result))

    def bitcast(self, value: SSAValue, target: Attribute) -> SSAValue:
        return self.build(logic.BitcastOp, value, result_types=[self._shaped(target)])

    def _shaped(self, element: Attribute) -> Attribute:
        """Returns the type of the result with other elements."""
        is_shaped = element_of(self.result) != self.result
        return with_shape(element, shape_of(self.result)) if is_shaped else element

    def apply(self, kind: Primitive, args: Sequence[SSAValue]) -> SSAValue:
        return self.build(PRIMITIVE_NODES[kind], *args)


def is_primitive(operator: type[DataParallel]) -> bool:
    """Returns whether an operator is the node of a primitive."""
    return operator in _PRIMITIVE_CLASSES


def has_intermediates(expr: Expr) -> bool:
    """Returns whether an operation of an expression takes the result of another, which rounds."""
    return any(a.kind is not None for a in expr.args)


def lower_data_parallel(node: DataParallel, build: Build) -> SSAValue | None:
    """
    Returns the primitives of a node's expression; None if the node is a primitive itself.

    Steps on 16-bit floats are computed in f32, and only the result is rounded, as the node does.
    """
    if is_primitive(type(node)):
        return None
    expr = node.scalar(node.call)
    result = node.results[0].type
    arguments: Sequence[SSAValue] = [stored(build, a) for a in node.operands]
    wide = element_of(result)
    if has_intermediates(expr):
        wide = compute_type(wide)
        arguments = [convert(build, a, compute_type(element_of(a.type))) for a in arguments]
    shaped = element_of(result) != result
    wide_result = with_shape(wide, shape_of(result)) if shaped else wide
    value = fold(expr, arguments, NodeAlgebra(build, wide_result))
    return convert(build, value, element_of(result))
