"""The memory of a compiled program, read from its allocated instruction program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .signature import main_function

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation

    from ..glow_dialects.glow_inst.memory import AllocActivationOp

ARENA_SIZE = "glow.arena_size"
ARENA_LOWER_BOUND = "glow.arena_lower_bound"
WEIGHTS_SIZE = "glow.weights_size"


@dataclass(frozen=True)
class Buffer:
    """An activation's place in the arena while it lives."""

    name: str
    offset: int
    """Bytes from the start of the arena."""
    size: int
    """Bytes."""
    first: int
    """Index of the operation of the program that allocates it."""
    last: int
    """Index of the operation that ends its life."""

    def overlaps(self, other: Buffer) -> bool:
        """Whether the two share bytes at any moment of their lives."""
        apart = self.last < other.first or other.last < self.first
        disjoint = (
            self.offset + self.size <= other.offset or other.offset + other.size <= self.offset
        )
        return not (apart or disjoint)


@dataclass(frozen=True)
class MemoryPlan:
    """The places of all buffers and weights. All sizes are in bytes."""

    arena_bytes: int
    """What one run needs beside inputs, outputs and weights."""
    lower_bound: int
    """
    The maximum over time of the bytes alive: no plan for this order of instructions needs less.
    """
    weight_bytes: int
    """The weight segment, shared by all runs."""
    buffers: tuple[Buffer, ...]
    """Activations in order of allocation."""

    def __repr__(self) -> str:
        return (
            f"MemoryPlan(arena_bytes={self.arena_bytes}, lower_bound={self.lower_bound}, "
            f"weight_bytes={self.weight_bytes}, buffers=({len(self.buffers)}))"
        )


def function_bytes(main: FuncOp, name: str) -> int:
    """A size in bytes from an attribute of the function; 0 if it is absent."""
    from xdsl.dialects.builtin import IntegerAttr

    value = main.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else 0


def plan_of(module: ModuleOp) -> MemoryPlan:
    """The plan of a module that `glow-allocate` has run on."""
    from xdsl.ir import Operation

    from ..glow_dialects.glow_inst.memory import AllocActivationOp, DeallocActivationOp

    main = main_function(module)
    operations = list(main.body.block.ops)
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
    )


def _buffer(op: AllocActivationOp, first: int, last: int) -> Buffer:
    from xdsl.dialects.builtin import MemRefType

    from ..glow_dialects.elements import type_bytes

    assert isinstance(op.result.type, MemRefType)
    offset = op.offset.value.data if op.offset is not None else 0
    name = op.result.name_hint or f"buffer_{first}"
    return Buffer(name, offset, type_bytes(op.result.type), first, last)
