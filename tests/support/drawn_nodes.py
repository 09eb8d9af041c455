"""
Nodes of every operator, drawn for a graph.

What an operator declares says most: its operands, which element types it verifies with, and the
kinds of its properties. Where the shapes of operands have to fit each other, a recipe says how; it
also holds for classes that derive from that of the recipe. An operator for which neither finds a
node makes `tests/unit/test_fuzz.py` fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any

from glow.glow_dialects.glow import NODES
from glow.glow_dialects.glow.base import DataParallel, Node
from glow.glow_dialects.operator import Call, element_of, shape_of, with_shape
from glow.glow_dialects.quant import QuantizedType
from glow.glow_dialects.syntax import PerDimension, default_of
from glow.semantics.registry import has_meaning
from glow.table import Table
from glow.tests.support.drawn_graph import ELEMENTS, DrawnGraph, Refused
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, f64, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import VarOperandDef
from xdsl.irdl.operations import PropertyDef
from xdsl.utils.exceptions import VerifyException

Recipe = Callable[[DrawnGraph, type[Node]], Node]
RECIPES: Table[type[Node], Recipe] = Table("a recipe")
"""The functions that make nodes of an operator, or of those that derive from it."""
OPERATORS = [n for n in NODES if has_meaning(n) or not n.get_irdl_definition().operands]
_ATTEMPTS = 4


def recipe(*operators: type[Node]) -> Callable[[Recipe], Recipe]:
    """Registers a function that makes nodes of operators."""
    return RECIPES.entry(*operators)


def node_of(g: DrawnGraph, operator: type[Node]) -> Node:
    """Returns a node of an operator. Raises Refused if the choices give none that verifies."""
    for base in operator.__mro__:
        if base in RECIPES:
            return verified(lambda: RECIPES[base](g, operator))
    if issubclass(operator, DataParallel):
        return verified(lambda: elementwise(g, operator))
    for _ in range(_ATTEMPTS):
        try:
            return by_declaration(g, operator)
        except VerifyException:
            continue
    raise Refused(f"no operands for {operator.name}")


def verified(make: Callable[[], Node]) -> Node:
    try:
        return make()
    except VerifyException as problem:
        raise Refused(str(problem)) from None


def elementwise(g: DrawnGraph, operator: type[Node]) -> Node:
    """Returns a node on operands of one shape and of types that the operator verifies with."""
    count = len(operator.get_irdl_definition().operands)
    choices = element_types(operator, count)
    if not choices:
        raise Refused(f"no element types for {operator.name}")
    *elements, result = choices[0] if g.int(0, 2) == 0 else g.pick(choices)
    first = g.some([elements[0]])
    shape = shape_of(first.type)
    operands = [first, *(g.operand(e, shape) for e in elements[1:])]
    properties = properties_of(g, operator, len(shape))
    return operator.of(*operands, result_types=[with_shape(result, shape)], **properties)


@cache
def element_types(operator: type[Node], count: int) -> list[tuple[Attribute, ...]]:
    """Returns the types of operands and the result that an elementwise operator verifies with."""
    alike = [(e,) * count for e in ELEMENTS]
    found = [(*e, r) for e in alike for r in _results(operator, e)]
    if found:
        return found
    mixed = product(ELEMENTS, repeat=count) if count < 4 else ()
    return [(*e, r) for e in mixed for r in _results(operator, e)]


def _results(operator: type[Node], elements: Sequence[Attribute]) -> list[Attribute]:
    definition = operator.get_irdl_definition()
    defaults = {n: d for n, p in definition.properties.items() if (d := default_of(p, None))}

    def inferred(declared: Attribute) -> Attribute | None:
        call = Call(
            operator,
            tuple(with_shape(e, (2,)) for e in elements),
            (with_shape(declared, (2,)),),
            defaults,
        )
        try:
            (found,) = operator.infer(call)
        except (VerifyException, KeyError):
            return None
        return element_of(found)

    return list(dict.fromkeys(r for e in ELEMENTS if (r := inferred(e)) is not None))


def by_declaration(g: DrawnGraph, operator: type[Node]) -> Node:
    """Returns a node whose operands are alike, and whose properties are of the declared kinds."""
    operands = operator.get_irdl_definition().operands
    first = g.some(ELEMENTS)
    count = g.int(1, 3) if isinstance(operands[0][1], VarOperandDef) else len(operands)
    more = [g.operand(element_of(first.type), shape_of(first.type)) for _ in range(count - 1)]
    properties = properties_of(g, operator, len(shape_of(first.type)))
    return operator.of(first, *more, **properties)


def properties_of(g: DrawnGraph, operator: type[Node], rank: int) -> dict[str, Any]:
    """Returns values for properties of the declared kinds, for a first operand of that rank."""
    found: dict[str, Any] = {}
    for name, definition in operator.get_irdl_definition().properties.items():
        if definition.default_value is not None and g.flip():
            continue
        value = property_of(g, name, definition, rank)
        if value is not None:
            found[name] = value
    return found


def property_of(g: DrawnGraph, name: str, definition: PropertyDef, rank: int) -> Any:
    constraint, admits = definition.constr, definition.constr.verifies
    if isinstance(constraint, PerDimension):
        least = constraint.least or 0
        return [g.int(least, least + 2) for _ in range(constraint.length(rank))]
    if admits(FloatAttr(0, f64)) and admits(IntegerAttr(0, i64)):
        return g.int(-2, 3)
    if admits(IntegerAttr(0, i1)):
        return g.flip()
    if admits(IntegerAttr(0, i64)):
        return g.int(0, max(0, rank - 1)) if name == "axis" else g.int(1, 4)
    if admits(DenseArrayBase.from_list(i64, [])):
        return sorted({g.int(0, max(0, rank - 1)) for _ in range(g.int(0, rank))})
    if admits(FloatAttr(0, f64)):
        return g.pick([0.5, 0.0, 1.0, 0.01, -0.25, 2.0])
    return None


def sized(x: SSAValue) -> tuple[tuple[int, ...], Attribute]:
    """Returns the shape and the element type of a value."""
    return shape_of(x.type), element_of(x.type)


def is_quantized(x: SSAValue) -> bool:
    return isinstance(element_of(x.type), QuantizedType)
