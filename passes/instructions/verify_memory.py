"""
Checks how programs use memory.

One walk over the instructions, in order, proves that
- a buffer is used only between its allocation and its one deallocation, which exists;
- neither weights nor inputs are written;
- nothing is read of an activation or an output that was not written before;
- elements which an instruction writes are not also reached through another of its operands: reading
  and writing the same elements is spelled `@inout`;
- once memory is planned, no two buffers that are alive at once overlap, everything lies inside the
  arena, and weights overlap only if they are equal.

The same holds for the bodies of branches and loops, which are programs on their arguments. All
buffers of a branch or loop lie in the arena with those around it.

Functions that are not instruction programs are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...errors import at_operation
from ...glow_dialects.elements import type_bytes
from ...glow_dialects.glow_inst.instruction import Instruction, buffer_of
from ...glow_dialects.glow_inst.memory import (
    AllocActivationOp,
    DeallocActivationOp,
    TensorViewOp,
    WeightOp,
    argument_qualifier,
)
from ...glow_dialects.plan_attributes import ARENA_SIZE
from ...glow_dialects.views import is_whole
from ..levels import PROGRAM
from ..visited_operation import each
from .allocate import lifetimes_of
from .memory_planner import check_no_overlap
from .program import blocks_within, in_order, memref, overlap, programs


def _fail(op: Operation, message: str) -> NoReturn:
    raise at_operation(VerifyException(message), op)


def _name(value: SSAValue) -> str:
    buffer = buffer_of(value)
    return f"%{buffer.name_hint}" if buffer.name_hint else f"a buffer of type {buffer.type}"


@dataclass
class _Walk:
    """The state of memory at the current instruction."""

    alive: dict[SSAValue, AllocActivationOp] = field(default_factory=dict)
    freed: set[SSAValue] = field(default_factory=set)
    readonly: set[SSAValue] = field(default_factory=set)
    written: dict[SSAValue, list[SSAValue]] = field(default_factory=dict)
    """The views through which a buffer was written; only the buffer itself once that was."""

    def begin(self, op: AllocActivationOp) -> None:
        self.alive[op.result] = op
        self.written[op.result] = []

    def end(self, op: DeallocActivationOp) -> None:
        if op.buffer in self.freed:
            _fail(op, f"expected {_name(op.buffer)} to be freed once, found a second time")
        self.check_alive(op, op.buffer)
        del self.alive[op.buffer]
        self.freed.add(op.buffer)

    def check_alive(self, op: Operation, value: SSAValue) -> None:
        buffer = buffer_of(value)
        if not isinstance(buffer.owner, AllocActivationOp) or buffer in self.alive:
            return
        when = "after its deallocation" if buffer in self.freed else "before its allocation"
        _fail(op, f"expected {_name(buffer)} to be alive, found a use {when}")

    def run(self, op: Instruction) -> None:
        operands = list(op.qualified_operands())
        for _, value in operands:
            self.check_alive(op, value)
        for qualifier, value in operands:
            if qualifier.reads:
                self._read(op, value)
        self._check_writes(op)
        for qualifier, value in operands:
            if qualifier.writes:
                self._write(value)

    def _check_writes(self, op: Instruction) -> None:
        operands = list(op.qualified_operands())
        for i, (qualifier, value) in enumerate(operands):
            if not qualifier.writes:
                continue
            if buffer_of(value) in self.readonly:
                _fail(op, f"expected to write an activation or output, found {_name(value)}")
            for j, (_, other) in enumerate(operands):
                if i != j and overlap(value, other):
                    _fail(
                        op,
                        f"expected operand {i} (@{qualifier}) to share no elements with "
                        f"operand {j}, found both in {_name(value)}",
                    )

    def _read(self, op: Instruction, value: SSAValue) -> None:
        views = self.written.get(buffer_of(value))
        if views is None or 0 in memref(value).get_shape():
            return
        if not any(overlap(value, view) for view in views):
            _fail(op, f"expected {_name(value)} to be written before it is read")

    def _write(self, value: SSAValue) -> None:
        buffer = buffer_of(value)
        views = self.written.get(buffer)
        if views is None or views == [buffer]:
            return
        if is_whole(memref(value), memref(buffer)):
            self.written[buffer] = [buffer]
        elif value not in views:
            views.append(value)


def _walk_over(block: Block) -> _Walk:
    """
    Returns the state before the first operation: inputs are read-only, outputs are not yet written.
    """
    walk = _Walk()
    for argument in block.args:
        qualifier = argument_qualifier(argument)
        if qualifier == "in":
            walk.readonly.add(argument)
        elif qualifier == "out":
            walk.written[argument] = []
    return walk


def _verify_uses(block: Block) -> None:
    walk = _walk_over(block)
    for op in each(block.ops):
        match op:
            case WeightOp():
                walk.readonly.add(op.result)
            case AllocActivationOp():
                walk.begin(op)
            case DeallocActivationOp():
                walk.end(op)
            case TensorViewOp():
                walk.check_alive(op, op.source)
            case Instruction():
                walk.run(op)
            case _:
                pass
    for op in walk.alive.values():
        _fail(op, f"expected {_name(op.result)} to be freed, found no deallocation")


def _verify_arena(function: func.FuncOp) -> None:
    allocations, lifetimes = lifetimes_of(function.body.block)
    planned = [op for op in allocations if op.offset is not None]
    if not planned:
        return
    for op in allocations:
        if op.offset is None:
            _fail(op, "expected an offset, since other allocations have one")
    offsets = [op.offset.value.data for op in planned if op.offset is not None]
    size = function.attributes.get(ARENA_SIZE)
    if isinstance(size, IntegerAttr):
        for op, offset, life in zip(planned, offsets, lifetimes, strict=True):
            if offset < 0 or offset + life.size > size.value.data:
                _fail(
                    op,
                    f"expected {life.size} bytes at offset {offset} to lie inside the arena of "
                    f"{size.value.data} bytes",
                )
    found = check_no_overlap(lifetimes, offsets)
    if found is not None:
        a, b = found
        _fail(
            planned[b],
            f"expected memory of its own, found {lifetimes[b].size} bytes at offset {offsets[b]} "
            f"that overlap {_name(planned[a].result)}, {lifetimes[a].size} bytes at offset "
            f"{offsets[a]}, which is alive",
        )


def _verify_weights(function: func.FuncOp) -> None:
    placed = sorted(
        (op.offset.value.data, i, op)
        for i, op in enumerate(in_order(function.body.block))
        if isinstance(op, WeightOp) and op.offset is not None
    )
    end = 0
    before: WeightOp | None = None
    for offset, _, op in placed:
        if before is not None and offset < end and op.value != before.value:
            _fail(op, f"expected memory of its own at offset {offset}, found other weights there")
        if offset + type_bytes(op.result.type) > end:
            end, before = offset + type_bytes(op.result.type), op


def verify_memory(module: ModuleOp) -> None:
    """
    Checks every instruction program of a module.

    Raises VerifyException on the first violation; its attribute `operation` is the offending one.
    """
    for function in programs(module):
        for block in blocks_within(function.body.block):
            _verify_uses(block)
        _verify_arena(function)
        _verify_weights(function)


@dataclass(frozen=True)
class VerifyMemoryPass(ModulePass):
    """Checks the use of memory and changes nothing."""

    name = "glow-verify-memory"
    level = PROGRAM

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_memory(op)
