"""Address arithmetic."""

from __future__ import annotations

from enum import IntEnum

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    i32,
)
from xdsl.dialects.utils import (
    parse_dynamic_index_list_without_types,
    print_dynamic_index_list,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...wording import counted
from .common import (
    INTEGERS,
    POINTER,
    POINTERS,
)


class NoWrap(IntEnum):
    """The promises of `llvm.getelementptr` about its arithmetic. Values are upstream's."""

    NONE = 0
    NUSW = 2
    INBOUNDS = 3
    """The result and every intermediate address lie in one object (or just past its end)."""
    NUW = 4


DYNAMIC = llvm.GEP_USE_SSA_VAL
"""Stands in `rawConstantIndices` for an index that is an operand."""


@irdl_op_definition
class GEPOp(IRDLOperation):
    """
    Address arithmetic: `base` plus the first index times the size of `elem_type`, then further
    indices into that type. A vector of indices gives a vector of pointers.

    ```mlir
    %p = llvm.getelementptr inbounds %base[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %q = llvm.getelementptr %base[%v] : (!llvm.ptr, vector<4xi64>) -> vector<4x!llvm.ptr>, f32
    ```
    """

    name = "llvm.getelementptr"

    base = operand_def(POINTER | POINTERS)
    dynamicIndices = var_operand_def(INTEGERS)
    rawConstantIndices = prop_def(DenseArrayBase.constr(i32))
    elem_type = prop_def()
    noWrapFlags = prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(NoWrap.NONE, i32))
    res = result_def(POINTER | POINTERS)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        indices = self.rawConstantIndices.get_values()
        if not indices:
            raise VerifyException("expected at least one index")
        if indices.count(DYNAMIC) != len(self.dynamicIndices):
            raise VerifyException(
                f"expected {counted(indices.count(DYNAMIC), 'index', 'indices')} as operands, "
                f"found {len(self.dynamicIndices)}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> GEPOp:
        flags = NoWrap.NONE
        for flag in (NoWrap.INBOUNDS, NoWrap.NUSW, NoWrap.NUW):
            if parser.parse_optional_keyword(flag.name.lower()) is not None:
                flags = flag
        pointer = parser.parse_unresolved_operand()
        dynamic, indices = parse_dynamic_index_list_without_types(parser, DYNAMIC)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        function = parser.parse_function_type()
        parser.parse_punctuation(",")
        return cls.create(
            operands=parser.resolve_operands([pointer, *dynamic], function.inputs.data, parser.pos),
            result_types=function.outputs.data,
            properties={
                "rawConstantIndices": DenseArrayBase.from_list(i32, indices),
                "elem_type": parser.parse_type(),
                "noWrapFlags": IntegerAttr(flags, i32),
            },
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        flags = NoWrap(self.noWrapFlags.value.data)
        if flags is not NoWrap.NONE:
            printer.print_string(f" {flags.name.lower()}")
        printer.print_string(" ")
        printer.print_ssa_value(self.base)
        print_dynamic_index_list(
            printer, DYNAMIC, self.dynamicIndices, self.rawConstantIndices.get_values()
        )
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type([o.type for o in self.operands], [self.res.type])
        printer.print_string(", ")
        printer.print_attribute(self.elem_type)
