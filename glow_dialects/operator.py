"""
Operators: the base class of graph nodes, and an operator applied to types and properties.

An operator is defined once, as a graph node, with shape inference and syntax. Its instruction has
the same operands (as `@in`), the same results (as `@out`) and the same properties, so shape
inference, the numpy meaning and the kernels all look at a `Call` and do not care which of the two
dialects it came from.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from xdsl.dialects.builtin import (
    BytesAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    TensorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import HasCanonicalizationPatternsTrait, Pure
from xdsl.utils.exceptions import VerifyException

from ..table import Table
from ..wording import counted, did_you_mean
from .dims import is_symbolic, symbolic_shape, symbols_in
from .elements import is_float, is_integer, is_narrow_storage, storage_type, tensor_type
from .extents import symbol_size
from .python_values import Python, to_attribute, to_python
from .symbol import Symbol
from .syntax import default_of, fill_defaults, parse_properties, print_properties


@dataclass(frozen=True)
class Call:
    """
    One application of an operator: operand and result types, and properties.

    Types are tensors on the graph, memrefs in the instruction dialect, or element types inside the
    body of a stacked instruction.
    """

    operator: type[Node]
    operands: tuple[Attribute, ...]
    results: tuple[Attribute, ...]
    """The declared result types; only for operators whose result type is a parameter."""
    properties: Mapping[str, Attribute]

    def get(self, name: str) -> Any:
        """
        Returns the Python value of a property. Raises KeyError if the operator has no such
        property.
        """
        return to_python(self.properties[name])

    def ints(self, name: str) -> tuple[int, ...]:
        return self.get(name)

    def int(self, name: str) -> int:
        return self.get(name)

    def float(self, name: str) -> float:
        return self.get(name)

    def shape(self, operand: int) -> tuple[int, ...]:
        """Returns the shape of an operand; () for an element type."""
        return shape_of(self.operands[operand])

    def element(self, operand: int) -> Attribute:
        """Returns the element type of an operand."""
        return element_of(self.operands[operand])

    def fail(self, what: str) -> VerifyException:
        """Returns an error to raise, of the form "expected ..., found ..."."""
        return VerifyException(what)


CANONICALIZATION: Table[type[Operation], Sequence[RewritePattern]] = Table("patterns")
"""
The patterns that nodes contribute to xDSL's `canonicalize`; `passes.graph.canonicalization` adds
them.
"""


class Canonicalizes(HasCanonicalizationPatternsTrait):
    """A node whose patterns are in `CANONICALIZATION`, as far as it has any."""

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        return tuple(CANONICALIZATION.get(op, ()))

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return ()


class Node(IRDLOperation, abc.ABC):
    """
    A node of the tensor graph: pure, with inferred result types.

    A subclass declares operands, results and properties, and implements `infer`.
    """

    traits = traits_def(Pure(), Canonicalizes())

    @classmethod
    @abc.abstractmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        """
        Returns the result types that follow from operand types and properties.

        Raises VerifyException, saying what was expected and what was found. An operator whose
        result type is a parameter (a reshape, say) checks `call.results` and returns them.
        """

    @property
    def call(self) -> Call:
        return Call(
            type(self),
            tuple(o.type for o in self.operands),
            tuple(r.type for r in self.results),
            self.properties,
        )

    def verify_(self) -> None:
        for i, (want, have) in enumerate(
            zip(self.infer(self.call), (r.type for r in self.results), strict=True)
        ):
            if want != have:
                raise VerifyException(f"expected result {i} of type {want}, found {have}")
        if any(is_symbolic(r.type) for r in self.results):
            expect_declared(self)

    def __post_init__(self) -> None:
        result = self.results[0].type if self.results else None
        fill_defaults(self, self.get_irdl_definition().properties, result)
        super().__post_init__()

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        properties = self.get_irdl_definition().properties
        result = self.results[0].type
        print_properties(printer, properties, self.properties, self.attributes, result)
        printer.print_string(" : ")
        if self.get_irdl_definition().operands:
            printer.print_operation_type(self)
        else:
            printer.print_list(self.result_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        definition, start = cls.get_irdl_definition(), parser.pos
        operands = (
            parser.parse_optional_undelimited_comma_separated_list(
                parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
            )
            or []
        )
        properties, attributes = parse_properties(parser, cls.name, definition.properties)
        parser.parse_punctuation(":")
        if definition.operands:
            function_type = parser.parse_function_type()
            types, results = function_type.inputs.data, function_type.outputs.data
        else:
            types, results = (), (parser.parse_type(),)
        return cls.create(
            operands=parser.resolve_operands(operands, types, start),
            result_types=results,
            properties=properties,
            attributes=attributes,
        )

    @classmethod
    def of(
        cls,
        *operands: SSAValue,
        result_types: Sequence[Attribute] | None = None,
        **properties: Python,
    ) -> Self:
        """
        Builds a node from values and Python properties: `SoftmaxOp.of(x, axis=1)`.

        Result types are inferred unless given. Omitted properties take their defaults; that of a
        list with a number for each dimension has the length that fits the rank of the first
        operand. Raises VerifyException if the operands do not fit.
        """
        attributes = {name: to_attribute(value) for name, value in properties.items()}
        first = operands[0].type if operands else None
        for name, definition in cls.get_irdl_definition().properties.items():
            if name not in attributes and (default := default_of(definition, first)) is not None:
                attributes[name] = default
        declared = tuple(result_types or ())
        call = Call(cls, tuple(o.type for o in operands), declared, attributes)
        return cls.create(
            operands=operands, result_types=list(cls.infer(call)), properties=attributes
        )


def shape_of(t: Attribute) -> tuple[int, ...]:
    """
    Returns the shape of a tensor or buffer, () of others. Sizes of a tensor that depend on symbols
    are extents, which act as integers where the ranges of the symbols allow that.
    """
    if isinstance(t, TensorType):
        return symbolic_shape(t)
    return t.get_shape() if isinstance(t, MemRefType) else ()


def element_of(t: Attribute) -> Attribute:
    return t.element_type if isinstance(t, TensorType | MemRefType) else t


def with_shape(element: Attribute, shape: Sequence[int]) -> TensorType:
    return tensor_type(element, shape)


def expect_declared(op: Operation) -> None:
    """
    Expects that the symbols in results are declared: that an argument of the function has a
    dimension of exactly this size, so that inputs tell it. Raises VerifyException otherwise.
    """
    function = op.parent_op()
    while function is not None and function.name != "func.func":
        function = function.parent_op()
    if function is None or not function.regions[0].blocks:
        return  # not in a graph yet
    declared = declared_symbols([a.type for a in function.regions[0].blocks[0].args])
    for symbol in symbols_in([size for r in op.results for size in shape_of(r.type)]).values():
        if symbol.name not in declared:
            known = ", ".join(map(str, declared.values())) or "none"
            raise VerifyException(
                f"expected symbols that are the size of a dimension of an argument ({known}), "
                f"found {symbol}{did_you_mean(symbol.name, declared)}"
            )
        symbols_in([symbol_size(s.name, s.low, s.high) for s in (declared[symbol.name], symbol)])


def declared_symbols(arguments: Sequence[Attribute]) -> dict[str, Symbol]:
    """
    Returns the symbols that types of arguments declare, by name: those that are the size of a
    dimension. Raises VerifyException for one with two ranges.
    """
    sizes = [size for t in arguments if is_symbolic(t) for size in shape_of(t)]
    alone = {str(symbol) for symbol in symbols_in(sizes).values()}
    return {s.name: s for s in symbols_in([z for z in sizes if str(z) in alone]).values()}


# Checks for shape inference. Each raises VerifyException with what was expected and what was found.


def expect_rank(call: Call, operand: int, rank: int | range, name: str) -> tuple[int, ...]:
    shape = call.shape(operand)
    allowed = range(rank, rank + 1) if isinstance(rank, int) else rank
    if len(shape) not in allowed:
        wanted = str(rank) if isinstance(rank, int) else f"{rank.start} to {rank.stop - 1}"
        raise VerifyException(f"expected {name} of rank {wanted}, found {call.operands[operand]}")
    return shape


def expect_least_rank(call: Call, rank: int, name: str) -> tuple[int, ...]:
    shape = call.shape(0)
    if len(shape) < rank:
        raise VerifyException(f"expected {name} of rank {rank} or more, found {call.operands[0]}")
    return shape


def expect_shape(call: Call, operand: int, shape: Sequence[int], name: str) -> None:
    if call.shape(operand) != tuple(shape):
        raise VerifyException(
            f"expected {name} of shape {tuple(shape)}, found {call.operands[operand]}"
        )


def expect_length(call: Call, prop: str, length: int) -> tuple[int, ...]:
    values = call.ints(prop)
    if len(values) != length:
        raise VerifyException(
            f"expected {counted(length, 'value')} in {prop}, found {list(values)}"
        )
    return values


def expect_at_least(call: Call, prop: str, low: int) -> None:
    value = call.get(prop)
    if any(v < low for v in (value if isinstance(value, tuple) else (value,))):
        found = list(value) if isinstance(value, tuple) else value
        raise VerifyException(f"expected {prop} of at least {low}, found {found}")


def expect_same_element(call: Call) -> Attribute:
    """Expects all operands to have the same element type, which is returned."""
    first = call.element(0)
    for i, t in enumerate(call.operands):
        if element_of(t) != first:
            raise VerifyException(f"expected operand {i} with elements {first}, found {t}")
    return first


_NARROW_BITS = 16
"""The number of bits up to which integers have products that accumulate in i32."""


def is_narrow_integer(element: Attribute) -> bool:
    """
    Returns whether elements are integers, or quantized numbers stored as such, of 2 to 16 bits.
    """
    stored = storage_type(element)
    return isinstance(stored, IntegerType) and 1 < stored.width.data <= _NARROW_BITS


def expect_product(call: Call, addend: int | None = None) -> Attribute:
    """
    Returns the element type in which products of operands 0 and 1 are summed, which is returned.

    Of floats, and of integers that are not narrow, it is the type of both operands. Narrow integers
    and quantized numbers, of which the stored ones count, may differ, and give i32. The operand
    `addend`, if any, has the returned type.
    """
    if is_narrow_integer(call.element(0)) and is_narrow_integer(call.element(1)):
        element: Attribute = i32
    else:
        expect_number(call)
        element = call.element(0)
        if call.element(1) != element:
            raise VerifyException(
                f"expected operand 1 with elements {element}, found {call.operands[1]}"
            )
    if addend is not None and call.element(addend) != element:
        raise VerifyException(
            f"expected operand {addend} with elements {element}, found {call.operands[addend]}"
        )
    return element


def expect_same_shape(call: Call) -> tuple[int, ...]:
    """Expects all operands to have the same shape, which is returned."""
    first = call.shape(0)
    for i, t in enumerate(call.operands):
        if shape_of(t) != first:
            raise VerifyException(f"expected operand {i} of shape {first}, found {t}")
    return first


def expect_float(call: Call) -> None:
    """Expects floats as elements of operand 0."""
    if not is_float(call.element(0)):
        raise VerifyException(f"expected float elements, found {call.operands[0]}")


def expect_number(call: Call, quantized: bool = False) -> None:
    """
    Expects floats or integers of 8 bits or more in operand 0. Narrower ones are only stored.

    With `quantized` it also admits quantized elements, for operators that mean the same on stored
    numbers.
    """
    element = call.element(0)
    if quantized:
        element = storage_type(element)
    stored_only = element == i1 or (not quantized and is_narrow_storage(element))
    if not (is_float(element) or is_integer(element)) or stored_only:
        raise VerifyException(f"expected numeric elements, found {call.operands[0]}")


def expect_axis(call: Call) -> int:
    """Expects `axis` to be a dimension of operand 0, and returns it."""
    axis, rank = call.int("axis"), len(call.shape(0))
    if not 0 <= axis < rank:
        raise VerifyException(f"expected axis in 0 to {rank - 1}, found {axis}")
    return axis


def text_of(attribute: object) -> str | None:
    """
    Returns the text of a string attribute, None for others. The parser takes a string with
    characters beyond ASCII, which are printed as escapes, for bytes.
    """
    match attribute:
        case StringAttr():
            return attribute.data
        case BytesAttr():
            try:
                return attribute.data.decode()
            except UnicodeDecodeError:
                return None
        case _:
            return None
