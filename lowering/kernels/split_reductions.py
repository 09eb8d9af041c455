"""The pass `glow-split-reductions`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow_nest.kernel import KernelOp, RepeatOp
from ...glow_dialects.glow_nest.ops import NestOp
from ...glow_dialects.glow_nest.steps import KernelSteps
from ...glow_dialects.machine import MachineDescription
from ...passes.levels import NESTS
from ...passes.visited_operation import each
from .kernel_errors import for_kernels
from .schedules.split_reduction import Splitter


@dataclass(frozen=True)
class SplitReductionsPass(ModulePass):
    """
    Cuts each reduction of much data to few results into one nest that reduces parts and one that
    combines them, because threads and register tiles need several results. Nests that have a
    schedule stay.
    """

    name = "glow-split-reductions"
    level = NESTS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for_kernels(op, lambda kernel: split_reductions(kernel, machine))


def split_reductions(kernel: KernelOp, machine: MachineDescription) -> None:
    """Cuts the reductions of a kernel that have few results."""
    steps = KernelSteps(kernel)
    _split_block(kernel.body.block, steps, Splitter(machine, steps.add_scratch), 1)


def _split_block(block: Block, steps: KernelSteps, splitter: Splitter, times: int) -> None:
    """Splits the nests of a block, whose steps run `times` times."""
    for op in each(list(block.ops)):
        if isinstance(op, RepeatOp):
            _split_block(op.body.block, steps, splitter, times * op.count)
        elif isinstance(op, NestOp) and op.schedule is None:
            nest = steps.nest(op)
            parts = splitter.split(nest, times)
            if parts[0] is not nest:
                steps.write(parts, InsertPoint.before(op))
                Rewriter.erase_op(op)
