"""Calls of kernels from the program that they are part of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, MemRefType, StringAttr, SymbolRefAttr
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..glow_inst.instruction import (
    Instruction,
    Qualifier,
    parse_qualified,
    parse_types,
    print_types,
)


@irdl_op_definition
class CallOp(Instruction):
    """
    Runs a kernel on buffers of an instruction program.

    ```mlir
    glow_nest.call @k_relu(@out %y, @in %x) : memref<8x4xf32>, memref<8x4xf32>
    ```
    """

    name = "glow_nest.call"

    arguments = var_operand_def(MemRefType)
    callee = prop_def(SymbolRefAttr)
    modes = prop_def(ArrayAttr[StringAttr])

    def __init__(self, callee: str, values: Sequence[SSAValue], qualifiers: Sequence[Qualifier]):
        modes = ArrayAttr([StringAttr(q.value) for q in qualifiers])
        super().__init__(
            operands=[list(values)],
            properties={"callee": SymbolRefAttr(callee), "modes": modes},
        )

    def qualifiers(self) -> Sequence[Qualifier]:
        return [Qualifier(mode.data) for mode in self.modes]

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        printer.print_string("(")
        for i, (qualifier, value) in enumerate(self.qualified_operands()):
            printer.print_string(f"{', ' if i else ''}@{qualifier} ")
            printer.print_ssa_value(value)
        printer.print_string(")")
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.arguments)

    @classmethod
    def parse(cls, parser: Parser) -> CallOp:
        callee = parser.parse_symbol_name()
        position = parser.pos
        parser.parse_punctuation("(")
        qualified = parse_qualified(parser)
        parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict()
        values = parse_types(parser, qualified, position)
        op = cls(callee.data, values, [q for q, _ in qualified])
        op.attributes |= attributes
        return op
