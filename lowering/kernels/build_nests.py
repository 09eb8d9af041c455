"""
The pass `glow-build-nests`: from an allocated instruction program to kernels of loop nests.

Each distinct instruction becomes one kernel. Its name consists of the instruction's name and a hash
of everything that its code depends on, so that the same kernel has the same name in every network.
`main` calls the kernels in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr, i64
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...errors import CompileError
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow_inst.control import ControlInstruction
from ...glow_dialects.glow_inst.instruction import Instruction, Qualifier
from ...glow_dialects.glow_nest.call import CallOp
from ...glow_dialects.glow_nest.kernel import KernelOp
from ...glow_dialects.glow_nest.steps import KernelSteps
from ...glow_dialects.machine import MachineDescription
from ...passes.collector import without_garbage_collection
from ...passes.instructions.allocate import ARENA_SIZE, WEIGHTS_SIZE
from ...passes.instructions.program import in_order
from ...passes.levels import PLANNED
from ...passes.visited_operation import each
from .instructions import Computation, Parameter
from .kernel_errors import expect_threads
from .main import main_of, planned_size
from .row_limits import Pitches, ProgramRows, limited_kernel
from .row_places import RowsLost


@dataclass(frozen=True)
class BuildNestsPass(ModulePass):
    """
    Makes a kernel of loop nests of each distinct instruction of `main`, whose memory
    `glow-allocate` has planned. The nests say what is computed and not how. Some algorithms depend
    on the instructions of the machine and on the number of threads, though.
    """

    name = "glow-build-nests"
    level = PLANNED

    threads: int = 1
    """The number of threads that run the kernels together."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expect_threads(self.threads)
        with without_garbage_collection():
            build_nests(op, machine_of(op), self.threads)


def build_nests(module: ModuleOp, machine: MachineDescription, threads: int = 1) -> None:
    """
    Replaces the instructions of `main` by calls of kernels. Branches and loops stay, around such
    calls, and so do other functions.
    """
    main = main_of(module)
    for name in (ARENA_SIZE, WEIGHTS_SIZE):
        planned_size(main, name, BuildNestsPass.name)
    built = _Kernels(machine, threads, ProgramRows.of(main))
    for op in each(list(in_order(main.body.block))):
        if isinstance(op, Instruction) and not isinstance(op, ControlInstruction):
            try:
                Rewriter.replace_op(op, built.call(op))
            except RowsLost as error:
                raise CompileError(
                    f"{op.name}: expected rows that its loops can end with, found {error}; "
                    "without rows, each size has a program of its own"
                ) from error
            except ValueError as error:
                raise CompileError(f"{op.name}: {error}") from error
        elif built.rows.count is not None and isinstance(op, ControlInstruction):
            raise CompileError(f"{op.name}: expected no branches and loops in a program of rows")
    Rewriter.insert_op(list(built.kernels.values()), InsertPoint.before(main))


@dataclass
class _Kernels:
    """The kernels of a program so far, by name."""

    machine: MachineDescription
    threads: int
    rows: ProgramRows
    """The rows of its buffers."""
    kernels: dict[str, KernelOp] = field(default_factory=dict)
    written: dict[str, Mapping[int, Pitches]] = field(default_factory=dict)
    """The pitches of the rows that each kernel writes, by the number of the parameter."""

    def call(self, op: Instruction) -> CallOp:
        """Returns the call of the kernel of an instruction. Raises ValueError if it has none."""
        rows = self.rows
        operands = op.qualified_operands()
        parameters = [Parameter.of(v, q, rows.of_operand(q, v)) for q, v in operands]
        computation = Computation.of(op)
        name = computation.kernel_name(parameters, self.machine, self.threads)
        if name not in self.kernels:
            self._add(name, computation, parameters)
        rows.wrote(op, self.written[name])
        operands, qualifiers = list(op.operands), list(op.qualifiers())
        if rows.count is not None and self.kernels[name].rows is not None:
            operands.append(rows.count)
            qualifiers.append(Qualifier.IN)
        return CallOp(name, operands, qualifiers)

    def _add(self, name: str, computation: Computation, parameters: Sequence[Parameter]) -> None:
        """Adds the kernel of a computation, on memory as the parameters describe it."""
        views = [p.view(i) for i, p in enumerate(parameters)]
        described = computation.kernel(views, self.machine, self.threads)
        pitches, most = [p.rows.pitches for p in parameters], self.rows.most
        made, self.written[name], is_limited = limited_kernel(described, views, pitches, most)
        types, hints = [p.type for p in parameters], [p.qualifier.value for p in parameters]
        if is_limited:
            types.append(_NUMBER)
            hints.append("rows")
        kernel = KernelOp(name, types)
        kernel.rows = UnitAttr() if is_limited else None
        arguments = kernel.body.block.args
        for argument, hint in zip(arguments, hints, strict=True):
            argument.name_hint = hint
        steps = KernelSteps(kernel, {a: v.buffer for a, v in zip(arguments, views, strict=False)})
        for buffer in described.scratch_buffers:
            steps.add_scratch(buffer)
        steps.write(made, InsertPoint.at_end(kernel.body.block))
        self.kernels[name] = kernel


_NUMBER = MemRefType(i64, [])
