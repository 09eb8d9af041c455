"""The control flow of the steps of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....glow_dialects.glow_nest.affine import Buffer
from ....glow_dialects.glow_nest.kernel import BarrierOp, RepeatOp
from ....glow_dialects.glow_nest.nest import Listing
from ....glow_dialects.glow_nest.ops import ListNonzerosOp, NestOp, RepeatListedOp
from ....glow_dialects.glow_nest.schedule import AmxTile, Split, VectorSchedule
from ....glow_dialects.glow_nest.steps import KernelSteps
from ....glow_dialects.machine import MachineDescription
from ....passes.visited_operation import each
from .amx_nest import TileNest
from .loop_driver import LoopDriver, whole
from .memory import Bound, FlatBuffers
from .nonzero_list import fill_list, repeat_listed
from .sharing import Sharing
from .vector_nest import VectorNest


@dataclass(frozen=True)
class StepGenerator:
    """Emits the steps of a kernel one after the other, for one of several threads."""

    steps: KernelSteps
    memory: FlatBuffers
    machine: MachineDescription
    sharing: Sharing | None = None
    """None where there is one thread, or where one thread does all."""
    private: Mapping[Buffer, SSAValue] = field(default_factory=dict)
    """Where each thread has its copy of scratch that is private at times."""

    def block(self, block: Block, bound: Bound) -> None:
        """Emits the steps of a block; `bound` has the values of enclosing loop variables."""
        for op in each(block.ops):
            match op:
                case NestOp():
                    self._nest(op, bound)
                case ListNonzerosOp():
                    step = self.steps.content(op).step
                    assert isinstance(step, Listing)
                    with self._first_thread():
                        fill_list(step, self.memory, self.machine, bound)
                case RepeatListedOp():
                    step, alone = self.steps.loop_over_list(op), replace(self, sharing=None)
                    with self._first_thread():
                        for inner in repeat_listed(step, self.memory, bound):
                            alone.block(op.body.block, inner)
                case RepeatOp():
                    self._repeat(op, bound)
                case BarrierOp() if self.sharing is not None:
                    self.sharing.barrier()
                case _:
                    continue

    def _nest(self, op: NestOp, bound: Bound) -> None:
        nest, sharing = self.steps.nest(op), self.sharing
        if nest.is_empty:
            return
        schedule = op.bound_schedule(nest)
        if schedule is None:
            raise VerifyException("a nest has no schedule: run glow-schedule-nests first")
        threads = 1 if sharing is None else sharing.threads
        code: VectorNest | TileNest
        if isinstance(schedule, AmxTile):
            code = TileNest(nest, schedule, self.memory, self.machine, threads)
        else:
            assert isinstance(schedule, VectorSchedule)
            code = VectorNest(nest, schedule, self.memory, self.machine)
        if sharing is None or op.split is None:
            with self._first_thread():
                code.run(bound)
            return
        split = op.split.data
        code.run(bound, split, sharing.drawn if split.drawn else sharing.fixed)

    def _first_thread(self) -> AbstractContextManager[None]:
        """Has the first thread do what is emitted meanwhile."""
        if self.sharing is None:
            return nullcontext()
        e = self.memory.emitter
        return e.when(e.compare("eq", self.sharing.thread, e.index(0)))

    def _repeat(self, op: RepeatOp, bound: Bound) -> None:
        loops, inside, split, share = [op], self, None, None
        if self.sharing is not None and op.divided is not None:
            loops, share = op.divided_loops, self.sharing.drawn
            split = Split(0, len(loops) - 1)
            private = {b: self.private[b] for v in op.private if (b := self.steps.buffer(v))}
            inside = replace(self, memory=self.memory.replaced(private), sharing=None)
        dims = [self.steps.variable(loop.variable) for loop in loops]
        driver = LoopDriver(self.memory.emitter, whole(dims), split, share)
        for inner in driver.tiles(bound):
            inside.block(loops[-1].body.block, inner)
