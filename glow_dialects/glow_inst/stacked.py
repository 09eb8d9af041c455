"""Instructions that are not derived from one operator: copies and stacks of data-parallel nodes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..operator import element_of
from .instruction import (
    Instruction,
    Qualifier,
    parse_qualified,
    parse_types,
    print_qualified,
    print_types,
    verify_body,
)
from .segments import segment_sizes


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a body with the elements to store."""

    name = "glow_inst.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[list(values)])


@irdl_op_definition
class CopyOp(Instruction):
    """
    Copies elements between buffers of the same shape, with any strides.

    ```mlir
    glow_inst.copy @out %a, @in %b : memref<4x2xf32, strided<[8, 1]>>, memref<4x2xf32>
    ```
    """

    name = "glow_inst.copy"

    arguments = var_operand_def(MemRefType)

    def __init__(self, dest: SSAValue, source: SSAValue):
        super().__init__(operands=[[dest, source]])

    @property
    def dest(self) -> SSAValue:
        return self.arguments[0]

    @property
    def source(self) -> SSAValue:
        return self.arguments[1]

    def qualifiers(self) -> Sequence[Qualifier]:
        return (Qualifier.OUT, Qualifier.IN)

    def verify_(self) -> None:
        if len(self.arguments) != 2:
            raise VerifyException(f"expected 2 operands, found {len(self.arguments)}")
        super().verify_()
        a, b = (v.type for v in self.arguments)
        if a.get_shape() != b.get_shape() or a.element_type != b.element_type:  # pyright: ignore
            raise VerifyException(
                f"expected buffers of the same shape and elements, found {a} and {b}"
            )

    def print(self, printer: Printer) -> None:
        print_qualified(printer, self.qualifiers(), self.arguments)
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.arguments)

    @classmethod
    def parse(cls, parser: Parser) -> CopyOp:
        position = parser.pos
        qualified = parse_qualified(parser)
        if [q for q, _ in qualified] != [Qualifier.OUT, Qualifier.IN]:
            parser.raise_error("expected @out and @in operands")
        attributes = parser.parse_optional_attr_dict()
        values = parse_types(parser, qualified, position)
        op = cls(values[0], values[1])
        op.attributes |= attributes
        return op


@irdl_op_definition
class StackedOp(Instruction):
    """
    One loop over elements that runs a chain or tree of data-parallel nodes.

    All buffers have the same shape (a broadcast operand is a view with strides of 0). The body
    takes one element of each `@inout` and `@in` buffer and yields one for each that is written.

    ```mlir
    glow_inst.stacked @out %y, @in %x, @in %b : memref<4xf32>, memref<4xf32>, memref<4xf32> {
    ^bb0(%0: f32, %1: f32):
      %2 = glow.add %0, %1 : (f32, f32) -> f32
      %3 = glow.relu %2 : (f32) -> f32
      glow_inst.yield %3 : f32
    }
    ```
    """

    name = "glow_inst.stacked"

    outs = var_operand_def(MemRefType)
    inouts = var_operand_def(MemRefType)
    ins = var_operand_def(MemRefType)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        outs: Sequence[SSAValue],
        inouts: Sequence[SSAValue],
        ins: Sequence[SSAValue],
        body: Region,
    ):
        super().__init__(operands=[list(outs), list(inouts), list(ins)], regions=[body])

    def qualifiers(self) -> Sequence[Qualifier]:
        outs, inouts, ins = segment_sizes(self)
        return [Qualifier.OUT] * outs + [Qualifier.INOUT] * inouts + [Qualifier.IN] * ins

    def verify_(self) -> None:
        super().verify_()
        if not (self.outs or self.inouts):
            raise VerifyException("expected at least one @out or @inout operand, found none")
        shape = self.operands[0].type.get_shape()  # pyright: ignore
        for value in self.operands:
            if value.type.get_shape() != shape:  # pyright: ignore
                raise VerifyException(f"expected operands of shape {shape}, found {value.type}")
        read = [element_of(v.type) for v in (*self.inouts, *self.ins)]
        verify_body(self.body, read, [*self.outs, *self.inouts])

    def print(self, printer: Printer) -> None:
        print_qualified(printer, self.qualifiers(), self.operands)
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.operands)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> StackedOp:
        position = parser.pos
        qualified = parse_qualified(parser)
        order = [Qualifier.OUT, Qualifier.INOUT, Qualifier.IN]
        found = [q for q, _ in qualified]
        if found != sorted(found, key=order.index):
            parser.raise_error("expected operands in the order @out, @inout, @in")
        attributes = parser.parse_optional_attr_dict()
        values = parse_types(parser, qualified, position)
        groups = [[v for v, f in zip(values, found, strict=True) if f is q] for q in order]
        op = cls(*groups, body=parser.parse_region())
        op.attributes |= attributes
        return op
