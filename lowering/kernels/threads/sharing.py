"""
Kernels that all threads of a team run together.

Every thread goes through all steps of a kernel and does its part of each. Where a step touches what
another thread may have written, or writes what another may still read, all meet at a barrier first.

The iterations of a `Repeat` are divided between threads, each with its own copy of the scratch that
it uses, if they are many enough and do not depend on each other. Otherwise all threads run all
iterations, and divide the nests inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import SSAValue

from ....glow_dialects.machine import MachineDescription
from ...threads import BARRIER, NEXT
from ..affine import Access, Buffer, Dim
from ..codegen.emit import Emitter
from ..codegen.generate import NestGenerator, generate
from ..codegen.memory import Memory
from ..codegen.types import INDEX
from ..nest import Listing, Nest, Repeat, RepeatListed, Step
from .overlap import is_self_contained, may_meet, nests_of, reads_of
from .split import Portion, is_balanced, portions_of

_BARRIER, _NEXT = SymbolRefAttr(BARRIER), SymbolRefAttr(NEXT)
Bound = Mapping[Dim, "SSAValue | int"]


@dataclass(frozen=True)
class Divided:
    """Nested loops whose iterations are divided between threads."""

    loops: tuple[Repeat, ...]
    private: tuple[Buffer, ...]
    """Scratch that each thread has to itself meanwhile."""

    @property
    def body(self) -> Sequence[Step]:
        return self.loops[-1].steps


def divided_loops(steps: Sequence[Step], threads: int) -> dict[Repeat, Divided]:
    """The outermost loops of a kernel that can be divided, by the first of those nested."""
    return dict(_divided(steps, steps, threads))


def buffers_outside(steps: Iterable[Step], divided: Mapping[Repeat, Divided]) -> set[Buffer]:
    """The buffers that all threads use together: those not private where they are accessed."""
    found: set[Buffer] = set()
    for step in steps:
        if not isinstance(step, Repeat):
            for nest in nests_of([step]):
                found.update(a.buffer for a in (*reads_of(nest), *nest.writes))
        elif step in divided:
            inside = buffers_outside(divided[step].body, {})
            found |= inside.difference(divided[step].private)
        else:
            found |= buffers_outside(step.steps, divided)
    return found


def _divided(
    steps: Sequence[Step], kernel: Sequence[Step], threads: int
) -> Sequence[tuple[Repeat, Divided]]:
    found = []
    for step in steps:
        if isinstance(step, Repeat):
            chosen = _divide(step, kernel, threads)
            found += [(step, chosen)] if chosen else _divided(step.steps, kernel, threads)
    return found


def _divide(loop: Repeat, kernel: Sequence[Step], threads: int) -> Divided | None:
    loops = [loop]
    while True:
        iterations = prod(r.dim.size for r in loops)
        if iterations > 1 and is_balanced(iterations, threads):
            break
        inner = loops[-1].steps
        if len(inner) != 1 or not isinstance(inner[0], Repeat):
            return None
        loops.append(inner[0])
    private = _private(loops, kernel)
    return None if private is None else Divided(tuple(loops), private)


def _private(loops: Sequence[Repeat], kernel: Sequence[Step]) -> tuple[Buffer, ...] | None:
    """
    The buffers that each iteration of nested loops needs for itself; None if iterations depend on
    each other.
    """
    accesses: dict[Buffer, list[Access]] = {}
    writes: dict[Buffer, list[Access]] = {}
    for nest in nests_of(loops[-1].steps):
        for access in (*reads_of(nest), *nest.writes):
            accesses.setdefault(access.buffer, []).append(access)
        for access in nest.writes:
            writes.setdefault(access.buffer, []).append(access)
    private = []
    for buffer, written in writes.items():
        if buffer.parameter is None and _is_local(loops, kernel, buffer):
            private.append(buffer)
        elif any(may_meet(written, accesses[buffer], r.dim) for r in loops if r.dim.size > 1):
            return None
    return tuple(private)


def _is_local(loops: Sequence[Repeat], kernel: Sequence[Step], buffer: Buffer) -> bool:
    """Whether nothing is carried in scratch into an iteration, or out of the loops."""
    return is_self_contained(loops[-1].steps, buffer) and is_self_contained(
        kernel, buffer, without=loops[0]
    )


@dataclass
class _Done:
    """Accesses since the last barrier."""

    reads: Sequence[Access]
    writes: Sequence[Access]
    alone: bool
    """Whether thread 0 made them."""
    loop: Dim | None = None
    """If they were made in other iterations than the present one of this loop."""


@dataclass
class Sharing:
    """The code of a kernel for one of several threads."""

    emitter: Emitter
    memory: Memory
    machine: MachineDescription
    threads: int
    thread: SSAValue
    team: SSAValue
    divided: Mapping[Repeat, Divided]
    own: Mapping[Buffer, SSAValue]
    """Where each thread has its copy of buffers that are private at times."""
    has_barriers: bool = False
    alone: bool = True
    """Whether only thread 0 does anything."""
    _done: list[_Done] = field(default_factory=list)

    def generate(self, steps: Sequence[Step], bound: Bound) -> None:
        """Emit steps one after the other; `bound` has the values of enclosing loop variables."""
        for step in steps:
            if isinstance(step, Nest):
                self._nest(step, bound)
            elif isinstance(step, Listing | RepeatListed):
                self._alone(step, bound)
            elif step.dim.size == 0:
                continue
            elif step in self.divided:
                self._divided(self.divided[step], bound)
            elif step.dim.size == 1:
                self.generate(step.steps, {**bound, step.dim: 0})
            else:
                self._together(step, bound)

    def _nest(self, nest: Nest, bound: Bound) -> None:
        if nest.is_empty:
            return
        generator = NestGenerator.of(nest, self.emitter, self.memory, self.machine)
        split = generator.choose_split(self.threads)
        self._meet([nest], alone=split is None)
        if split is None:
            self._when_first(lambda: generator.run(bound))
            return
        generator.run(bound, split, self.drawn if split.draws else self.fixed)

    def _alone(self, step: Listing | RepeatListed, bound: Bound) -> None:
        """Thread 0 does all of a step whose length is not known beforehand."""
        self._meet(list(nests_of([step])), alone=True)
        self._when_first(lambda: generate([step], self.emitter, self.memory, self.machine, bound))

    def _when_first(self, body: Callable[[], None]) -> None:
        first = self.emitter.compare("eq", self.thread, self.emitter.index(0))
        self.emitter.when(first, body)

    def drawn(self, units: int, portion: Portion) -> None:
        """
        The thread does its large portion, and then small ones, of whichever part, until none is
        left, so that all threads end at about the same time.
        """
        large, small = portions_of(units, self.threads)
        if not small:
            self.fixed(units, portion)
            return
        e, n = self.emitter, self.threads
        count = e.index(n + n * small)

        def ends(number: SSAValue) -> tuple[SSAValue, SSAValue]:
            """Portion `number` is the large one of a thread, or a small one of any part."""
            of_small = e.binary(arith.SubiOp, number, e.index(n))
            part = e.binary(arith.RemUIOp, of_small, e.index(n))
            is_large = e.compare("ult", number, e.index(n))
            start, end = self._part(units, e.select(is_large, number, part))
            rest_start = e.binary(arith.AddiOp, start, e.index(large))
            rest = e.binary(arith.SubiOp, end, rest_start)

            def cut(place: SSAValue) -> SSAValue:
                return e.binary(arith.AddiOp, rest_start, e.fraction(place, rest, small))

            place = e.binary(arith.DivUIOp, of_small, e.index(n))
            after = e.binary(arith.AddiOp, place, e.index(1))
            return (
                e.select(is_large, start, cut(place)),
                e.select(is_large, rest_start, cut(after)),
            )

        def body(number: SSAValue) -> SSAValue:
            portion(*ends(number))
            drawn = e.call(_NEXT, (self.team, self.thread, e.index(n * small)), INDEX)
            return e.binary(arith.AddiOp, drawn, e.index(n))

        e.loop_while(self.thread, count, 1 + n * small, body)

    def fixed(self, units: int, portion: Portion) -> None:
        """The thread does one portion, which depends on its number alone."""
        portion(*self._part(units, self.thread))

    def _part(self, units: int, thread: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The first unit of a thread's part, and the first of the next."""
        e = self.emitter
        if units % self.threads == 0:
            each = e.index(units // self.threads)
            first = e.binary(arith.MuliOp, thread, each)
            return first, e.binary(arith.AddiOp, first, each)
        n, total = self.threads, e.index(units)
        after = e.binary(arith.AddiOp, thread, e.index(1))
        return e.fraction(thread, total, n), e.fraction(after, total, n)

    def _divided(self, divided: Divided, bound: Bound) -> None:
        self._meet(list(nests_of(divided.body)), alone=False, private=divided.private)
        memory = self.memory.replaced({b: self.own[b] for b in divided.private})
        dims = [r.dim for r in divided.loops]

        def body(places: Sequence[SSAValue | int]) -> None:
            inner = {**bound, **dict(zip(dims, places, strict=True))}
            generate(divided.body, self.emitter, memory, self.machine, inner)

        sizes = [d.size for d in dims]
        self.drawn(prod(sizes), lambda first, end: self.emitter.loop_units(sizes, first, end, body))

    def _together(self, loop: Repeat, bound: Bound) -> None:
        for nest in nests_of(loop.steps):
            # a thread may be an iteration ahead of others
            self._done.append(_Done(reads_of(nest), nest.writes, False, loop.dim))

        def body(iv: SSAValue | int, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.generate(loop.steps, {**bound, loop.dim: iv})
            return ()

        self.emitter.loop(loop.dim.size, 1, (), body)

    # barriers

    def _meet(self, nests: Sequence[Nest], alone: bool, private: Sequence[Buffer] = ()) -> None:
        """A barrier, if it is necessary before nests, which then count as done."""
        self.alone = self.alone and alone
        reads = [a for n in nests for a in reads_of(n) if a.buffer not in private]
        writes = [a for n in nests for a in n.writes if a.buffer not in private]
        now = _Done(reads, writes, alone)
        if any(_conflict(before, now) for before in self._done):
            self.barrier()
        self._done.append(now)

    def barrier(self) -> None:
        self.has_barriers = True
        self.emitter.call(_BARRIER, (self.team, self.thread))
        self._done.clear()


def _conflict(before: _Done, now: _Done) -> bool:
    if before.alone and now.alone:
        return False
    return (
        may_meet(before.writes, now.reads, before.loop)
        or may_meet(before.writes, now.writes, before.loop)
        or may_meet(before.reads, now.writes, before.loop)
    )
