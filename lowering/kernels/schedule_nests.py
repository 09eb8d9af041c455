"""The pass `glow-schedule-nests`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from ...errors import CompileError
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow_nest.attributes import ScheduleAttr
from ...glow_dialects.glow_nest.content import with_unique_names
from ...glow_dialects.glow_nest.kernel import KernelOp
from ...glow_dialects.glow_nest.nest import Nest
from ...glow_dialects.glow_nest.ops import NestOp
from ...glow_dialects.glow_nest.schedule import Schedule
from ...glow_dialects.glow_nest.schedule_text import with_loops
from ...glow_dialects.glow_nest.simplification import simplified
from ...glow_dialects.glow_nest.steps import KernelSteps
from ...glow_dialects.machine import MachineDescription
from ...passes.levels import NESTS
from ...passes.visited_operation import each
from ..tuned_schedules import load_schedules
from .kernel_errors import for_kernels
from .schedules.around import ALONE, loops_around
from .schedules.best_schedule import best_schedule
from .schedules.fitted_schedule import fitted


@dataclass(frozen=True)
class ScheduleNestsPass(ModulePass):
    """
    Gives each nest the schedule that the cost model finds best for a machine. Before, it joins
    loops that are one loop for every access. Nests that have a schedule keep it.
    """

    name = "glow-schedule-nests"
    level = NESTS

    schedules: str | None = None
    """A file of measured schedules, which are preferred to those of the model (see `glow-tune`)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        known = None if self.schedules is None else load_schedules(self.schedules, machine)

        def schedule(kernel: KernelOp) -> None:
            found = known.get(kernel_key(kernel)) if known else None
            schedule_nests(kernel, machine, found.nests if found else {})

        for_kernels(op, schedule)


def schedule_nests(
    kernel: KernelOp, machine: MachineDescription, texts: Mapping[str, str] | None = None
) -> None:
    """
    Gives each nest of a kernel a schedule: the one whose text is given under the number of the
    nest, or the best by cost. A given schedule that does not fit its nest is ignored with a
    warning.
    """
    steps = KernelSteps(kernel)
    nests = [op for op in kernel.walk() if isinstance(op, NestOp)]
    around = loops_around(steps, machine)
    for number, op in enumerate(each(nests)):
        if op.schedule is not None:
            continue
        nest = steps.nest(op)
        if nest.is_empty:
            continue
        nest = simplified(nest)
        text = texts.get(str(number)) if texts else None
        found = None if text is None else _measured(kernel, number, nest, text, machine)
        nest, schedule = found or best_schedule(nest, machine, around.get(op, ALONE))
        named, change = with_unique_names(nest)
        steps.set_nest(op, named)
        op.schedule = ScheduleAttr(with_loops(schedule, change) if change else schedule)


def _measured(
    kernel: KernelOp, number: int, nest: Nest, text: str, machine: MachineDescription
) -> tuple[Nest, Schedule] | None:
    """
    Returns a nest with the schedule of a text; if the schedule does not fit, warns and returns
    None.
    """
    where = f"kernel @{kernel.sym_name.data}, nest {number}"
    schedule = schedule_of(text, where)
    try:
        return fitted(with_unique_names(nest)[0], schedule, machine)
    except (ValueError, VerifyException) as error:
        warnings.warn(f"{where}: the measured schedule is ignored: {error}", stacklevel=2)
        return None


def schedule_of(text: str, where: str) -> Schedule:
    """
    Returns the schedule of a text; its loops have no sizes. Raises CompileError for wrong text.
    """
    try:
        return ScheduleAttr.parse_parameter(Parser(Context(), text))
    except ParseError as error:
        raise CompileError(
            f"{where}: expected the text of a schedule, found {text!r}: {error.msg}; correct "
            "the file of schedules, or run glow-tune again"
        ) from None


def kernel_key(kernel: KernelOp) -> str:
    """
    Returns the hash of the nests of a kernel before they are scheduled. Kernels that do the same on
    memory of the same shape have the same key in every network, for any number of threads.
    """
    text = StringIO()
    printer = Printer(text)
    printer.print_list(kernel.body.block.args, printer.print_block_argument)
    printer.print_region(kernel.body, print_entry_block_args=False)
    return sha256(text.getvalue().encode()).hexdigest()[:24]
