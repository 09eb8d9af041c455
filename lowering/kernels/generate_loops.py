"""
The pass `glow-generate-loops`: from kernels of scheduled nests to functions in upstream's
structured dialects.

Some kernels need temporary memory. It lies on the stack if it is small; else in the arena at places
where no buffer is alive at that time; the arena grows if these places are beyond its end.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...glow_dialects.glow.machine import machine_of
from ...passes.levels import SCHEDULED
from ...passes.visited_operation import visit
from .function import build_function
from .kernel_errors import for_kernels
from .main import THREADS, build_main, find_main


@dataclass(frozen=True)
class GenerateLoopsPass(ModulePass):
    """
    Generates the loops of kernels by their schedules, and makes `main` compute the addresses of
    buffers. If kernels are divided between threads, their first parameter and that of `main` is the
    number of the thread, and `main` also has the team of threads as a parameter (see
    `lowering.threads`). If no kernel has work for more than one thread, `main` is for one thread.
    The attribute `glow_nest.interface` of a function says what else its callers need to know.
    """

    name = "glow-generate-loops"
    level = SCHEDULED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for_kernels(op, lambda kernel: Rewriter.replace_op(kernel, build_function(kernel, machine)))
        main = find_main(op)
        if main is None:
            return
        visit(main)
        threads = main.attributes.get(THREADS)
        count = threads.value.data if isinstance(threads, IntegerAttr) else 1
        # `main` may call functions that the module declares; other functions stay
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]
        *declarations, new = build_main(main, {f.sym_name.data: f for f in functions}, count)
        Rewriter.insert_op(declarations, InsertPoint.before(functions[0]))
        Rewriter.replace_op(main, new)
