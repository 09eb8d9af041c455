"""
The pass `glow-instrument-kernels`: a program that records when each of its kernels begins and ends.

`main` reads the counter of the processor before and after each call of a kernel, after the barrier
that may precede the call, and stores both numbers at the end of its arena, at the next multiple of
a cache line, as `memref<threads x kernels x 2 x i64>`. Each thread of the program has cache lines
of its own, so the second dimension is rounded up (`record_shape`). So every run has records of its
own. A branch or a loop is recorded as a whole. Only `main` and the size of the arena differ from a
program that is not timed.

LLVM's `readcyclecounter` reads the counter: the time stamp counter of x86 (`rdtsc`), which counts
at a constant rate on all processors of the last ten years, and the virtual counter of AArch64
(`cntvct_el0`). Both are the same for all cores. Reading it is not ordered with the instructions
around it, so a few dozen cycles may count for a neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import func, llvm, memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..errors import CompileError
from ..glow_dialects.machine import LINE_BYTES
from ..passes.levels import KERNELS
from ..passes.visited_operation import each
from .kernels.codegen.emit import Emitter
from .kernels.kernel_errors import expect_threads
from .kernels.main import arena_of, enlarge_arena, is_shared, main_of

COUNTER = "llvm.readcyclecounter"
_STAMP = 8
"""The bytes of a number of the counter."""


def record_shape(threads: int, kernels: int) -> tuple[int, int, int]:
    """
    Returns the shape of the records of a run, i64, which are the last bytes of its arena. They
    hold, for each thread and kernel, when it began and when it ended. Kernels that do not exist
    fill the cache lines.
    """
    in_line = LINE_BYTES // (2 * _STAMP)
    return threads, -(-kernels // in_line) * in_line, 2


@dataclass(frozen=True)
class InstrumentKernelsPass(ModulePass):
    """
    Makes `main`, which `glow-generate-loops` made, record the processor's counter before and
    after each kernel.
    """

    name = "glow-instrument-kernels"
    level = KERNELS

    threads: int = 1
    """
    The number of threads that run the program together, which `glow-divide-nests` was given as
    well. A program that is not divided has records of one thread.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expect_threads(self.threads)
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp) and f.body.blocks]
        kernels = {f.sym_name.data for f in functions} - {"main"}
        instrument_kernels(main_of(op), kernels, self.threads)


def instrument_kernels(main: func.FuncOp, kernels: set[str], threads: int) -> None:
    """
    Records the time of each call in `main` of one of `kernels`, which are names of functions.
    Raises CompileError if `main` is not what `glow-generate-loops` makes for this number of
    threads, or fewer.
    """
    block = main.body.block
    arena = arena_of(main, before=InstrumentKernelsPass.name)
    _expect_records_fit(main, arena, threads)
    calls = [o for o in each(list(block.ops)) if _is_recorded(o, kernels)]
    if not calls:
        return
    shared = is_shared(main)
    shape = record_shape(threads if shared else 1, len(calls))
    larger, start = enlarge_arena(main, arena, prod(shape) * _STAMP)
    emitter = Emitter(block)
    records = memref.ViewOp(larger, emitter.index(start), [], MemRefType(i64, shape))
    records.result.name_hint = "records"
    thread = block.args[0] if shared else emitter.index(0)
    for number, call in enumerate(each(calls)):
        for end, point in enumerate((InsertPoint.before(call), InsertPoint.after(call))):
            counter = llvm.CallIntrinsicOp(COUNTER, [], [i64])
            place = [thread, emitter.index(number), emitter.index(end)]
            store = memref.StoreOp.get(counter.results[0], records, place)
            Rewriter.insert_op([counter, store], point)
    Rewriter.insert_op(records, InsertPoint.at_start(block))
    emitter.finish()


def _is_recorded(op: Operation, kernels: set[str]) -> bool:
    """Returns whether an operation of `main` is a call of a kernel, a branch, or a loop."""
    if isinstance(op, func.CallOp):
        return op.callee.string_value() in kernels
    return isinstance(op, scf.IfOp | scf.WhileOp)


def _expect_records_fit(main: func.FuncOp, arena: SSAValue, threads: int) -> None:
    """Raises CompileError if a program is for more threads, or its arena may not grow."""
    if any(not isinstance(use.operation, memref.ViewOp) for use in arena.uses):
        raise CompileError("expected main to use its arena through memref.view only")
    if is_shared(main) and threads == 1:
        raise CompileError("expected a program for 1 thread, found one for several")
    if any(isinstance(o, llvm.CallIntrinsicOp) for o in main.body.block.ops):
        raise CompileError("main records times already")
