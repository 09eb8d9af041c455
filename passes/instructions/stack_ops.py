"""
Merges data-parallel instructions into the loop that produces their operands.

A data-parallel instruction (a copy, a splat, a stack, or the instruction of a data-parallel
operator) computes each element from the elements at the same place. If one instruction, the
producer, writes a view and another, the consumer, reads that same view, both can run in one loop,
and the element passes from one to the other without going through memory:

- two data-parallel instructions become one `glow_inst.stacked`;
- a data-parallel instruction after an operator that accepts an epilogue (a convolution, a matrix
  product, a pooling ...) becomes the epilogue of that operator, if nothing else reads the
  intermediate result;
- a splat becomes a number in the body, as does a weight of one element.

Instructions are visited in order, and each one is merged with its producers, splats before others
and the nearest first, until nothing more fits. So chains and trees end up in one instruction.

The merged instruction takes the place of the producer or of the consumer. Either is right only if
no instruction in between writes what the moved one reads, or touches what it writes. What the
merged instruction writes must not be reachable through another of its views (other than the very
same view, which is then `@inout`).

A loop that reads the result of such an operator in another shape runs in the operator's shape, if
strides can express its operands so.

An instruction that only gives wider elements than it reads to one later loop, as `glow.dequantize`
does, is left for that loop: what goes through memory is then narrow.

An intermediate buffer that nothing else reads disappears. If others read it, it is stored too, but
then only neighbours are merged, so that no buffer lives longer than before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ...glow_dialects.elements import element_bytes, memref_type
from ...glow_dialects.glow.base import AcceptsEpilogue
from ...glow_dialects.glow_inst import INSTRUCTIONS
from ...glow_dialects.glow_inst.instruction import Instruction, OperatorInstruction, buffer_of
from ...glow_dialects.glow_inst.memory import AllocActivationOp
from ...glow_dialects.glow_inst.stacked import CopyOp
from ...glow_dialects.views import is_whole, view_through
from ..levels import PROGRAM
from ..visited_operation import visit
from .loops import (
    SPLAT,
    Body,
    accepts_epilogue,
    body_size,
    conflicting,
    is_loop,
    read_views,
)
from .program import Timeline, memref, overlap, same_view, tidy
from .replanning import changing


def is_reshaped(a: SSAValue, b: SSAValue) -> bool:
    """Returns whether two views are all elements of one buffer, in order, in different shapes."""
    buffer = memref(buffer_of(a))
    return (
        buffer_of(a) is buffer_of(b)
        and memref(a).get_shape() != memref(b).get_shape()
        and is_whole(memref(a), buffer)
        and is_whole(memref(b), buffer)
    )


def producer_of(timeline: Timeline, view: SSAValue, slot: int) -> Instruction | None:
    """
    Returns the instruction that last wrote elements of `view`, if it wrote exactly this view, or
    the whole buffer in another shape.
    """
    buffer = buffer_of(view)
    before = timeline.previous_write(buffer, slot)
    while before is not None:
        op = timeline.slots[before]
        assert op is not None
        for written in op.written():
            if overlap(written, view):
                return op if same_view(written, view) or is_reshaped(written, view) else None
        before = timeline.previous_write(buffer, before)
    return None


def is_private(timeline: Timeline, buffer: SSAValue, *users: Instruction) -> bool:
    """Returns true if nothing but the given instructions uses an activation."""
    if not isinstance(buffer.owner, AllocActivationOp) or timeline.count(buffer) > len(users):
        return False
    return all(a.instruction in users for a in timeline.accesses(buffer))


def meeting_slot(
    timeline: Timeline, producer: Instruction, consumer: Instruction, passed: list[SSAValue]
) -> int | None:
    """
    Returns the slot at which both instructions can run as one: the producer's, else the consumer's.

    `passed` are the consumer's operands that come from the producer.
    """
    first, second = timeline.slot_of[producer], timeline.slot_of[consumer]

    def free(op: Instruction, ignored: list[SSAValue]) -> bool:
        between = first + 1, second
        reads = [v for v in op.read() if v not in ignored]
        return not any(timeline.conflicts(v, False, *between) for v in reads) and not any(
            timeline.conflicts(v, True, *between) for v in op.written()
        )

    if free(consumer, passed):
        return first
    return second if free(producer, []) else None


def is_next(timeline: Timeline, producer: Instruction, consumer: Instruction) -> bool:
    """Returns true if no instruction stands between the two."""
    first, second = timeline.slot_of[producer], timeline.slot_of[consumer]
    return all(timeline.slots[slot] is None for slot in range(first + 1, second))


def passed_views(producer: Instruction, consumer: Instruction) -> list[SSAValue] | None:
    """
    Returns the views that the consumer reads as the producer wrote them; None if it also reads such
    elements through another view.
    """
    passed: list[SSAValue] = []
    for view in read_views(consumer):
        for written in producer.written():
            if same_view(view, written):
                passed.append(view)
            elif overlap(view, written):
                return None
    return passed


def _size(view: SSAValue) -> int:
    """Returns bytes of an element."""
    assert isinstance(view.type, MemRefType)
    return element_bytes(view.type.element_type)


@dataclass
class Stacker:
    """Merges the instructions of one block."""

    timeline: Timeline
    max_ops: int
    epilogues: Sequence[str] = ()
    """Operators that take epilogues; all that accept one, if none is named."""

    def run(self) -> None:
        for slot in range(len(self.timeline.slots)):
            op = self.timeline.slots[slot]
            visit(op)
            while op is not None and is_loop(op) and not self._widens_for_one(op):
                op = self._merge_once(op)

    def _widens_for_one(self, op: Instruction) -> bool:
        """
        Returns whether an instruction gives one later loop wider elements than it reads, such as
        numbers instead of quantized ones: then that loop takes it in, and narrow ones go through
        memory.
        """
        written = op.written()
        if len(written) != 1 or type(op) is SPLAT:
            return False
        buffer = buffer_of(written[0])
        sizes = [_size(v) for v in read_views(op)]
        if not sizes or max(sizes) >= _size(written[0]):
            return False
        others = [a.instruction for a in self.timeline.accesses(buffer) if a.instruction is not op]
        return (
            len(set(others)) == 1
            and is_loop(others[0])
            and is_private(self.timeline, buffer, op, others[0])
        )

    def _merge_once(self, consumer: Instruction) -> Instruction | None:
        """
        Returns the instruction that the consumer became; None if it cannot be merged (any further).
        """
        slot = self.timeline.slot_of[consumer]
        producers = {
            p: self.timeline.slot_of[p]
            for view in consumer.read()
            if (p := producer_of(self.timeline, view, slot)) is not None
        }
        # numbers first: an epilogue takes in nothing more
        order = sorted(
            producers, key=lambda p: (type(p) is SPLAT, is_loop(p), producers[p]), reverse=True
        )
        for producer in order:
            merged = self._merge(producer, consumer)
            if merged is not None:
                return merged
        return None

    def _merge(self, producer: Instruction, consumer: Instruction) -> Instruction | None:
        size = body_size(producer) + body_size(consumer)
        if size > self.max_ops or size == 0:
            return None
        if self._takes_epilogue(producer):
            self._see_as(producer, consumer)
        passed = passed_views(producer, consumer)
        if not passed:
            return None
        if type(producer) is SPLAT:
            return self._merge_splat(producer, consumer)
        slot = meeting_slot(self.timeline, producer, consumer, passed)
        if slot is None:
            return None
        if is_loop(producer):
            return self._merge_loops(producer, consumer, passed, slot)
        if self._takes_epilogue(producer) and not isinstance(consumer, CopyOp):
            assert isinstance(producer, OperatorInstruction)
            return self._merge_epilogue(producer, consumer, passed, slot)
        return None

    def _see_as(self, producer: Instruction, consumer: Instruction) -> None:
        """
        Reshapes the operands of a loop to the shape of an operator's result, if the loop reads the
        result in another shape, no other instruction reads it, and strides can express the views.
        """
        result = producer.written()[0]
        buffer = buffer_of(result)
        if not any(is_reshaped(result, v) for v in consumer.read()):
            return
        if not is_private(self.timeline, buffer, producer, consumer):
            return
        shape = memref(result).get_shape()
        seen: list[MemRefType] = []
        for value in consumer.operands:
            t = memref(value)
            found = view_through(t, memref_type(t.element_type, shape))
            if found is None:
                return
            seen.append(found)
        for i, t in enumerate(seen):
            view = self.timeline.view(buffer_of(consumer.operands[i]), t)
            self.timeline.redirect(consumer, i, view)

    def _takes_epilogue(self, producer: Instruction) -> bool:
        name = producer.name.removeprefix("glow_inst.")
        return accepts_epilogue(producer) and (not self.epilogues or name in self.epilogues)

    def _merge_splat(self, producer: Instruction, consumer: Instruction) -> Instruction:
        """
        Replaces the reads of a splat by its number; the splat stays if anything else reads it.
        """
        body = Body()
        body.absorb(producer)
        (dest,) = producer.written()
        body.absorb(consumer)
        if not any(same_view(dest, v) for v in consumer.written()):
            body.forget(dest)
        merged = body.stacked()
        self.timeline.replace(consumer, merged)
        if is_private(self.timeline, buffer_of(dest), producer):
            self.timeline.erase(producer)
        return merged

    def _merge_loops(
        self, producer: Instruction, consumer: Instruction, passed: list[SSAValue], slot: int
    ) -> Instruction | None:
        vanishing = [
            w
            for w in producer.written()
            if is_private(self.timeline, buffer_of(w), producer, consumer)
            and not any(same_view(w, v) for v in consumer.written())
        ]
        if not vanishing and not is_next(self.timeline, producer, consumer):
            return None
        reads = [*producer.read(), *(v for v in consumer.read() if v not in passed)]
        kept = [w for w in producer.written() if w not in vanishing]
        if conflicting(reads, [*kept, *consumer.written()]):
            return None
        body = Body()
        body.absorb(producer)
        body.absorb(consumer)
        for view in vanishing:
            body.forget(view)
        return self._put(producer, consumer, body.stacked(), slot)

    def _merge_epilogue(
        self,
        producer: OperatorInstruction,
        consumer: Instruction,
        passed: list[SSAValue],
        slot: int,
    ) -> Instruction | None:
        (result,) = producer.dests
        written = consumer.written()
        if len(written) != 1:
            return None
        in_place = same_view(result, written[0])
        if not in_place and not is_private(self.timeline, buffer_of(result), producer, consumer):
            return None
        elements = [*read_views(producer), *(v for v in consumer.read() if v not in passed)]
        if conflicting(elements, written) or any(overlap(written[0], s) for s in producer.sources):
            return None
        body = Body()
        accumulated = body.absorb_epilogue(producer)
        body.absorb(consumer)
        if not in_place:
            body.forget(result)
        return self._put(producer, consumer, body.as_epilogue_of(producer, accumulated), slot)

    def _put(
        self, producer: Instruction, consumer: Instruction, merged: Instruction, slot: int
    ) -> Instruction:
        here, gone = (
            (producer, consumer)
            if slot == self.timeline.slot_of[producer]
            else (consumer, producer)
        )
        self.timeline.erase(gone)
        self.timeline.replace(here, merged)
        return merged


def stack(block: Block, max_ops: int, epilogues: Sequence[str] = ()) -> None:
    """Merges the data-parallel instructions of a program."""
    timeline = Timeline(block)
    Stacker(timeline, max_ops, epilogues).run()
    tidy(block, timeline.instructions())


def _accepts(instruction: type[OperatorInstruction]) -> bool:
    return instruction.OPERATOR.has_trait(AcceptsEpilogue)


@dataclass(frozen=True)
class StackOpsPass(ModulePass):
    """Turns chains and trees of data-parallel instructions into one loop each."""

    name = "glow-stack-ops"
    level = PROGRAM

    max_ops: int = 64
    """The largest number of nodes in one body."""
    epilogues: tuple[str, ...] = ()
    """
    The operators that take epilogues, such as `convolution,matmul`. The default is all that accept
    one.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.max_ops < 1:
            raise PassFailedException(
                f"expected a maximum of at least 1 operation, found {self.max_ops}"
            )
        known = {i.name.removeprefix("glow_inst.") for i in INSTRUCTIONS.values() if _accepts(i)}
        if unknown := [name for name in self.epilogues if name not in known]:
            raise PassFailedException(
                f"expected operators that accept an epilogue, found {', '.join(unknown)}"
            )
        with changing(op) as blocks:
            for block in blocks:
                stack(block, self.max_ops, self.epilogues)
