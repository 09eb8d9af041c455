"""
The control flow of the steps of a kernel: loops, lists of places where a vector is not zero, and
what threads share while they run the steps together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Access, Buffer, stride_of
from ....glow_dialects.glow_nest.kernel import BarrierOp, RepeatOp
from ....glow_dialects.glow_nest.nest import Listing, RepeatListed
from ....glow_dialects.glow_nest.ops import ListNonzerosOp, NestOp, RepeatListedOp
from ....glow_dialects.glow_nest.schedule import AmxTile, Split, VectorSchedule
from ....glow_dialects.glow_nest.steps import KernelSteps
from ....glow_dialects.machine import MachineDescription
from ....passes.visited_operation import each
from ...threads import BARRIER, NEXT
from ..threads.split import Portions, portions_of
from .algebra import ArithAlgebra
from .amx_nest import TileNest
from .emit import Carried, Emitter, IndexLike
from .loop_driver import LoopDriver, limited
from .memory import Address, Bound, FlatBuffers
from .types import INDEX, computes_in_float, memory_type
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
    """The place at which each thread has its copy of scratch that is private at times."""

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
            if nest.is_limited:
                raise VerifyException("expected loops without limits for amx_tile")
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
        dims, e = [self.steps.variable(loop.variable) for loop in loops], self.memory.emitter
        driver = LoopDriver(e, limited(dims, bound.count, e), split, share)
        for inner in driver.tiles(bound):
            for dim in dims:
                inner.count = inner.count.inside(dim, inner[dim], e)
            inside.block(loops[-1].body.block, inner)


def fill_list(
    step: Listing, memory: FlatBuffers, machine: MachineDescription, bound: Bound
) -> None:
    """
    Emits a loop that stores each number after those that are listed so far; the next number
    overwrites it if it is not to stay. That takes no branches. Vectors of zeros are passed over.
    """
    e, to, dim = memory.emitter, step.numbers, step.numbers.dim
    places = memory.places([step.source, to.place, to.count], bound)
    kind = memory_type(to.place.element)

    def is_listed(place: Address, lanes: int) -> SSAValue:
        """Returns whether elements at a place are not zero, as one bit for each."""
        algebra = ArithAlgebra(e, machine, lanes)
        value = memory.load(step.source, place, 1, algebra)
        differs = "une" if computes_in_float(value.element) else "ne"
        return e.compare(differs, value.ssa, algebra.number(0, value.element).ssa)

    def each_number(iv: IndexLike, carried: Carried) -> Carried:
        (count,) = carried
        number = e.index(iv)
        end = at(to.place, count)
        e.store(e.cast("index_cast", number, kind), memory.flat[to.place.buffer], memory.at(end))
        listed = is_listed(at(step.source, iv), 1)
        return [e.plus(count, e.select(listed, e.index(1), e.index(0)))]

    def at(access: Access, iv: IndexLike) -> Address:
        return memory.advance({access: places[access]}, dim, iv)[access]

    def each_vector(iv: IndexLike, carried: Carried) -> Carried:
        (count,) = carried
        start = e.index(iv)
        end = e.plus(start, lanes)
        mask = e.as_integer(is_listed(at(step.source, iv), lanes))
        some = e.compare("ne", mask, e.constant(mask.type, 0))

        def listed() -> SSAValue:
            return e.loop_carrying(start, end, 1, [count], each_number)[0]

        return [e.choose(some, listed, lambda: count, INDEX)]

    lanes = machine.vector_bits // 8 // element_bytes(step.source.element)
    several = stride_of(step.source, dim) == 1 and step.source.indirect is None
    in_vectors = dim.size // lanes * lanes if several else 0
    (count,) = e.loop_carrying(0, in_vectors, lanes, [e.index(0)], each_vector)
    if in_vectors < dim.size:
        after = e.index(dim.size)
        (count,) = e.loop_carrying(in_vectors, after, 1, [count], each_number)
    stored = e.cast("index_cast", count, memory_type(to.count.element))
    e.store(stored, memory.flat[to.count.buffer], memory.at(places[to.count]))


def repeat_listed(step: RepeatListed, memory: FlatBuffers, bound: Bound) -> Iterator[Bound]:
    """Yields a loop over groups of neighbours in a list: the values of loop variables inside."""
    e, listing = memory.emitter, step.numbers
    places = memory.places([listing.place, listing.count], bound)
    numbers = {listing.place: places[listing.place]}
    count, size = memory.load_index(listing.count, places[listing.count]), len(step.dims)
    # the numbers in complete groups
    start = e.round_down(count, step.after) if step.after else e.index(0)
    end = e.round_down(count, size)
    if (part := step.part) is not None and part.size > 1:
        groups, first = e.quotient(e.minus(end, start), size), start
        start, end = (
            e.plus(first, e.times(e.fraction(groups, e.plus(bound[part], i), part.size), size))
            for i in (0, 1)
        )
    for at in e.loop_between(start, end, size):
        first = memory.advance(numbers, listing.dim, at)
        values = Bound(bound, bound.count)
        for i, dim in enumerate(step.dims):
            place = memory.advance(first, listing.dim, i)[listing.place]
            values[dim] = memory.load_index(listing.place, place)
        yield values


_BARRIER, _NEXT = SymbolRefAttr(BARRIER), SymbolRefAttr(NEXT)


@dataclass(frozen=True)
class Sharing:
    """Emits the part of one thread in divided work."""

    emitter: Emitter
    threads: int
    thread: SSAValue
    """The number of the thread."""
    team: BlockArgument

    def barrier(self) -> None:
        self.emitter.call(_BARRIER, (self.team, self.thread))

    def drawn(self, units: IndexLike) -> Portions:
        """
        Has the thread do its large portion, and then small ones of any part until none is left. So
        all threads end at about the same time.
        """
        large, small = portions_of(units, self.threads) if isinstance(units, int) else (0, 0)
        if not small:
            yield from self.fixed(units)
            return
        e, n = self.emitter, self.threads

        def following() -> SSAValue:
            drawn = e.call(_NEXT, (self.team, self.thread, e.index(n * small)), INDEX)
            return e.plus(drawn, n)

        count = e.index(n + n * small)
        for number in e.loop_while(self.thread, count, 1 + n * small, following):
            # the large portion of a thread, or a small one of any part
            of_small = e.minus(number, n)
            part = e.remainder(of_small, n)
            is_large = e.compare("ult", number, e.index(n))
            start, end = self._part(units, e.select(is_large, number, part))
            rest_start = e.plus(start, large)
            rest = e.minus(end, rest_start)
            place = e.quotient(of_small, n)
            first, after = (
                e.plus(rest_start, e.fraction(p, rest, small)) for p in (place, e.plus(place, 1))
            )
            yield e.select(is_large, start, first), e.select(is_large, rest_start, after)

    def fixed(self, units: IndexLike) -> Portions:
        """Has the thread do one portion, which depends on its number alone."""
        yield self._part(units, self.thread)

    def _part(self, units: IndexLike, thread: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Returns the first unit of a thread's part, and the first of the next."""
        e = self.emitter
        if isinstance(units, int) and units % self.threads == 0:
            each = units // self.threads
            first = e.times(thread, each)
            return first, e.plus(first, each)
        n = self.threads
        return e.fraction(thread, units, n), e.fraction(e.plus(thread, 1), units, n)
