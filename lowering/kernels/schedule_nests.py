"""The pass `glow-schedule-nests`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow_nest.attributes import ScheduleAttr
from ...glow_dialects.glow_nest.content import with_unique_names
from ...glow_dialects.glow_nest.kernel import KernelOp
from ...glow_dialects.glow_nest.nest import simplified
from ...glow_dialects.glow_nest.ops import NestOp
from ...glow_dialects.glow_nest.schedule_text import with_loops
from ...glow_dialects.glow_nest.steps import KernelSteps
from ...glow_dialects.machine import MachineDescription
from ...passes.collector import without_garbage_collection
from ...passes.levels import NESTS
from .kernel_errors import of_kernel
from .schedules.best_schedule import best_schedule


@dataclass(frozen=True)
class ScheduleNestsPass(ModulePass):
    """
    Gives each nest the schedule that a cost model finds best for a machine. Loops that memory
    cannot tell from one become one before. Nests that have a schedule keep it.
    """

    name = "glow-schedule-nests"
    level = NESTS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        with without_garbage_collection():
            for kernel in op.body.block.ops:
                if isinstance(kernel, KernelOp):
                    with of_kernel(kernel):
                        schedule_nests(kernel, machine)


def schedule_nests(kernel: KernelOp, machine: MachineDescription) -> None:
    """Give each nest of a kernel a schedule."""
    steps = KernelSteps(kernel)
    for op in kernel.walk():
        if isinstance(op, NestOp) and op.schedule is None:
            nest = steps.nest(op)
            if nest.is_empty:
                continue
            nest, schedule = best_schedule(simplified(nest), machine)
            named, change = with_unique_names(nest)
            steps.set_nest(op, named)
            op.schedule = ScheduleAttr(with_loops(schedule, change) if change else schedule)
