"""Operators whose inputs and attributes are operands and properties of a node as they are."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ....glow_dialects.glow import activation as a
from ....glow_dialects.glow import inverse_functions as f
from ....glow_dialects.glow.base import Node
from ....glow_dialects.operator import shape_of
from ..node import OnnxNode, converter

_PLAIN: dict[str, tuple[type[Node], tuple[str, ...]]] = {
    "Relu": (a.ReluOp, ()),
    "Sigmoid": (a.SigmoidOp, ()),
    "Tanh": (a.TanhOp, ()),
    "Erf": (a.ErfOp, ()),
    "Softplus": (a.SoftplusOp, ()),
    "HardSwish": (a.HardSwishOp, ()),
    "Asin": (f.AsinOp, ()),
    "Acos": (f.AcosOp, ()),
    "Atan": (f.AtanOp, ()),
    "Sinh": (f.SinhOp, ()),
    "Asinh": (f.AsinhOp, ()),
    "Acosh": (f.AcoshOp, ()),
    "Atanh": (f.AtanhOp, ()),
    "LeakyRelu": (a.LeakyReluOp, ("alpha",)),
    "Elu": (a.EluOp, ("alpha",)),
    "HardSigmoid": (a.HardSigmoidOp, ("alpha", "beta")),
}
"""The node of each operator, and its properties, which are attributes of the same name."""


@converter(*_PLAIN)
def plain(node: OnnxNode) -> SSAValue:
    operator, names = _PLAIN[node.proto.op_type]
    first = node.input(0)
    properties: dict[str, Any] = {name: node.attr(name) for name in names}
    if "axis" in properties:
        properties["axis"] = node.axis(len(shape_of(first.type)))
    return node.build.op(operator, *node.values, **properties)
