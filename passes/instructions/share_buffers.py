"""
Lets instructions work in place.

A data-parallel instruction, or one with an epilogue, reads each element before it writes the
element at the same place. If one of the views that it reads so is the whole of an activation that
dies there, and the result is the whole of a buffer whose life begins there, of the same type, then
the two become one buffer, and the operand becomes `@inout`:

- if the result is an activation, its later uses move to the operand's buffer;
- if the result is an output, the earlier uses of the operand move to the output.

A copy between two such buffers disappears. A state, whose old value an instruction reads so as the
last one, and to which a copy then brings the result, takes the result at once. Inputs and weights
are never overwritten, and an operator whose epilogue reads the operand must not read the same
buffer in the operator itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.glow_inst.instruction import Instruction, Qualifier, buffer_of
from ...glow_dialects.glow_inst.memory import AllocActivationOp
from ...glow_dialects.glow_inst.stacked import CopyOp
from ...glow_dialects.views import is_whole
from ..levels import PROGRAM
from ..visited_operation import each
from .eliminate_copies import move_buffer, moved_views, takes_all
from .loops import accepts_epilogue, as_inout, is_loop, read_views
from .program import Timeline, memref, same_view, tidy
from .replanning import changing


def dies_at(timeline: Timeline, view: SSAValue, op: Instruction) -> bool:
    """
    Returns true if `view` is all of an activation which `op` uses last, and only through this view.
    """
    buffer = buffer_of(view)
    return (
        takes_all(view)
        and timeline.span(buffer)[1] == timeline.slot_of[op]
        and all(same_view(view, v) for v in op.operands if buffer_of(v) is buffer)
    )


def begins_at(timeline: Timeline, view: SSAValue, op: Instruction) -> bool:
    """
    Returns true if `view` is all of an activation or output that `op` uses first, only by this
    view.
    """
    buffer = buffer_of(view)
    return (isinstance(buffer.owner, AllocActivationOp) or isinstance(buffer, BlockArgument)) and (
        is_whole(memref(view), memref(buffer))
        and timeline.span(buffer)[0] == timeline.slot_of[op]
        and sum(buffer_of(v) is buffer for v in op.operands) == 1
    )


def _elementwise_views(op: Instruction) -> list[SSAValue]:
    """Returns the views that `op` reads element by element, and not as a whole operator besides."""
    whole = [] if is_loop(op) else [buffer_of(v) for v in op.sources]  # pyright: ignore
    return [v for v in read_views(op) if buffer_of(v) not in whole]


def find_pair(timeline: Timeline, op: Instruction) -> tuple[SSAValue, SSAValue] | None:
    """Returns a view that `op` reads and one that it writes which can become one."""
    dying = [v for v in _elementwise_views(op) if dies_at(timeline, v, op)]
    for qualifier, written in op.qualified_operands():
        if qualifier is not Qualifier.OUT or not begins_at(timeline, written, op):
            continue
        for read in dying:
            if read.type != written.type or read in op.written():
                continue
            if moved_views(timeline, *_moving(read, written)) is not None:
                return read, written
    return None


def find_state(timeline: Timeline, op: Instruction) -> tuple[SSAValue, SSAValue, CopyOp] | None:
    """
    Returns a view of a state that `op` reads, one that it writes, and the copy that brings the
    latter to the former; nothing else needs the old value then, or changes either.
    """
    after = timeline.slot_of[op] + 1
    for read in [] if isinstance(op, CopyOp) else _elementwise_views(op):
        state = buffer_of(read)
        later = list(timeline.accesses(state, after)) if isinstance(state, BlockArgument) else []
        copy = later[0].instruction if later else None
        if not isinstance(copy, CopyOp) or not same_view(copy.dest, read):
            continue
        written = next((v for v in op.written() if same_view(v, copy.source)), None)
        if written is not None and (
            takes_all(written)
            and begins_at(timeline, written, op)
            and is_whole(memref(read), memref(state))
            and all(same_view(read, v) for v in op.operands if buffer_of(v) is state)
            and not any(access.writes for access in later[1:])
            and not any(timeline.accesses(buffer_of(written), after, writes=True))
            and moved_views(timeline, buffer_of(written), read) is not None
        ):
            return read, written, copy
    return None


def share(timeline: Timeline, op: Instruction, read: SSAValue, written: SSAValue) -> Instruction:
    """Makes the two views of `op` one; returns the operation that replaces `op`."""
    if isinstance(op, CopyOp):
        new = op
    else:
        new = as_inout(op, read, written)
        timeline.replace(op, new)
    moved = move_buffer(timeline, *_moving(read, written))
    assert moved
    return new


def _moving(read: SSAValue, written: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Returns which buffer disappears if two views become one, and the view that replaces it."""
    if isinstance(buffer_of(written), BlockArgument):
        return buffer_of(read), written
    return buffer_of(written), read


def share_buffers(block: Block) -> None:
    """Lets as many instructions of a program as possible run in place."""
    timeline = Timeline(block)
    # a copy that disappears may have been the last reader of what an earlier instruction reads
    while _share_all(timeline):
        pass
    tidy(block, timeline.instructions())


def _share_all(timeline: Timeline) -> bool:
    """Visits every instruction once; returns true if a copy disappeared."""
    erased = False
    for op in each(timeline.instructions()):
        is_left = op in timeline.slot_of
        if not is_left or not (is_loop(op) or accepts_epilogue(op)):
            continue
        while (found := find_state(timeline, op)) is not None:
            timeline.erase(found[2])
            op = share(timeline, op, *found[:2])
        while (pair := find_pair(timeline, op)) is not None:
            op = share(timeline, op, *pair)
            if isinstance(op, CopyOp):
                timeline.erase(op)
                erased = True
                break
    return erased


@dataclass(frozen=True)
class ShareBuffersPass(ModulePass):
    """Lets instructions overwrite an operand that nothing reads afterwards."""

    name = "glow-share-buffers"
    level = PROGRAM

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with changing(op) as blocks:
            for block in blocks:
                share_buffers(block)
