"""
Branches and loops of a program. Their bodies are programs of their own: an argument of a body is
the buffer that the operand at the same place is, and is qualified like it.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr, MemRefType, i1, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from ..elements import is_contiguous, memref_type, offset_of
from ..glow.control import expect_arguments, parse_branches, print_branches
from ..operator import element_of, shape_of
from .instruction import (
    Instruction,
    Qualifier,
    QualifierEffects,
    parse_qualified,
    parse_types,
    print_qualified,
    print_types,
)
from .memory import AllocActivationOp, QualifiesArguments
from .stacked import YieldOp

CONDITION, STEP, COUNT = (memref_type(t, []) for t in (i1, i64, i32))


class ControlInstruction(Instruction, QualifiesArguments, abc.ABC):
    """An instruction with programs as bodies. Its operands are dense, from their first element."""

    traits = traits_def(QualifierEffects(), IsolatedFromAbove())

    def bodies(self) -> Sequence[Block]:
        return [region.block for region in self.regions]

    @abc.abstractmethod
    def inside(self) -> Sequence[tuple[Qualifier, SSAValue]]:
        """Returns how a body uses each of its arguments, and the operand that each one is."""

    def argument_qualifier(self, argument: BlockArgument) -> str:
        return self.inside()[argument.index][0]

    def outside(self, argument: BlockArgument) -> SSAValue:
        """Returns the operand that an argument of a body is, or is a row of."""
        return self.inside()[argument.index][1]

    def argument_type(self, operand: SSAValue) -> Attribute:
        """Returns the type that an operand has in a body."""
        return operand.type

    def accepts(self, index: int, t: MemRefType, buffer: SSAValue) -> bool:
        return is_contiguous(t) and offset_of(t) == 0

    def verify_(self) -> None:
        super().verify_()
        for i, value in enumerate(self.operands):
            assert isinstance(value.type, MemRefType)
            if not is_contiguous(value.type) or offset_of(value.type):
                raise VerifyException(f"expected operand {i} to be dense, found {value.type}")
        wanted = [self.argument_type(v) for _, v in self.inside()]
        for body in self.bodies():
            expect_arguments(body, wanted)
            last = body.last_op
            if not isinstance(last, YieldOp) or last.values:
                raise VerifyException("expected a body that ends with glow_inst.yield of nothing")


@irdl_op_definition
class IfInstruction(ControlInstruction):
    """
    One of two programs, which a condition chooses. Both have the operands behind the condition as
    arguments.

    ```mlir
    glow_inst.if @in %c, @out %y, @in %x : memref<i1>, memref<4xf32>, memref<4xf32> then {
    ^bb0(%0: memref<4xf32>, %1: memref<4xf32>):
      glow_inst.relu @out %0, @in %1 : memref<4xf32>, memref<4xf32>
      glow_inst.yield
    } else {
    ^bb0(%2: memref<4xf32>, %3: memref<4xf32>):
      glow_inst.copy @out %2, @in %3 : memref<4xf32>, memref<4xf32>
      glow_inst.yield
    }
    ```
    """

    name = "glow_inst.if"

    condition = operand_def(MemRefType)
    outs = var_operand_def(MemRefType)
    ins = var_operand_def(MemRefType)
    then = region_def("single_block")
    otherwise = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        condition: SSAValue,
        outs: Sequence[SSAValue],
        ins: Sequence[SSAValue],
        bodies: Sequence[Region],
    ):
        super().__init__(operands=[condition, list(outs), list(ins)], regions=list(bodies))

    def qualifiers(self) -> Sequence[Qualifier]:
        outs = [Qualifier.OUT] * len(self.outs)
        return [Qualifier.IN, *outs, *[Qualifier.IN] * len(self.ins)]

    def inside(self) -> Sequence[tuple[Qualifier, SSAValue]]:
        return list(self.qualified_operands())[1:]

    def verify_(self) -> None:
        if self.condition.type != CONDITION:
            raise VerifyException(f"expected a condition {CONDITION}, found {self.condition.type}")
        super().verify_()

    def print(self, printer: Printer) -> None:
        print_qualified(printer, self.qualifiers(), self.operands)
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.operands)
        print_branches(printer, self.regions)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        qualified = parse_qualified(parser)
        found = [q for q, _ in qualified]
        outs = found.count(Qualifier.OUT)
        ins = len(found) - 1 - outs
        if found != [Qualifier.IN, *[Qualifier.OUT] * outs, *[Qualifier.IN] * ins]:
            parser.raise_error("expected an @in condition, then @out, then @in operands")
        attributes = parser.parse_optional_attr_dict()
        values = parse_types(parser, qualified, position)
        bodies = parse_branches(parser)
        op = cls(values[0], values[1 : 1 + outs], values[1 + outs :], bodies)
        op.attributes |= attributes
        return op


@irdl_op_definition
class LoopInstruction(ControlInstruction):
    """
    A program that runs for several steps: `trips` times, as long as the condition `while` holds,
    and never more than `steps` times.

    The body has these arguments: the number of the step, which the loop writes to the operand
    `step`; the next condition, if there is one, which the body writes; the carried values, which
    the body finds as the step before left them; the part of each of the `stacks` that belongs to
    this step; and what it `reads`. `count` becomes how many steps there were, or one more than
    `steps` if the loop would have gone on. The stacks, whose rows are at places that are known when
    the program runs, are activations; they are `@out` if all steps run.

    ```mlir
    glow_inst.loop trips @in %n count @out %k step @out %i carries @inout %x stacks @inout %s reads @in %w steps 10 : memref<i64>, memref<i32>, memref<i64>, memref<2xf32>, memref<10x2xf32>, memref<2xf32> {
    ^bb0(%0: memref<i64>, %1: memref<2xf32>, %2: memref<2xf32>, %3: memref<2xf32>):
      glow_inst.add @out %2, @in %1, @in %3 : memref<2xf32>, memref<2xf32>, memref<2xf32>
      glow_inst.copy @out %1, @in %2 : memref<2xf32>, memref<2xf32>
      glow_inst.yield
    }
    ```
    """  # noqa: E501

    name = "glow_inst.loop"

    trips = opt_operand_def(MemRefType)
    going = opt_operand_def(MemRefType)
    count = operand_def(MemRefType)
    step = operand_def(MemRefType)
    carried = var_operand_def(MemRefType)
    stacked = var_operand_def(MemRefType)
    reads = var_operand_def(MemRefType)
    steps = prop_def(IntegerAttr.constr(i64))
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, steps: int, groups: Mapping[str, Sequence[SSAValue]], body: Region):
        """The groups are those of `GROUPS`, without those that have no operands."""
        super().__init__(
            operands=[groups.get(name, ()) for name in self.GROUPS],
            properties={"steps": IntegerAttr(steps, i64)},
            regions=[body],
        )

    GROUPS: ClassVar[Mapping[str, Qualifier]] = {
        "trips": Qualifier.IN,
        "while": Qualifier.INOUT,
        "count": Qualifier.OUT,
        "step": Qualifier.OUT,
        "carries": Qualifier.INOUT,
        "stacks": Qualifier.INOUT,
        "reads": Qualifier.IN,
    }

    @property
    def most(self) -> int:
        return self.steps.value.data

    @property
    def groups(self) -> dict[str, Sequence[SSAValue]]:
        """The operands, by the names of the groups that they belong to."""
        trips, going = ([] if v is None else [v] for v in (self.trips, self.going))
        values = (trips, going, [self.count], [self.step], self.carried, self.stacked, self.reads)
        return dict(zip(self.GROUPS, values, strict=True))

    @property
    def runs_all(self) -> bool:
        """Whether all steps run."""
        return self.trips is None and self.going is None

    def _qualifier(self, group: str) -> Qualifier:
        if group == "stacks" and self.runs_all:
            return Qualifier.OUT
        return self.GROUPS[group]

    def qualifiers(self) -> Sequence[Qualifier]:
        return [self._qualifier(name) for name, values in self.groups.items() for _ in values]

    def inside(self) -> Sequence[tuple[Qualifier, SSAValue]]:
        found: list[tuple[Qualifier, SSAValue]] = [(Qualifier.IN, self.step)]
        if self.going is not None:
            found.append((Qualifier.OUT, self.going))
        found += [(Qualifier.INOUT, v) for v in self.carried]
        found += [(Qualifier.OUT, v) for v in self.stacked]
        return [*found, *((Qualifier.IN, v) for v in self.reads)]

    def is_stacked(self, argument: BlockArgument) -> bool:
        """Returns whether an argument of the body is a row of an operand."""
        first = 1 + (self.going is not None) + len(self.carried)
        return first <= argument.index < first + len(self.stacked)

    def argument_type(self, operand: SSAValue) -> Attribute:
        t = operand.type
        return memref_type(element_of(t), shape_of(t)[1:]) if operand in self.stacked else t

    def accepts(self, index: int, t: MemRefType, buffer: SSAValue) -> bool:
        is_stack = self.operands[index] in self.stacked
        return super().accepts(index, t, buffer) and (
            not is_stack or isinstance(buffer.owner, AllocActivationOp)
        )

    def verify_(self) -> None:
        if self.most < 1:
            raise VerifyException(f"expected steps of at least 1, found {self.most}")
        wanted = {"trips": STEP, "while": CONDITION, "count": COUNT, "step": STEP}
        for name, values in self.groups.items():
            for value in values:
                if name in wanted and value.type != wanted[name]:
                    raise VerifyException(f"expected {name} {wanted[name]}, found {value.type}")
        for value in self.stacked:
            if shape_of(value.type)[:1] != (self.most,):
                raise VerifyException(f"expected stacks of {self.most} rows, found {value.type}")
        super().verify_()

    def print(self, printer: Printer) -> None:
        for name, values in self.groups.items():
            if values:
                printer.print_string(f" {name}")
                print_qualified(printer, [self._qualifier(name)] * len(values), values)
        printer.print_string(f" steps {self.most}")
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.operands)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        groups = {
            name: parse_qualified(parser) if parser.parse_optional_keyword(name) else []
            for name in cls.GROUPS
        }
        parser.parse_keyword("steps")
        steps = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        qualified = [v for values in groups.values() for v in values]
        values = iter(parse_types(parser, qualified, position))
        operands = {name: [next(values) for _ in group] for name, group in groups.items()}
        op = cls(steps, operands, parser.parse_region())
        op.attributes |= attributes
        for (found, _), want in zip(qualified, op.qualifiers(), strict=True):
            if found is not want:
                parser.raise_error(f"expected @{want}, found @{found}")
        return op
