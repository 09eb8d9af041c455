"""
Helpers of the passes on instruction programs: access lists, views, and the lifetimes of buffers.

A program is a function of one block that holds only `glow_inst` operations. The bodies of branches
and loops are programs of their own, whose arguments are buffers like those of the function; what is
around them sees one instruction that reads and writes its operands. The canonical order of
a program is: weights, views of arguments, then the instructions, each preceded by the allocations
whose life it begins (with their views) and followed by the deallocations of the buffers that it
used last. Passes change instructions freely and then call `tidy`, which restores that order.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...glow_dialects.glow_inst.control import ControlInstruction
from ...glow_dialects.glow_inst.instruction import Instruction, buffer_of
from ...glow_dialects.glow_inst.memory import (
    QUALIFIER,
    AllocActivationOp,
    DeallocActivationOp,
    TensorViewOp,
    WeightOp,
    argument_attributes,
)
from ...glow_dialects.views import may_overlap
from ..visited_operation import each

_KNOWN = (
    *(Instruction, AllocActivationOp, DeallocActivationOp, TensorViewOp, WeightOp),
    func.ReturnOp,
)


def programs(module: ModuleOp) -> Iterator[func.FuncOp]:
    """Yields the functions of a module that are instruction programs; all others are left alone."""
    for function in each(list(module.ops)):
        if not isinstance(function, func.FuncOp) or len(function.body.blocks) != 1:
            continue
        block = function.body.block
        # a program whose tensors are all empty has no instructions, yet its arguments are qualified
        qualified = any(QUALIFIER in argument_attributes(a) for a in block.args)
        ops = list(block.ops)
        if all(isinstance(op, _KNOWN) for op in ops) and (len(ops) > 1 or qualified):
            yield function


def program_blocks(module: ModuleOp) -> Iterator[Block]:
    """
    Yields the blocks of all instruction programs of a module, those of bodies before what is around
    them.
    """
    for function in programs(module):
        yield from blocks_within(function.body.block)


def blocks_within(block: Block) -> Iterator[Block]:
    """Yields the blocks of a program, those of bodies before what is around them."""
    for op in list(block.ops):
        if isinstance(op, ControlInstruction):
            for body in op.bodies():
                yield from blocks_within(body)
    yield block


def in_order(block: Block) -> Iterator[Operation]:
    """
    Yields the operations of a program, and behind each branch or loop those of its bodies: an order
    in which the life of a buffer is an interval.
    """
    for op in block.ops:
        yield op
        if isinstance(op, ControlInstruction):
            for body in op.bodies():
                yield from in_order(body)


def memref(value: SSAValue) -> MemRefType:
    """Returns the type of a buffer or view."""
    assert isinstance(value.type, MemRefType)
    return value.type


def overlap(a: SSAValue, b: SSAValue) -> bool:
    """Returns false if two buffers or views certainly share no element."""
    buffer = buffer_of(a)
    if buffer is not buffer_of(b):
        return False
    return a is b or may_overlap(memref(a), memref(b), memref(buffer))


def same_view(a: SSAValue, b: SSAValue) -> bool:
    """Returns true if two values are the same elements in the same order."""
    return a is b or (buffer_of(a) is buffer_of(b) and a.type == b.type)


@dataclass(frozen=True)
class OperandAccess:
    """An operand of an instruction."""

    slot: int
    instruction: Instruction
    index: int
    value: SSAValue
    reads: bool
    writes: bool


class Timeline:
    """
    The instructions of a block in order, and for each buffer the slots of those that touch it.

    Instructions keep their slots while others vanish, so positions can be compared at any time. The
    slot before each instruction is free, so that another one can be moved there.
    """

    def __init__(self, block: Block):
        self.block = block
        self.slots: list[Instruction | None] = []
        self.slot_of: dict[Instruction, int] = {}
        self._touched: dict[SSAValue, list[int]] = {}
        self._written: dict[SSAValue, list[int]] = {}
        self._slots_of_views: dict[SSAValue, dict[SSAValue, list[int]]] = {}
        self._views: dict[SSAValue, list[SSAValue]] = {}
        for op in block.ops:
            if isinstance(op, TensorViewOp):
                self._views.setdefault(op.source, []).append(op.result)
            if isinstance(op, Instruction):
                self.slots += [None, None]
                self.put(op, len(self.slots) - 1)

    def put(self, op: Instruction, slot: int) -> None:
        """Inserts an instruction into an empty slot."""
        self.slots[slot] = op
        self.slot_of[op] = slot
        for buffer in {buffer_of(v) for v in op.operands}:
            insort(self._touched.setdefault(buffer, []), slot)
        for buffer in {buffer_of(v) for v in op.written()}:
            insort(self._written.setdefault(buffer, []), slot)
        for view in set(op.operands):
            of_buffer = self._slots_of_views.setdefault(buffer_of(view), {})
            insort(of_buffer.setdefault(view, []), slot)

    def take(self, op: Instruction) -> int:
        """Removes an instruction from the lists, not from the block; returns its slot."""
        slot = self.slot_of.pop(op)
        self.slots[slot] = None
        for buffer in {buffer_of(v) for v in op.operands}:
            touched = self._touched[buffer]
            del touched[bisect_left(touched, slot)]
        for buffer in {buffer_of(v) for v in op.written()}:
            written = self._written[buffer]
            del written[bisect_left(written, slot)]
        for view in set(op.operands):
            slots = self._slots_of_views[buffer_of(view)][view]
            del slots[bisect_left(slots, slot)]
        return slot

    def replace(self, old: Instruction, new: Instruction) -> None:
        """Inserts `new`, which is not in the block yet, in place of `old`, which is erased."""
        slot = self.take(old)
        self.block.insert_op_before(new, old)
        old.detach()
        old.erase()
        self.put(new, slot)

    def erase(self, op: Instruction) -> None:
        self.take(op)
        op.detach()
        op.erase()

    def redirect(self, op: Instruction, index: int, value: SSAValue) -> None:
        """Lets operand `index` be `value`."""
        slot = self.take(op)
        op.operands[index] = value
        self.put(op, slot)

    def accesses(
        self, buffer: SSAValue, first: int = 0, end: int | None = None, writes: bool = False
    ) -> Iterator[OperandAccess]:
        """
        Yields the accesses to `buffer` in order, within the slots from `first` up to `end`, by all
        instructions or only by those that write it.
        """
        slots = (self._written if writes else self._touched).get(buffer, [])
        stop = len(slots) if end is None else bisect_left(slots, end)
        for slot in slots[bisect_left(slots, first) : stop]:
            for access in self._accesses_at(slot):
                if buffer_of(access.value) is buffer:
                    yield access

    def _accesses_at(self, slot: int) -> Iterator[OperandAccess]:
        op = self.slots[slot]
        assert op is not None
        for i, (qualifier, value) in enumerate(op.qualified_operands()):
            yield OperandAccess(slot, op, i, value, qualifier.reads, qualifier.writes)

    def overlapping(self, value: SSAValue, first: int, end: int) -> Iterator[OperandAccess]:
        """
        Yields the accesses to elements of `value` within the slots from `first` up to `end`, those
        of one view after those of another.
        """
        # a concatenation has as many views as parts, and each copy into it asks: few are looked at
        for view, slots in self._slots_of_views.get(buffer_of(value), {}).items():
            i = bisect_left(slots, first)
            if i == len(slots) or slots[i] >= end or not overlap(view, value):
                continue
            for slot in slots[i : bisect_left(slots, end)]:
                for access in self._accesses_at(slot):
                    if access.value is view:
                        yield access

    def count(self, buffer: SSAValue) -> int:
        """Returns the number of instructions that use `buffer`."""
        return len(self._touched.get(buffer, ()))

    def span(self, buffer: SSAValue) -> tuple[int, int]:
        """Returns the first and last slot that use `buffer`, which something uses."""
        touched = self._touched[buffer]
        return touched[0], touched[-1]

    def previous_write(self, buffer: SSAValue, slot: int) -> int | None:
        """Returns the last slot before `slot` that writes `buffer`."""
        written = self._written.get(buffer, [])
        i = bisect_left(written, slot)
        return written[i - 1] if i else None

    def conflicts(self, value: SSAValue, writing: bool, first: int, end: int) -> bool:
        """
        Returns whether a read (or write) of `value` may not move across the slots from `first` up
        to `end`: something there writes (or touches) elements of it.
        """
        return any(a.writes or writing for a in self.overlapping(value, first, end))

    def instructions(self) -> list[Instruction]:
        """Returns the remaining instructions, in order."""
        return [op for op in self.slots if op is not None]

    def view(self, buffer: SSAValue, t: MemRefType) -> SSAValue:
        """Returns `buffer` seen as `t`: itself, a view that exists, or a new one."""
        if t == buffer.type:
            return buffer
        views = self._views.setdefault(buffer, [])
        for view in views:
            if view.type == t:
                return view
        op = TensorViewOp.create(operands=[buffer], result_types=[t])
        op.result.name_hint = buffer.name_hint
        if isinstance(buffer, OpResult):
            self.block.insert_op_after(op, buffer.op)
        else:
            first = self.block.first_op
            assert first is not None
            self.block.insert_op_before(op, first)
        views.append(op.result)
        return op.result


def _drop_unused(block: Block) -> None:
    """Removes views and weights that nothing uses, and allocations that no instruction uses."""
    for op in reversed(list(block.ops)):
        unused = isinstance(op, TensorViewOp | WeightOp) and not op.result.uses
        if unused:
            op.detach()
            op.erase()
        elif isinstance(op, AllocActivationOp):
            users = [use.operation for use in op.result.uses]
            if all(isinstance(u, DeallocActivationOp) for u in users):
                for user in [*users, op]:
                    user.detach()
                    user.erase()


def _last_users(instructions: list[Instruction]) -> dict[SSAValue, Instruction]:
    """Returns the instruction that uses each buffer last."""
    last: dict[SSAValue, Instruction] = {}
    for op in instructions:
        for value in op.operands:
            last[buffer_of(value)] = op
    return last


def _deallocations(block: Block) -> dict[SSAValue, Operation]:
    return {op.buffer: op for op in block.ops if isinstance(op, DeallocActivationOp)}


def _views(block: Block) -> dict[SSAValue, list[Operation]]:
    views: dict[SSAValue, list[Operation]] = {}
    for op in block.ops:
        if isinstance(op, TensorViewOp):
            views.setdefault(op.source, []).append(op)
    return views


def _prologue(block: Block) -> list[Operation]:
    """Returns the values before the first instruction: weights and arguments with their views."""
    views = _views(block)
    order: list[Operation] = []
    for op in block.ops:
        if isinstance(op, WeightOp):
            order += [op, *views.get(op.result, ())]
    for argument in block.args:
        order += views.get(argument, ())
    return order


def _is_activation(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, AllocActivationOp)


def tidy(block: Block, instructions: list[Instruction] | None = None) -> None:
    """
    Puts a program into canonical order, with the instructions in the given order (by default the
    order in which they stand). Views, weights and allocations without users vanish, and every
    buffer lives exactly from its first to its last use; missing deallocations are made.
    """
    _drop_unused(block)
    if instructions is None:
        instructions = [op for op in block.ops if isinstance(op, Instruction)]
    last = _last_users(instructions)
    deallocations = _deallocations(block)
    order = _prologue(block)
    views = _views(block)
    begun: set[SSAValue] = set()
    for op in instructions:
        buffers = [b for b in dict.fromkeys(map(buffer_of, op.operands)) if _is_activation(b)]
        for buffer in buffers:
            if buffer not in begun:
                begun.add(buffer)
                assert isinstance(buffer, OpResult)
                order += [buffer.op, *views.get(buffer, ())]
        order.append(op)
        order += [
            deallocations.get(b) or DeallocActivationOp.create(operands=[b])
            for b in buffers
            if last[b] is op
        ]
    terminator = block.last_op
    assert terminator is not None
    _reorder(block, [*order, terminator])


def _reorder(block: Block, order: list[Operation]) -> None:
    """Gives the block's operations this order, leaving alone those that already stand there."""
    current = block.first_op
    for op in order:
        if op is current:
            current = op.next_op
            continue
        if op.parent is not None:
            op.detach()
        if current is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, current)
