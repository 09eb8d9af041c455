"""
The pass `glow-generate-loops`: from kernels of scheduled nests to functions in upstream's
structured dialects.

Some kernels need temporary memory. It lies in the arena at places where no buffer is alive at that
time; the arena grows if these places are beyond its end.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow_nest.kernel import KernelOp
from ...glow_dialects.machine import MachineDescription
from ...passes.levels import SCHEDULED
from ...passes.visited_operation import visit
from .function import KernelFunction, build_function
from .kernel_errors import for_kernels
from .main import THREADS, build_main, main_of


@dataclass(frozen=True)
class GenerateLoopsPass(ModulePass):
    """
    Generates the loops of kernels by their schedules, and makes `main` compute the addresses of
    buffers. In a program that is divided between threads, the first parameter of `main` and of
    kernels is the number of the thread, and `main` also has the team of threads as a parameter (see
    `lowering.threads`).
    """

    name = "glow-generate-loops"
    level = SCHEDULED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        generate_loops(op, machine_of(op))


def generate_loops(module: ModuleOp, machine: MachineDescription) -> None:
    """
    Replaces kernels by functions, and `main` by a function that calls these. Other functions stay.
    """
    main = main_of(module)
    functions: dict[str, KernelFunction] = {}

    def generate(kernel: KernelOp) -> None:
        made = functions[kernel.sym_name.data] = build_function(kernel, machine)
        Rewriter.replace_op(kernel, made.function, [])

    for_kernels(module, generate)
    visit(main)
    threads = main.attributes.get(THREADS)
    count = threads.value.data if isinstance(threads, IntegerAttr) else 1
    *declarations, new = build_main(main, functions, count)
    first = next((f.function for f in functions.values()), main)
    Rewriter.insert_op(declarations, InsertPoint.before(first))
    Rewriter.replace_op(main, new)
