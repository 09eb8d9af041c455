"""
The syntax of the properties of operators:
`glow.convolution %x, %w, %b strides [2, 2] group 4 : ...`.

The rule is one for all operators, and follows from the definitions of their properties. A property
that equals its default is left out. Others are written in order of definition, each as its name and
a literal: an integer (i64), a float (f64), `true` or `false` (i1), a string, or a list of integers
(i64). An attribute that is none of these, such as an infinite float, is in the dictionary of
attributes, where every property may be given as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    TensorType,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, IRDLOperation, VerificationContext
from xdsl.irdl.operations import OptPropertyDef, PropertyDef
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..wording import did_you_mean
from .dims import DimsAttr, parse_sizes, text_of_sizes
from .extents import Size
from .python_values import to_attribute, to_python

Properties = Mapping[str, PropertyDef]

_INTS = DenseArrayBase.constr(i64)
_KINDS: dict[str, Attribute] = {
    "an integer": IntegerAttr(0, i64),
    "a float": FloatAttr(0.0, f64),
    "true or false": IntegerAttr(0, i1),
    "a string": StringAttr(""),
    "a list of integers": DenseArrayBase.from_list(i64, []),
}
"""The kinds of literals, with the attribute of each."""


@dataclass(frozen=True)
class PerDimension(AttrConstraint[DenseArrayBase[IntegerType] | DimsAttr]):
    """
    A list of i64, or of sizes that depend on symbols, with `times` numbers for each dimension of
    the first result but `besides`, none below `least`; if it is not given, all are `fill`. Without
    `fill`, it must be given.
    """

    fill: int | None
    besides: int = 0
    times: int = 1
    least: int | None = None

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isinstance(attr, DimsAttr):
            _INTS.verify(attr, constraint_context)

    def mapping_type_vars(self, type_var_mapping: object) -> PerDimension:
        return self

    def length(self, rank: int) -> int:
        """Returns how many numbers there are for a result of that rank."""
        return self.times * max(0, rank - self.besides)

    def default(self, result: Attribute) -> Attribute | None:
        if self.fill is None:
            return None
        rank = result.get_num_dims() if isinstance(result, TensorType | MemRefType) else 0
        return _filled(self.fill, self.length(rank))


@lru_cache
def _filled(value: int, count: int) -> Attribute:
    return DenseArrayBase.from_list(i64, [value] * count)


def default_of(definition: PropertyDef, result: Attribute | None) -> Attribute | None:
    """Returns the default of a property for a first result of that type; None if it has none."""
    if isinstance(definition.constr, PerDimension):
        return None if result is None else definition.constr.default(result)
    return definition.default_value


def fill_defaults(op: IRDLOperation, properties: Properties, result: Attribute | None) -> None:
    """Gives an operation those of the properties that it lacks and that have a default."""
    for name, definition in properties.items():
        if name not in op.properties and isinstance(definition.constr, PerDimension):
            default = default_of(definition, result)
            if default is not None:
                op.properties[name] = default


def print_properties(
    printer: Printer,
    definitions: Properties,
    values: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    result: Attribute | None,
) -> None:
    """
    Prints ` strides [2, 2] {more = ...}`: properties, and the dictionary of attributes without a
    literal.
    """
    in_dictionary = dict(attributes)
    for name, definition in definitions.items():
        value = values.get(name)
        if name in attributes:
            raise ValueError(f"{name} is both a property and an attribute")
        if value is None or value == default_of(definition, result):
            continue
        if (text := _literal(value)) is None:
            in_dictionary[name] = value
        else:
            printer.print_string(f" {name} {text}")
    printer.print_op_attributes(in_dictionary)


def _literal(value: Attribute) -> str | None:
    """Returns the literal of an attribute; None if it has none."""
    match value:
        case IntegerAttr(type=t) if t == i1:
            return "true" if value.value.data else "false"
        case IntegerAttr(type=t) if t == i64:
            return str(value.value.data)
        case FloatAttr(type=t) if t == f64 and math.isfinite(value.value.data):
            return _float_literal(value.value.data)
        case StringAttr() if value.data.isascii() and value.data.isprintable():
            return '"' + value.data.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case DenseArrayBase(elt_type=t) if t == i64:
            return f"[{', '.join(map(str, to_python(value)))}]"
        case DimsAttr():
            return f"[{text_of_sizes(value.data)}]"
        case _:
            return None


def _float_literal(value: float) -> str:
    """Returns the shortest one; MLIR's have a point."""
    digits, exponent, power = repr(value).partition("e")
    return (digits if "." in digits else f"{digits}.0") + exponent + power


def parse_properties(
    parser: Parser, operator: str, definitions: Properties
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """
    Returns the properties and attributes that follow the operands of an `operator` of that name.

    Raises ParseError, which names the property that is unknown, given twice, or of a wrong kind.
    """
    found: dict[str, Attribute] = {}
    start = parser.pos
    while (name := parser.parse_optional_identifier()) is not None:
        if name not in definitions:
            known = ", ".join(definitions) or "none"
            near = did_you_mean(name, definitions) or f"; it has {known}"
            parser.raise_error(f"{operator} has no property {name}{near}", start)
        if name in found:
            parser.raise_error(f"{name} is given twice", start)
        found[name] = _parse_value(parser, name, definitions[name])
        start = parser.pos
    attributes = parser.parse_optional_attr_dict()
    for name in definitions:
        if name in attributes:
            if name in found:
                parser.raise_error(f"{name} is given twice", start)
            found[name] = _as_text(attributes.pop(name), definitions[name])
    missing = [n for n, d in definitions.items() if n not in found and _is_required(d)]
    if missing:
        parser.raise_error(f"{operator} lacks the property {missing[0]}", start)
    return found, attributes


def _as_text(value: Attribute, definition: PropertyDef) -> Attribute:
    """Returns the string that xDSL reads as bytes because some of its characters are not ASCII."""
    if isinstance(value, BytesAttr) and definition.constr.verifies(StringAttr("")):
        return StringAttr(value.data.decode("utf-8"))
    return value


def _is_required(definition: PropertyDef) -> bool:
    if isinstance(definition, OptPropertyDef):
        return False
    if isinstance(definition.constr, PerDimension):
        return definition.constr.fill is None
    return definition.default_value is None


def _parse_value(parser: Parser, name: str, definition: PropertyDef) -> Attribute:
    start = parser.pos
    literal = _parse_literal(parser, name, isinstance(definition.constr, PerDimension))
    for number in literal if isinstance(literal, Sequence) else [literal]:
        if isinstance(number, int) and not -(2**63) <= number < 2**63:
            parser.raise_error(f"expected integers of 64 bits for {name}, found {number}", start)
    value = None if literal is None else to_attribute(literal)
    if value is None or not definition.constr.verifies(value):
        kinds = [kind for kind, some in _KINDS.items() if definition.constr.verifies(some)]
        wanted = " or ".join(kinds) or "an attribute in braces"
        parser.raise_error(f"expected {wanted} for the property {name}", start)
    return value


def _parse_literal(
    parser: Parser, name: str, symbolic: bool
) -> bool | int | float | str | Sequence[Size] | None:
    if (flag := parser.parse_optional_boolean()) is not None:
        return flag
    if (text := parser.parse_optional_str_literal()) is not None:
        return text
    if (number := parser.parse_optional_number()) is not None:
        return number
    if symbolic and parser.parse_optional_punctuation("["):
        found = () if parser.parse_optional_punctuation("]") else parse_sizes(parser, f" in {name}")
        if found:
            parser.parse_punctuation("]")
        return found
    return parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_integer(False, True, f" in {name}")
    )
