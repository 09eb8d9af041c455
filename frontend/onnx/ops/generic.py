"""Operators that a model states itself, as a formula."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.generic import GenericOp
from ....glow_dialects.operator import to_attribute
from ..element_types import ELEMENTS
from ..node import GLOW, OnnxNode, converter


@converter("Generic", domain=GLOW)
def generic(node: OnnxNode) -> SSAValue:
    """
    Converts a formula, the attribute `formula`. `element` (a number of ONNX) and `shape` are those
    of the result, where they do not follow from the formula. Other attributes are constants in it.
    """
    formula = node.attr("formula")
    if not isinstance(formula, str):
        raise ModelError("expected an attribute formula with text, found none")
    constants = {a.name: _constant(node, a.name) for a in node.proto.attribute}
    for name in ("formula", "element", "shape"):
        constants.pop(name, None)
    properties: dict[str, Attribute] = {"formula": to_attribute(formula)}
    if constants:
        properties["constants"] = DictionaryAttr(constants)
    return node.build.op(GenericOp, *node.values, result=_declared(node, properties), **properties)


def _constant(node: OnnxNode, name: str) -> Attribute:
    value = node.attr(name)
    if isinstance(value, str | int | float):
        return to_attribute(value)
    if isinstance(value, list) and value and all(isinstance(v, int | float) for v in value):
        return to_attribute(value)
    raise ModelError(f"expected attribute {name} to be a number or numbers, found {value}")


def _declared(node: OnnxNode, properties: dict[str, Attribute]) -> TensorType | None:
    """Returns the type of the result, as far as attributes give it."""
    if not node.has("element") and not node.has("shape"):
        return None
    code, shape = node.attr("element"), node.ints("shape")
    if code is not None and code not in ELEMENTS:
        raise ModelError(f"expected element to be the number of an element type, found {code}")
    element = None if code is None else ELEMENTS[code]
    return GenericOp.result_type([v.type for v in node.values], properties, shape, element)
