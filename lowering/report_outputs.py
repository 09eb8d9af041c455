"""
The pass `glow-report-outputs`: a program that says when each of its outputs is complete.

After the last use of an output, `main` calls `glow_report` with the number of the output, while
the rest of the program is still to be run. Nothing in the program reads or writes that output
afterwards, so whoever is told may change it. Of several threads, thread 0 calls, after a barrier
behind the last use. Whoever links the program defines the function (`glow.runtime.reports`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..errors import CompileError
from ..glow_dialects.glow_inst.memory import argument_qualifier
from ..passes.levels import KERNELS
from ..passes.visited_operation import each
from .kernels.codegen.types import INDEX
from .kernels.main import arena_of, is_shared, main_of
from .target import REPORT
from .threads import BARRIER


@dataclass(frozen=True)
class ReportOutputsPass(ModulePass):
    """
    Makes `main`, which `glow-generate-loops` made, call `glow_report` with the number of each
    output after its last use.
    """

    name = "glow-report-outputs"
    level = KERNELS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op)
        functions = {f.sym_name.data for f in op.body.block.ops if isinstance(f, func.FuncOp)}
        if REPORT in functions:
            raise CompileError("main reports its outputs already")
        arena_of(main, before=self.name)
        block = main.body.block
        called: dict[str, list[Attribute]] = {REPORT: [INDEX]}
        if (threading := _threading(main)) and BARRIER not in functions:
            called[BARRIER] = [v.type for v in threading]
        for name, types in called.items():
            external = func.FuncOp.external(name, types, [])
            Rewriter.insert_op(external, InsertPoint.at_start(op.body.block))
        completed = _completed(block)
        for last in each(list(completed)):
            _report(last, completed[last], threading)


def _threading(main: func.FuncOp) -> list[SSAValue]:
    """Returns the team and the thread of a program for several threads, else nothing."""
    thread, team, *_ = main.body.block.args
    return [team, thread] if is_shared(main) else []


def _completed(block: Block) -> dict[Operation, list[int]]:
    """
    Returns the numbers of outputs by the operation that uses them last. Those that nothing uses
    are left out: they are empty.
    """
    place = {op: i for i, op in enumerate(block.ops)}
    outputs = [a for a in block.args if argument_qualifier(a) == "out"]
    found: dict[Operation, list[int]] = {}
    for number, output in enumerate(outputs):
        users = _users(output, block)
        if users:
            found.setdefault(max(users, key=place.__getitem__), []).append(number)
    return found


def _users(memory: SSAValue, block: Block) -> set[Operation]:
    """Returns the operations of a block that use memory, also by views or in their bodies."""
    found: set[Operation] = set()
    for use in memory.uses:
        user = block.find_ancestor_op_in_block(use.operation)
        assert user is not None
        found.add(user)
        for result in use.operation.results:
            if isinstance(result.type, MemRefType):
                found |= _users(result, block)
    return found


def _report(last: Operation, outputs: Sequence[int], threading: Sequence[SSAValue]) -> None:
    """Inserts the reports of outputs after an operation."""
    numbers = [arith.ConstantOp(IntegerAttr(n, INDEX)) for n in outputs]
    calls = [func.CallOp(REPORT, [n.result], []) for n in numbers]
    reports: list[Operation] = [op for pair in zip(numbers, calls, strict=True) for op in pair]
    if threading:
        zero = arith.ConstantOp(IntegerAttr(0, INDEX))
        is_first = arith.CmpiOp(threading[1], zero, "eq")
        then = Region(Block([*reports, scf.YieldOp()]))
        reports = [zero, is_first, scf.IfOp(is_first, [], then)]
        following = last.next_op
        if isinstance(following, func.CallOp) and following.callee.string_value() == BARRIER:
            last = following
        else:
            reports.insert(0, func.CallOp(BARRIER, threading, []))
    Rewriter.insert_op(reports, InsertPoint.after(last))
