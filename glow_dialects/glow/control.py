"""
Branches and loops, whose bodies are graphs of their own.

A body sees nothing but its arguments, so an operation with bodies is to everything around it like
a node: it reads its operands and computes its results. What a body needs from outside is an operand
of the operation and an argument of the body; constants are inside of bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ...wording import counted
from ..elements import tensor_type
from ..operator import Canonicalizes, element_of, shape_of
from ..segments_text import parse_groups, print_groups

CONDITION, STEP, COUNT = tensor_type(i1, []), tensor_type(i64, []), tensor_type(i32, [])
"""The types of a condition, of the number of a step, and of how many steps there were."""


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    Ends a body with its results.

    ```mlir
    %c = "test.op"() : () -> tensor<i1>
    %r = glow.if %c : (tensor<i1>) -> tensor<2xf32> then {
      %0 = glow.splat value 1.0 : tensor<2xf32>
      glow.yield %0 : tensor<2xf32>
    } else {
      %1 = glow.splat value 2.0 : tensor<2xf32>
      glow.yield %1 : tensor<2xf32>
    }
    ```
    """

    name = "glow.yield"

    values = var_operand_def(TensorType)

    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[list(values)])


class WithBodies(IRDLOperation):
    """An operation with graphs as bodies."""

    traits = traits_def(Pure(), IsolatedFromAbove(), Canonicalizes())

    def bodies(self) -> Sequence[Block]:
        return [region.block for region in self.regions]


def yielded(body: Block) -> Sequence[SSAValue]:
    """Returns the results of a body."""
    assert body.last_op is not None
    return body.last_op.operands


def expect_arguments(body: Block, arguments: Sequence[Attribute]) -> None:
    """Raises VerifyException unless a body has arguments of these types."""
    found = [a.type for a in body.args]
    if found != list(arguments):
        raise VerifyException(f"expected a body on {_listed(arguments)}, found {_listed(found)}")


def print_branches(printer: Printer, bodies: Sequence[Region]) -> None:
    """Prints ` then {...} else {...}`."""
    for keyword, body in zip(("then", "else"), bodies, strict=True):
        printer.print_string(f" {keyword} ")
        printer.print_region(body)


def parse_branches(parser: Parser) -> list[Region]:
    """Returns both bodies of `then {...} else {...}`."""
    bodies: list[Region] = []
    for keyword in ("then", "else"):
        parser.parse_keyword(keyword)
        bodies.append(parser.parse_region())
    return bodies


def _expect_body(body: Region, arguments: Sequence[Attribute], results: Sequence[Attribute]):
    """Expects a body with arguments and results of these types."""
    expect_arguments(body.block, arguments)
    last = body.block.last_op
    if not isinstance(last, YieldOp):
        name = "nothing" if last is None else last.name
        raise VerifyException(f"expected a body that ends with glow.yield, found {name}")
    found = [v.type for v in last.values]
    if found != list(results):
        raise VerifyException(
            f"expected a body that yields {_listed(results)}, found {_listed(found)}"
        )


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types)) or "nothing"


@irdl_op_definition
class IfOp(WithBodies):
    """
    The results of one of two bodies, which a condition chooses. Both have the operands behind the
    condition as arguments.

    ```mlir
    %c, %x = "test.op"() : () -> (tensor<i1>, tensor<4xf32>)
    %r = glow.if %c, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
    ^bb0(%0: tensor<4xf32>):
      %1 = glow.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
      glow.yield %1 : tensor<4xf32>
    } else {
    ^bb1(%2: tensor<4xf32>):
      glow.yield %2 : tensor<4xf32>
    }
    ```
    """

    name = "glow.if"

    condition = operand_def(CONDITION)
    reads = var_operand_def(TensorType)
    values = var_result_def(TensorType)
    then = region_def("single_block")
    otherwise = region_def("single_block")

    def __init__(
        self,
        condition: SSAValue,
        reads: Sequence[SSAValue],
        types: Sequence[Attribute],
        bodies: Sequence[Region],
    ):
        super().__init__(
            operands=[condition, list(reads)], result_types=[list(types)], regions=list(bodies)
        )

    def verify_(self) -> None:
        arguments = [v.type for v in self.reads]
        for region in self.regions:
            _expect_body(region, arguments, self.result_types)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)
        print_branches(printer, self.regions)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        t = parser.parse_function_type()
        values = parser.resolve_operands(operands, t.inputs.data, start)
        op = cls(values[0], values[1:], t.outputs.data, parse_branches(parser))
        op.attributes |= attributes
        return op


@irdl_op_definition
class LoopOp(WithBodies):
    """
    A body that runs for several steps, one after the other: `trips` times, as long as the condition
    `while` holds, and never more than `steps` times.

    The arguments of the body are the number of the step, the carried values, and what it `reads`.
    It yields the next condition (if there is one), the next carried values, and then one value for
    each of the stacked results. The results are the last carried values, the stacked ones, which
    have the values of all steps along a new first dimension of size `steps` and are 0 behind the
    last step, and how many steps there were: one more than `steps` if the loop would have gone on.

    ```mlir
    %n, %c, %x, %w = "test.op"() : () -> (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>)
    %last, %all, %count = glow.loop trips(%n) while(%c) carries(%x) reads(%w) steps 10 : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<10x2xf32>, tensor<i32>) {
    ^bb0(%i: tensor<i64>, %0: tensor<2xf32>, %1: tensor<2xf32>):
      %2 = glow.add %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %3 = glow.splat value true : tensor<i1>
      glow.yield %3, %2, %2 : tensor<i1>, tensor<2xf32>, tensor<2xf32>
    }
    ```
    """  # noqa: E501

    name = "glow.loop"

    trips = opt_operand_def(STEP)
    going = opt_operand_def(CONDITION)
    carried = var_operand_def(TensorType)
    reads = var_operand_def(TensorType)
    steps = prop_def(IntegerAttr.constr(i64))
    values = var_result_def(TensorType)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    GROUPS: ClassVar[Sequence[str]] = ("trips", "while", "carries", "reads")

    def __init__(
        self,
        steps: int,
        carried: Sequence[SSAValue],
        reads: Sequence[SSAValue],
        body: Region,
        trips: SSAValue | None = None,
        going: SSAValue | None = None,
    ):
        """The types of the stacked results are those that the body yields."""
        ahead = len(carried) + (going is not None)
        rows = [v.type for v in yielded(body.block)[ahead:]]
        types = [v.type for v in carried] + [stacked_type(steps, t) for t in rows]
        super().__init__(
            operands=[trips, going, list(carried), list(reads)],
            result_types=[[*types, COUNT]],
            properties={"steps": IntegerAttr(steps, i64)},
            regions=[body],
        )

    @property
    def most(self) -> int:
        return self.steps.value.data

    @property
    def stacked(self) -> Sequence[SSAValue]:
        return self.values[len(self.carried) : -1]

    @property
    def count(self) -> SSAValue:
        return self.values[-1]

    def stack(self, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Adds stacked results for further values of the body, and returns them."""
        end = self.body.block.last_op
        assert isinstance(end, YieldOp)
        end.operands = [*end.operands, *values]
        *others, last = self.results
        types = [stacked_type(self.most, v.type) for v in values]
        new = [OpResult(t, self, last.index + i) for i, t in enumerate(types)]
        last.index += len(new)
        self.results = SSAValues((*others, *new, last))
        return new

    def verify_(self) -> None:
        if self.most < 1:
            raise VerifyException(f"expected steps of at least 1, found {self.most}")
        carried, reads = ([v.type for v in values] for values in (self.carried, self.reads))
        if len(self.values) <= len(carried) or self.count.type != COUNT:
            raise VerifyException(f"expected {COUNT} as the last result")
        if [v.type for v in self.values[: len(carried)]] != carried:
            raise VerifyException(
                f"expected results of the carried types {_listed(carried)}, "
                f"found {_listed(self.result_types)}"
            )
        for value in self.stacked:
            if shape_of(value.type)[:1] != (self.most,):
                raise VerifyException(
                    f"expected stacked results of {counted(self.most, 'step')}, found {value.type}"
                )
        rows = [tensor_type(element_of(v.type), shape_of(v.type)[1:]) for v in self.stacked]
        condition = [] if self.going is None else [CONDITION]
        _expect_body(self.body, [STEP, *carried, *reads], [*condition, *carried, *rows])

    def print(self, printer: Printer) -> None:
        one = [[] if v is None else [v] for v in (self.trips, self.going)]
        values = (*one, self.carried, self.reads)
        print_groups(printer, dict(zip(self.GROUPS, values, strict=True)))
        printer.print_string(f" steps {self.most}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        groups = parse_groups(parser, cls.GROUPS)
        parser.parse_keyword("steps")
        steps = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        t = parser.parse_function_type()
        unresolved = [v for values in groups.values() for v in values]
        values = iter(parser.resolve_operands(unresolved, t.inputs.data, start))
        operands = [[next(values) for _ in group] for group in groups.values()]
        for name, found in list(zip(cls.GROUPS, operands, strict=True))[:2]:
            if len(found) > 1:
                parser.raise_error(f"expected one value of {name}, found {len(found)}")
        return cls.build(
            operands=operands,
            result_types=[t.outputs.data],
            properties={"steps": IntegerAttr(steps, i64)},
            attributes=attributes,
            regions=[parser.parse_region()],
        )


def stacked_type(steps: int, row: Attribute) -> TensorType:
    """Returns the type of the values of several steps."""
    return tensor_type(element_of(row), [steps, *shape_of(row)])


def bodies_within(op: Operation) -> list[Block]:
    """Returns the bodies in an operation and in what its bodies hold, inner ones first."""
    found: list[Block] = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                found += bodies_within(inner)
            if isinstance(op, WithBodies):
                found.append(block)
    return found
