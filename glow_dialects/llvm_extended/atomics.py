"""Atomic read-modify-write. Atomic loads and stores are `llvm.load` and `llvm.store`."""

from __future__ import annotations

from enum import IntEnum

from xdsl.dialects.builtin import IntegerAttr, SignlessIntegerConstraint, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from .common import POINTER


class AtomicKind(IntEnum):
    """The operations of `llvm.atomicrmw` on an integer in memory; upstream's numbers."""

    XCHG = 0
    ADD = 1
    SUB = 2
    _AND = 3
    NAND = 4
    _OR = 5
    _XOR = 6
    MAX = 7
    MIN = 8
    UMAX = 9
    UMIN = 10


class Ordering(IntEnum):
    """Memory orderings of LLVM; upstream's numbers."""

    NOT_ATOMIC = 0
    UNORDERED = 1
    MONOTONIC = 2
    ACQUIRE = 4
    RELEASE = 5
    ACQ_REL = 6
    SEQ_CST = 7


_KINDS = {kind.name.lower(): kind for kind in AtomicKind}
_ORDERINGS = {ordering.name.lower(): ordering for ordering in Ordering}


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """
    Changes an integer in memory in one step, and gives its old value.

    ```mlir
    %r = llvm.atomicrmw add %p, %v seq_cst : !llvm.ptr, i32
    ```
    """

    name = "llvm.atomicrmw"

    ptr = operand_def(POINTER)
    val = operand_def(SignlessIntegerConstraint)
    bin_op = prop_def(IntegerAttr.constr(i64))
    ordering = prop_def(IntegerAttr.constr(i64))
    res = result_def(SignlessIntegerConstraint)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, kind: AtomicKind, ptr: SSAValue, val: SSAValue, ordering: Ordering):
        super().__init__(
            operands=[ptr, val],
            result_types=[val.type],
            properties={"bin_op": IntegerAttr(kind, i64), "ordering": IntegerAttr(ordering, i64)},
        )

    @property
    def kind(self) -> AtomicKind:
        return AtomicKind(self.bin_op.value.data)

    def verify_(self) -> None:
        if self.bin_op.value.data not in list(AtomicKind):
            raise VerifyException(f"no atomic operation has number {self.bin_op.value.data}")
        ordering = self.ordering.value.data
        if ordering not in list(Ordering) or ordering < Ordering.MONOTONIC:
            raise VerifyException("expected at least monotonic ordering")
        if self.val.type != self.res.type:
            raise VerifyException(f"expected a result of type {self.val.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.name.lower()} ")
        printer.print_ssa_value(self.ptr)
        printer.print_string(", ")
        printer.print_ssa_value(self.val)
        printer.print_string(f" {Ordering(self.ordering.value.data).name.lower()}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)
        printer.print_string(", ")
        printer.print_attribute(self.val.type)

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        kind = parser.expect(lambda: parser.parse_optional_keyword_in(_KINDS), "expected a kind")
        ptr = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        val = parser.parse_unresolved_operand()
        ordering = parser.expect(
            lambda: parser.parse_optional_keyword_in(_ORDERINGS), "expected an ordering"
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        pointer_type = parser.parse_type()
        parser.parse_punctuation(",")
        value_type = parser.parse_type()
        op = cls(
            _KINDS[kind],
            parser.resolve_operand(ptr, pointer_type),
            parser.resolve_operand(val, value_type),
            _ORDERINGS[ordering],
        )
        op.attributes |= attributes
        return op
