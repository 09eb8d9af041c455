"""The memory of a compiled program, read from its allocated instruction program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Operation

from ..glow_dialects.elements import type_bytes
from ..glow_dialects.glow_inst.memory import AllocActivationOp, DeallocActivationOp
from ..glow_dialects.plan_attributes import ARENA_LOWER_BOUND, ARENA_SIZE, KEPT_PEAK, WEIGHTS_SIZE
from ..interface.memory_plan import Buffer, MemoryPlan
from ..passes.instructions.program import in_order
from .signature import main_function

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp


def function_bytes(main: FuncOp, name: str) -> int:
    """Returns a size in bytes from an attribute of the function; 0 if it is absent."""
    value = main.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else 0


def plan_of(module: ModuleOp) -> MemoryPlan:
    """Returns the plan of a module that `glow-allocate` has run on."""
    main = main_function(module)
    operations = list(in_order(main.body.block))
    ends: dict[Operation, int] = {
        op.buffer.owner: i
        for i, op in enumerate(operations)
        if isinstance(op, DeallocActivationOp) and isinstance(op.buffer.owner, Operation)
    }
    buffers = tuple(
        _buffer(op, i, ends.get(op, len(operations) - 1))
        for i, op in enumerate(operations)
        if isinstance(op, AllocActivationOp)
    )
    return MemoryPlan(
        function_bytes(main, ARENA_SIZE),
        function_bytes(main, ARENA_LOWER_BOUND),
        function_bytes(main, WEIGHTS_SIZE),
        buffers,
        function_bytes(main, KEPT_PEAK),
    )


def _buffer(op: AllocActivationOp, first: int, last: int) -> Buffer:
    assert isinstance(op.result.type, MemRefType)
    offset = op.offset.value.data if op.offset is not None else 0
    name = op.result.name_hint or f"buffer_{first}"
    return Buffer(name, offset, type_bytes(op.result.type), first, last)
