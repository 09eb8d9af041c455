"""The pass `glow-divide-nests`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...glow_dialects.glow_nest.affine import Access, Buffer, Dim
from ...glow_dialects.glow_nest.attributes import SplitAttr
from ...glow_dialects.glow_nest.kernel import BarrierOp, KernelOp, RepeatOp
from ...glow_dialects.glow_nest.nest import Nest, Repeat, Step
from ...glow_dialects.glow_nest.ops import NestOp, StepOp
from ...glow_dialects.glow_nest.schedule import Split
from ...glow_dialects.glow_nest.steps import KernelSteps
from ...passes.levels import SCHEDULED
from ...passes.visited_operation import each
from .kernel_errors import expect_threads, for_kernels
from .main import THREADS, find_main
from .threads.divided_loops import Divided, divided_loops
from .threads.hazards import Hazards, MemoryUse
from .threads.overlap import may_meet, nests_of, reads_of
from .threads.split import split_of


@dataclass(frozen=True)
class DivideNestsPass(ModulePass):
    """
    Divides the work of kernels between threads: it chooses loops of each nest, or iterations of
    loops around nests, and the points where threads wait for each other. The first thread runs the
    nests that are not divided.
    """

    name = "glow-divide-nests"
    level = SCHEDULED

    threads: int = 1
    """
    The number of threads that run the kernels together, which `glow-build-nests` was given as well.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expect_threads(self.threads)
        if self.threads == 1:
            return
        if (main := find_main(op)) is not None:
            main.attributes[THREADS] = IntegerAttr(self.threads, i64)
        for_kernels(op, lambda kernel: divide_nests(kernel, self.threads))


def divide_nests(kernel: KernelOp, threads: int) -> None:
    """Divides the work of a kernel between threads, unless it is divided."""
    if kernel.threads is not None:
        return
    kernel.threads = IntegerAttr(threads, i64)
    steps = KernelSteps(kernel)
    divided = divided_loops(steps.tree(), threads)
    _Divider(steps, threads, divided).run(kernel.body.block)


@dataclass
class _Divider:
    """
    Divides the steps of a kernel. Every thread goes through all steps and does its part of each.
    All threads meet at a barrier before a step that touches what another thread may have written,
    or writes what another thread may still read.
    """

    steps: KernelSteps
    threads: int
    loops: Mapping[Repeat, Divided]
    hazards: Hazards[Access] = field(default_factory=lambda: Hazards(may_meet))

    def run(self, block: Block) -> None:
        for op in each(list(block.ops)):
            step = self.steps.step_of.get(op)
            if isinstance(op, NestOp) and isinstance(step, Nest):
                split = self._split(op, step)
                if not step.is_empty:
                    self._meet(op, [step], alone=split is None)
                if split is not None:
                    op.split = SplitAttr(split)
            elif isinstance(op, StepOp) and step is not None:
                # thread 0 does all of a step whose length is not known at compile time
                self._meet(op, [step], alone=True)
            elif isinstance(op, RepeatOp) and isinstance(step, Repeat) and op.count:
                self._repeat(op, step)

    def _split(self, op: NestOp, nest: Nest) -> Split | None:
        """Returns how threads divide a nest; None if one does it alone, or if it is empty."""
        if nest.is_empty:
            return None
        schedule = op.bound_schedule(nest)
        if schedule is None:
            raise ValueError("a nest has no schedule: run glow-schedule-nests first")
        return split_of(nest, schedule, self.threads)

    def _repeat(self, op: RepeatOp, step: Repeat) -> None:
        if step in self.loops:
            divided = self.loops[step]
            self._meet(op, divided.loops[-1].steps, alone=False, private=divided.private)
            op.divided = IntegerAttr(len(divided.loops), i64)
            op.operands = [self.steps.value(b) for b in divided.private]
            return
        ahead = list(self._ahead(op.body.block, step.dim))
        if all(use.alone for use in ahead):
            # what it waits for is before the loop, so it waits once and not in each iteration
            self._meet(op, [step], alone=True)
            return
        if op.count > 1:
            # a thread may be an iteration ahead of others
            self.hazards.open += ahead
        self.run(op.body.block)

    def _ahead(self, block: Block, loop: Dim) -> Iterator[MemoryUse[Access]]:
        """Yields what threads do in another iteration of a loop."""
        for op in block.ops:
            step = self.steps.step_of.get(op)
            if isinstance(op, RepeatOp) and isinstance(step, Repeat) and step not in self.loops:
                yield from self._ahead(op.body.block, loop)
            elif step is not None:
                divided = isinstance(op, RepeatOp)
                if isinstance(op, NestOp) and isinstance(step, Nest):
                    divided = self._split(op, step) is not None
                for nest in nests_of([step]):
                    yield MemoryUse(reads_of(nest), nest.writes, not divided, loop)

    def _meet(
        self, op: Operation, steps: Sequence[Step], alone: bool, private: Sequence[Buffer] = ()
    ) -> None:
        """Adds a barrier if an operation needs one; its steps then count as begun."""
        nests = list(nests_of(steps))
        reads = [a for n in nests for a in reads_of(n) if a.buffer not in private]
        writes = [a for n in nests for a in n.writes if a.buffer not in private]
        if self.hazards.need_barrier(MemoryUse(reads, writes, alone)):
            Rewriter.insert_op(BarrierOp.create(), InsertPoint.before(op))
