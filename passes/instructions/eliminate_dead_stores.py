"""
Removes instructions whose results nobody reads.

A walk from the last instruction to the first keeps, for each buffer, the views that are read later;
outputs are read after the end. A write that shares no element with these is dead, as is one of no
elements at all. An instruction is removed if all its writes are dead; a stack with some dead writes
loses only these. A write of a whole buffer, or of exactly a view that is read later, ends the need
for what was there before.

Views, weights and allocations without users vanish as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.glow_inst.instruction import Instruction, Qualifier, buffer_of
from ...glow_dialects.glow_inst.memory import is_input
from ...glow_dialects.glow_inst.stacked import StackedOp
from ...glow_dialects.views import is_whole
from ..levels import PROGRAM
from ..visited_operation import each
from .loops import Body
from .program import memref, overlap, same_view, tidy
from .replanning import changing


class Liveness:
    """The views of each buffer that are read later."""

    def __init__(self, block: Block):
        self._read: dict[SSAValue, list[SSAValue]] = {
            argument: [argument] for argument in block.args if not is_input(argument)
        }

    def is_live(self, view: SSAValue) -> bool:
        if 0 in memref(view).get_shape():
            return False
        return any(overlap(view, read) for read in self._read.get(buffer_of(view), ()))

    def step_over(self, op: Instruction) -> None:
        """Moves from the point after an instruction to the point before it."""
        for qualifier, view in op.qualified_operands():
            if qualifier is Qualifier.OUT:
                self._end(view)
        for view in op.read():
            reads = self._read.setdefault(buffer_of(view), [])
            if view not in reads:
                reads.append(view)

    def _end(self, view: SSAValue) -> None:
        buffer = buffer_of(view)
        whole = is_whole(memref(view), memref(buffer))
        reads = self._read.get(buffer, [])
        self._read[buffer] = [] if whole else [r for r in reads if not same_view(r, view)]


def without(op: StackedOp, dead: list[SSAValue]) -> StackedOp:
    """Returns the stack without the stores to `dead`. `op` is not in use afterwards."""
    body = Body()
    body.absorb(op)
    for view in dead:
        body.forget(view)
    body.prune()
    return body.stacked()


def eliminate_dead_stores(block: Block) -> None:
    """Removes instructions without effect on the outputs of a program."""
    live = Liveness(block)
    for op in each(reversed([op for op in block.ops if isinstance(op, Instruction)])):
        dead = [view for view in op.written() if not live.is_live(view)]
        if len(dead) == len(op.written()):
            op.detach()
            op.erase()
            continue
        if dead and isinstance(op, StackedOp):
            pruned = without(op, dead)
            block.insert_op_before(pruned, op)
            op.detach()
            op.erase()
            op = pruned
        live.step_over(op)
    tidy(block)


@dataclass(frozen=True)
class EliminateDeadStoresPass(ModulePass):
    """Removes instructions, or stores of stacks, whose results nobody reads."""

    name = "glow-eliminate-dead-stores"
    level = PROGRAM

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with changing(op) as blocks:
            for block in blocks:
                eliminate_dead_stores(block)
