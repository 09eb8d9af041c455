"""
The pass `glow-build-nests`: from an allocated instruction program to kernels of loop nests.

Each distinct instruction becomes one kernel. Its name consists of the instruction's name and a hash
of everything that its code depends on, so that the same kernel has the same name in every network.
`main` calls the kernels in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...errors import CompileError
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow_inst.control import ControlInstruction
from ...glow_dialects.glow_inst.instruction import Instruction, buffer_of
from ...glow_dialects.glow_nest.call import CallOp
from ...glow_dialects.glow_nest.kernel import KernelOp
from ...glow_dialects.glow_nest.steps import KernelSteps
from ...glow_dialects.machine import MachineDescription
from ...passes.collector import without_garbage_collection
from ...passes.instructions.allocate import ARENA_SIZE, WEIGHTS_SIZE
from ...passes.instructions.program import in_order
from ...passes.levels import PLANNED
from ...passes.visited_operation import each
from .instructions import Parameter, Signature, describe, signature_of
from .kernel_errors import expect_threads
from .main import main_of, planned_size


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
    kernels: dict[Signature, KernelOp] = {}
    for op in each(list(in_order(main.body.block))):
        if not isinstance(op, Instruction) or isinstance(op, ControlInstruction):
            continue
        parameters = [
            Parameter.of(v.type, q, isinstance(buffer_of(v), BlockArgument))
            for q, v in op.qualified_operands()
        ]
        signature = signature_of(op, parameters, machine, threads)
        if signature not in kernels:
            try:
                kernels[signature] = _kernel(signature.name, op, parameters, machine, threads)
            except ValueError as error:
                raise CompileError(f"{op.name}: {error}") from error
        call = CallOp(signature.name, op.operands, op.qualifiers())
        Rewriter.replace_op(op, call)
    Rewriter.insert_op(list(kernels.values()), InsertPoint.before(main))


def _kernel(
    name: str,
    op: Instruction,
    parameters: Sequence[Parameter],
    machine: MachineDescription,
    threads: int,
) -> KernelOp:
    """Returns the kernel of an instruction, on memory as the parameters describe it."""
    views = [p.view(i) for i, p in enumerate(parameters)]
    described = describe(op, views, machine, threads)
    kernel = KernelOp(name, [p.typed(p.element) for p in parameters])
    arguments = kernel.body.block.args
    for argument, parameter in zip(arguments, parameters, strict=True):
        argument.name_hint = parameter.qualifier.value
    steps = KernelSteps(kernel, {a: v.buffer for a, v in zip(arguments, views, strict=True)})
    for buffer in described.scratch_buffers:
        steps.add_scratch(buffer)
    steps.write(described.steps, InsertPoint.at_end(kernel.body.block))
    return kernel
