"""
Removes copies by giving their source and their destination the same place.

A copy from a view of buffer S to a view of buffer D goes away in one of two ways.

1. *S moves into D.* S is an activation and the copy takes all of it. Every instruction that uses S
uses
   the destination view instead, so that the producer writes there directly: into its part of a
   concatenation, into the inside of a padded buffer, or into an output. This is right if nothing
   touches those elements of D between the first use of S and the copy, nothing writes them between
   the copy and the last use of S, and S is not written after the copy. A copy from D into S that
   leaves elements where they are, once S lies in D, does not count: the part of a state that a
   call keeps.
2. *Readers of D read S.* D is an activation that only this copy writes, completely. Every
instruction
   that reads D reads the source view instead. This is right if nothing writes those elements of S
   between the copy and the last use of D.

Views of the buffer that vanishes become views of the other one, which fails where strides cannot
express them. Two views of one buffer count as overlapping unless their coordinates prove otherwise.

A padded buffer is filled before its inside is copied into it. If the fill stands between the
producer and the copy, it moves up in front of the producer first.

Copies are visited from the last to the first, so that in a chain of concatenations each use moves
only once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.glow_inst.instruction import buffer_of
from ...glow_dialects.glow_inst.memory import AllocActivationOp
from ...glow_dialects.glow_inst.stacked import CopyOp
from ...glow_dialects.views import is_whole, view_through
from ..levels import PROGRAM
from ..visited_operation import each
from .loops import SPLAT
from .program import OperandAccess, Timeline, memref, same_view, tidy
from .replanning import changing


def takes_all(view: SSAValue) -> bool:
    """Returns true if a view is all elements, in order, of an activation."""
    buffer = buffer_of(view)
    is_activation = isinstance(buffer.owner, AllocActivationOp)
    return is_activation and is_whole(memref(view), memref(buffer))


def moved_views(
    timeline: Timeline, buffer: SSAValue, home: SSAValue
) -> list[tuple[OperandAccess, MemRefType]] | None:
    """
    Returns each use of `buffer` with the view that it becomes if `home` takes its place, a view of
    another buffer with the same number of elements; None if strides cannot express a use, or an
    instruction does not accept it.
    """
    moved: list[tuple[OperandAccess, MemRefType]] = []
    for access in timeline.accesses(buffer):
        t = view_through(memref(home), memref(access.value))
        if t is None or not access.instruction.accepts(access.index, t, buffer_of(home)):
            return None
        moved.append((access, t))
    return moved


def move_buffer(timeline: Timeline, buffer: SSAValue, home: SSAValue) -> bool:
    """
    Lets every use of `buffer` use `home` instead; returns False, and changes nothing, if
    `moved_views` finds no way.
    """
    moved = moved_views(timeline, buffer, home)
    if moved is None:
        return False
    for access, t in moved:
        timeline.redirect(access.instruction, access.index, timeline.view(buffer_of(home), t))
    return True


def _hoist_fill(timeline: Timeline, buffer: SSAValue, slot: int, copy_slot: int) -> None:
    """
    Moves the splat that fills `buffer` to just before `slot`, if nothing else touches the buffer
    until the copy.
    """
    between = list(islice(timeline.accesses(buffer, 0, copy_slot), 2))
    if len(between) != 1 or type(between[0].instruction) is not SPLAT or slot == 0:
        return
    fill = between[0].instruction
    if between[0].slot > slot and timeline.slots[slot - 1] is None:
        timeline.take(fill)
        timeline.put(fill, slot - 1)


def write_in_place(timeline: Timeline, copy: CopyOp) -> bool:
    """
    Returns the first way: the source moves into the destination. Returns whether it was possible.
    """
    source, dest = copy.source, copy.dest
    buffer = buffer_of(source)
    if buffer is buffer_of(dest) or not takes_all(source):
        return False
    slot = timeline.slot_of[copy]
    first, last = timeline.span(buffer)
    if any(timeline.accesses(buffer, slot + 1, writes=True)):
        return False
    _hoist_fill(timeline, buffer_of(dest), first, slot)
    if _is_touched(timeline, buffer, dest, first, slot) or timeline.conflicts(
        dest, False, slot + 1, last + 1
    ):
        return False
    return move_buffer(timeline, buffer, dest)


def _is_touched(timeline: Timeline, buffer: SSAValue, dest: SSAValue, first: int, end: int) -> bool:
    """
    Returns whether something from slot `first` up to `end` touches elements of `dest`, other than
    a copy to the place in `buffer` that those elements are to have.
    """
    for access in timeline.overlapping(dest, first, end):
        op = access.instruction
        stays = (
            isinstance(op, CopyOp)
            and buffer_of(op.dest) is buffer
            and view_through(memref(dest), memref(op.dest)) == access.value.type
        )
        if not stays:
            return True
    return False


def read_from_source(timeline: Timeline, copy: CopyOp) -> bool:
    """
    Returns the second way: readers of the destination read the source. Returns whether it was
    possible.
    """
    source, dest = copy.source, copy.dest
    buffer = buffer_of(dest)
    if buffer is buffer_of(source) or not takes_all(dest):
        return False
    slot = timeline.slot_of[copy]
    first, last = timeline.span(buffer)
    writes = list(timeline.accesses(buffer, writes=True))
    if first != slot or any(a.slot != slot for a in writes):
        return False
    if timeline.conflicts(source, False, slot + 1, last + 1):
        return False
    return move_buffer(timeline, buffer, source)


def eliminate_copies(block: Block) -> None:
    """Removes copies from a program until none can be removed."""
    timeline = Timeline(block)
    changed = True
    while changed:
        changed = False
        for op in each(reversed(timeline.instructions())):
            if isinstance(op, CopyOp) and (
                same_view(op.dest, op.source)
                or write_in_place(timeline, op)
                or read_from_source(timeline, op)
            ):
                timeline.erase(op)
                changed = True
    tidy(block, timeline.instructions())


@dataclass(frozen=True)
class EliminateCopiesPass(ModulePass):
    """Removes copies by computing where the result is wanted, or by reading the original."""

    name = "glow-eliminate-copies"
    level = PROGRAM

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with changing(op) as blocks:
            for block in blocks:
                eliminate_copies(block)
