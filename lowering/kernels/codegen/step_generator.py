"""The control flow of the steps of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....glow_dialects.glow_nest.affine import Buffer
from ....glow_dialects.glow_nest.kernel import BarrierOp, RepeatOp
from ....glow_dialects.glow_nest.nest import Listing
from ....glow_dialects.glow_nest.ops import ListNonzerosOp, NestOp, RepeatListedOp
from ....glow_dialects.glow_nest.steps import KernelSteps
from ....glow_dialects.machine import MachineDescription
from .emit import Emitter
from .generate import generator_of
from .memory import Memory
from .nonzero_list import Bound, fill_list, repeat_listed
from .sharing import Sharing


class StepGenerator:
    """Emits the steps of a kernel one after the other, for one of several threads."""

    def __init__(
        self,
        steps: KernelSteps,
        emitter: Emitter,
        memory: Memory,
        machine: MachineDescription,
        sharing: Sharing | None = None,
        private: Mapping[Buffer, SSAValue] | None = None,
    ):
        """`private` maps scratch that is private in some loops to the copies of the threads."""
        self._steps = steps
        self._e = emitter
        self._memory = memory
        self._machine = machine
        self._sharing = sharing
        """None where there is one thread, or where one thread does all."""
        self._private = private or {}

    def block(self, block: Block, bound: Bound) -> None:
        """Emits the steps of a block; `bound` has the values of enclosing loop variables."""
        for op in block.ops:
            match op:
                case NestOp():
                    self._nest(op, bound)
                case ListNonzerosOp():
                    self._by_one(partial(self._list, op, bound))
                case RepeatListedOp():
                    self._by_one(partial(self._alone(self._memory)._listed, op, bound))
                case RepeatOp():
                    self._repeat(op, bound)
                case BarrierOp() if self._sharing is not None:
                    self._sharing.barrier()
                case _:
                    continue

    def _nest(self, op: NestOp, bound: Bound) -> None:
        nest = self._steps.nest(op)
        if nest.is_empty:
            return
        schedule = op.bound_schedule(nest)
        if schedule is None:
            raise VerifyException("a nest has no schedule: run glow-schedule-nests first")
        sharing = self._sharing
        threads = 1 if sharing is None else sharing.threads
        generator = generator_of(nest, schedule, self._e, self._memory, self._machine, threads)
        if sharing is None or op.split is None:
            self._by_one(lambda: generator.run(bound))
            return
        split = op.split.data
        generator.run(bound, split, sharing.drawn if split.drawn else sharing.fixed)

    def _by_one(self, body: Callable[[], None]) -> None:
        """Has only the first thread run `body`."""
        if self._sharing is None:
            body()
            return
        first = self._e.compare("eq", self._sharing.thread, self._e.index(0))
        self._e.when(first, body)

    def _alone(self, memory: Memory) -> StepGenerator:
        """Returns a generator of the steps that one thread does, on some memory."""
        return StepGenerator(self._steps, self._e, memory, self._machine)

    def _list(self, op: ListNonzerosOp, bound: Bound) -> None:
        step = self._steps.content(op).step
        assert isinstance(step, Listing)
        fill_list(step, self._e, self._memory, self._machine, bound)

    def _listed(self, op: RepeatListedOp, bound: Bound) -> None:
        step = self._steps.loop_over_list(op)

        def inner(values: Bound) -> None:
            self.block(op.body.block, {**bound, **values})

        repeat_listed(step, self._e, self._memory, bound, inner)

    def _repeat(self, op: RepeatOp, bound: Bound) -> None:
        if op.count == 0:
            return
        if self._sharing is not None and op.divided is not None:
            self._divided(op, bound, self._sharing)
            return
        dim = self._steps.variable(op.variable)

        def body(iv: SSAValue | int, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.block(op.body.block, {**bound, dim: iv})
            return ()

        self._e.loop(op.count, 1, (), body)

    def _divided(self, op: RepeatOp, bound: Bound, sharing: Sharing) -> None:
        private = [b for v in op.private if (b := self._steps.buffer(v))]
        inside = self._alone(self._memory.replaced({b: self._private[b] for b in private}))
        loops = op.divided_loops
        dims = [self._steps.variable(loop.variable) for loop in loops]

        def body(places: Sequence[SSAValue | int]) -> None:
            inner = {**bound, **dict(zip(dims, places, strict=True))}
            inside.block(loops[-1].body.block, inner)

        sizes = [d.size for d in dims]
        sharing.drawn(prod(sizes), lambda first, end: self._e.loop_units(sizes, first, end, body))
