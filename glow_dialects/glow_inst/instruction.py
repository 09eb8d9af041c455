"""
Instructions: operators that read and write memory.

Every operand carries a qualifier. `@in` is only read, `@out` is completely overwritten, `@inout` is
read and then overwritten. Memory effects follow from the qualifiers, so generic passes can reason
about instructions they do not know.

The instruction of an operator is derived from its graph node: same operands, results and
properties, so there is nothing to keep in step.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    opt_region_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.operations import OptPropertyDef, VarOperandDef
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from ...wording import counted
from ..elements import tensor_of
from ..glow.base import AcceptsEpilogue, DataParallel, Node, short_name
from ..operator import Call, element_of, shape_of, with_shape
from ..syntax import fill_defaults, parse_properties, print_properties
from .memory import TensorViewOp, WeightOp, is_input
from .segments import segment_sizes


class Qualifier(StrEnum):
    """The way in which an instruction uses an operand."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"

    @property
    def reads(self) -> bool:
        return self is not Qualifier.OUT

    @property
    def writes(self) -> bool:
        return self is not Qualifier.IN


class QualifierEffects(MemoryEffect):
    """The reads and writes of instructions, by the qualifiers of their operands."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        assert isinstance(op, Instruction)
        effects: set[EffectInstance] = set()
        for qualifier, value in op.qualified_operands():
            if qualifier.reads:
                effects.add(EffectInstance(MemoryEffectKind.READ, value))
            if qualifier.writes:
                effects.add(EffectInstance(MemoryEffectKind.WRITE, value))
        return effects


def buffer_of(value: SSAValue) -> SSAValue:
    """Returns the allocation, weight or function argument that a memref is or is a view of."""
    owner = value.owner
    while type(owner) is TensorViewOp:
        (value,) = owner.operands
        owner = value.owner
    return value


class Instruction(IRDLOperation, abc.ABC):
    """An operation on buffers whose operands are qualified as `@in`, `@out` or `@inout`."""

    traits = traits_def(QualifierEffects())

    @abc.abstractmethod
    def qualifiers(self) -> Sequence[Qualifier]:
        """Returns one qualifier for each operand, in order."""

    def qualified_operands(self) -> Iterator[tuple[Qualifier, SSAValue]]:
        return zip(self.qualifiers(), self.operands, strict=True)

    def accepts(self, index: int, t: MemRefType, buffer: SSAValue) -> bool:
        """Returns whether operand `index` may be the view `t` of `buffer`."""
        return True

    def written(self) -> list[SSAValue]:
        return [v for q, v in self.qualified_operands() if q.writes]

    def read(self) -> list[SSAValue]:
        return [v for q, v in self.qualified_operands() if q.reads]

    def verify_(self) -> None:
        for i, (qualifier, value) in enumerate(self.qualified_operands()):
            if not qualifier.writes:
                continue
            buffer = buffer_of(value)
            if isinstance(buffer.owner, WeightOp):
                raise VerifyException(
                    f"expected operand {i} (@{qualifier}) to be writable, found a weight"
                )
            if isinstance(buffer, BlockArgument) and is_input(buffer):
                raise VerifyException(
                    f"expected operand {i} (@{qualifier}) to be writable, found an input"
                )
            if list(self.operands).count(value) > 1:
                raise VerifyException(
                    f"expected operand {i} (@{qualifier}) to be used once; "
                    "an operand that is read and written is @inout"
                )


def print_qualified(
    printer: Printer, qualifiers: Sequence[Qualifier], values: Sequence[SSAValue]
) -> None:
    """Prints ` @out %a, @in %b`."""
    for i, (qualifier, value) in enumerate(zip(qualifiers, values, strict=True)):
        printer.print_string(f"{',' if i else ''} @{qualifier} ")
        printer.print_ssa_value(value)


def print_types(printer: Printer, values: Sequence[SSAValue]) -> None:
    """Prints ` : memref<4xf32>, memref<4xf32>`."""
    printer.print_string(" : ")
    printer.print_list([v.type for v in values], printer.print_attribute)


Qualified: TypeAlias = "list[tuple[Qualifier, UnresolvedOperand]]"
"""Operands whose types are not parsed yet."""


def parse_qualified(parser: Parser) -> Qualified:
    """Returns a possibly empty list of qualified operands."""
    found: Qualified = []
    while (symbol := parser.parse_optional_symbol_name()) is not None:
        if symbol.data not in list(Qualifier):
            parser.raise_error(f"expected @in, @out or @inout, found @{symbol.data}")
        found.append((Qualifier(symbol.data), parser.parse_unresolved_operand()))
        if parser.parse_optional_punctuation(",") is None:
            break
    return found


def parse_types(parser: Parser, qualified: Qualified, position: int) -> Sequence[SSAValue]:
    """Parses the types of operands, which begin at a position, and returns their values."""
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    if len(types) != len(qualified):
        parser.raise_error(f"expected {counted(len(qualified), 'type')}, found {len(types)}")
    return parser.resolve_operands([o for _, o in qualified], types, position)


class OperatorInstruction(Instruction, abc.ABC):
    """
    The instruction of an operator: first the results as `@out`, then the operands as `@in`.

    An operator that accepts an epilogue may have a body that computes, from each result element and
    the elements of further operands at the same place, what is stored, perhaps in another type. If
    the first operand is `@inout`, its old element follows the result element.

    ```mlir
    glow_inst.matmul @out %c, @in %a, @in %b : memref<4x8xf32>, memref<4x2xf32>, memref<2x8xf32>
      epilogue @in %residual : memref<4x8xf32> {
    ^bb0(%acc: f32, %r: f32):
      %s = glow.add %acc, %r : (f32, f32) -> f32
      glow_inst.yield %s : f32
    }
    ```
    """

    OPERATOR: ClassVar[type[Node]]

    arguments = var_operand_def(MemRefType)
    extras = var_operand_def(MemRefType)
    inout = opt_prop_def(UnitAttr)
    epilogue = opt_region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def num_results(cls) -> int:
        return len(cls.OPERATOR.get_irdl_definition().results)

    def qualifiers(self) -> Sequence[Qualifier]:
        first = Qualifier.OUT if self.inout is None else Qualifier.INOUT
        outs = self.num_results()
        return [first] * outs + [Qualifier.IN] * (len(self.operands) - outs)

    @property
    def dests(self) -> Sequence[SSAValue]:
        return self.operands[: self.num_results()]

    @property
    def sources(self) -> Sequence[SSAValue]:
        """The operator's operands, without those of the epilogue."""
        arguments, _ = segment_sizes(self)
        return self.operands[self.num_results() : arguments]

    @property
    def operator_properties(self) -> dict[str, Attribute]:
        """The properties of the operator, without those that only the instruction has."""
        known = self.OPERATOR.get_irdl_definition().properties
        return {name: value for name, value in self.properties.items() if name in known}

    @property
    def result_element(self) -> Attribute:
        """The element type of the operator's one result, which its epilogue takes."""
        if self.epilogue is not None and self.epilogue.block.args:
            return self.epilogue.block.args[0].type
        (dest,) = self.dests
        return element_of(dest.type)

    @property
    def call(self) -> Call:
        """The operator's call on the tensor types of the buffers."""
        results = tuple(_tensor(v.type) for v in self.dests)
        if self.epilogue is not None and len(results) == 1:
            results = (with_shape(self.result_element, shape_of(results[0])),)
        return Call(
            self.OPERATOR,
            tuple(_tensor(v.type) for v in self.sources),
            results,
            self.operator_properties,
        )

    @classmethod
    def on(
        cls,
        dests: Sequence[SSAValue],
        sources: Sequence[SSAValue],
        properties: dict[str, Attribute],
        extras: Sequence[SSAValue] = (),
        epilogue: Region | None = None,
        inout: bool = False,
    ) -> OperatorInstruction:
        """Builds the instruction from buffers and the operator's properties."""
        return cls.build(
            operands=[[*dests, *sources], list(extras)],
            properties={**properties, **({"inout": UnitAttr()} if inout else {})},
            regions=[[epilogue] if epilogue is not None else []],
        )

    def verify_(self) -> None:
        super().verify_()
        definition = self.OPERATOR.get_irdl_definition()
        expected = len(definition.results) + len(definition.operands)
        takes_any = any(isinstance(o, VarOperandDef) for _, o in definition.operands)
        if not takes_any and len(self.arguments) != expected:
            raise VerifyException(
                f"expected {counted(expected, 'operand')}, found {len(self.arguments)}"
            )
        call = self.call
        for i, (want, have) in enumerate(zip(self.OPERATOR.infer(call), call.results, strict=True)):
            if want != have:
                raise VerifyException(f"expected operand {i} (@out) like {want}, found {have}")
        self._verify_epilogue()

    def _verify_epilogue(self) -> None:
        if self.epilogue is None:
            if self.extras or self.inout is not None:
                raise VerifyException("expected an epilogue that uses the further operands")
            return
        if not self.OPERATOR.has_trait(AcceptsEpilogue):
            raise VerifyException(f"expected no epilogue, {self.OPERATOR.name} does not accept one")
        shape = self.call.results[0].get_shape()  # pyright: ignore
        for value in self.extras:
            if value.type.get_shape() != shape:  # pyright: ignore
                raise VerifyException(
                    f"expected epilogue operands of shape {shape}, found {value.type}"
                )
        (dest,) = self.dests
        old = [dest] if self.inout is not None else []
        elements = [self.result_element, *(element_of(v.type) for v in (*old, *self.extras))]
        verify_body(self.epilogue, elements, [dest])

    @property
    def _result(self) -> Attribute | None:
        return self.arguments[0].type if self.arguments else None

    def __post_init__(self) -> None:
        fill_defaults(self, self.OPERATOR.get_irdl_definition().properties, self._result)
        super().__post_init__()

    def print(self, printer: Printer) -> None:
        qualifiers = self.qualifiers()
        n = len(self.arguments)
        print_qualified(printer, qualifiers[:n], self.arguments)
        properties, result = self.OPERATOR.get_irdl_definition().properties, self._result
        print_properties(printer, properties, self.operator_properties, self.attributes, result)
        print_types(printer, self.arguments)
        if self.epilogue is not None:
            printer.print_string(" epilogue")
            print_qualified(printer, qualifiers[n:], self.extras)
            if self.extras:
                print_types(printer, self.extras)
            printer.print_string(" ")
            printer.print_region(self.epilogue)

    @classmethod
    def parse(cls, parser: Parser) -> OperatorInstruction:
        position = parser.pos
        qualified = parse_qualified(parser)
        definition = cls.OPERATOR.get_irdl_definition()
        properties, attributes = parse_properties(parser, cls.name, definition.properties)
        arguments = parse_types(parser, qualified, position)
        extras: Sequence[SSAValue] = ()
        epilogue = None
        if parser.parse_optional_keyword("epilogue"):
            qualified_extras = parse_qualified(parser)
            if any(q is not Qualifier.IN for q, _ in qualified_extras):
                parser.raise_error("expected @in for the operands of an epilogue")
            if qualified_extras:
                extras = parse_types(parser, qualified_extras, position)
            epilogue = parser.parse_region()
        outs = cls.num_results()
        inout = bool(qualified) and qualified[0][0] is Qualifier.INOUT
        if inout:
            properties["inout"] = UnitAttr()
        op = cls.build(
            operands=[arguments, list(extras)],
            properties=properties,
            attributes=attributes,
            regions=[[epilogue] if epilogue is not None else []],
        )
        wanted = [Qualifier.INOUT if inout else Qualifier.OUT] * outs
        wanted += [Qualifier.IN] * (len(arguments) - outs)
        for i, ((found, _), want) in enumerate(zip(qualified, wanted, strict=True)):
            if found is not want:
                parser.raise_error(f"expected @{want} for operand {i}, found @{found}")
        return op


def _tensor(t: Attribute) -> Attribute:
    assert isinstance(t, MemRefType)
    return tensor_of(t)


def verify_body(body: Region, wanted: Sequence[Attribute], written: Sequence[SSAValue]) -> None:
    """
    Expects a body that takes elements of the types `wanted`, yields one for each buffer in
    `written`, and holds only data-parallel nodes and splats on elements.
    """
    block = body.block
    wanted = list(wanted)
    found = [a.type for a in block.args]
    if wanted != found:
        raise VerifyException(
            f"expected body arguments {[str(t) for t in wanted]}, found {[str(t) for t in found]}"
        )
    *nodes, last = block.ops
    for node in nodes:
        if not isinstance(node, DataParallel) and node.name != "glow.splat":
            raise VerifyException(
                f"expected only data-parallel nodes in the body, found {node.name}"
            )
    if last.name != "glow_inst.yield":
        raise VerifyException(f"expected the body to end with glow_inst.yield, found {last.name}")
    wanted = [v.type.element_type for v in written]  # pyright: ignore
    found = [o.type for o in last.operands]
    if wanted != found:
        raise VerifyException(
            f"expected to yield {[str(t) for t in wanted]}, found {[str(t) for t in found]}"
        )


def derive(operator: type[Node]) -> type[OperatorInstruction]:
    """Returns the instruction class of an operator: `glow.matmul` becomes `glow_inst.matmul`."""
    properties: dict[str, object] = {}
    for name, definition in operator.get_irdl_definition().properties.items():
        make = opt_prop_def if isinstance(definition, OptPropertyDef) else prop_def
        properties[name] = make(definition.constr, default_value=definition.default_value)
    namespace = {
        "__doc__": f"The instruction of `{operator.name}`.",
        "__module__": __name__,
        "__annotations__": {"OPERATOR": ClassVar[type[Node]]},
        "name": f"glow_inst.{short_name(operator)}",
        "OPERATOR": operator,
        **properties,
    }
    stem = operator.__name__.removesuffix("Op")
    return irdl_op_definition(type(f"{stem}Instruction", (OperatorInstruction,), namespace))
