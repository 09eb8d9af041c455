"""The points where threads must wait for each other: between steps of a kernel, and kernels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from xdsl.ir import SSAValue

from ....glow_dialects.glow_inst.instruction import buffer_of
from ....glow_dialects.glow_nest.affine import Dim
from ....passes.instructions.program import overlap


@dataclass(frozen=True)
class Region:
    """
    Bytes `start` to `end - 1` of a segment of memory; with `view`, only those of this view of a
    buffer.
    """

    segment: Hashable
    start: int
    end: int
    view: SSAValue | None = None

    def meets(self, other: Region) -> bool:
        """Returns whether the regions may share a byte."""
        same = self.segment == other.segment
        if not (same and self.start < other.end and other.start < self.end):
            return False
        if self.view is None or other.view is None:
            return True
        # other buffers at the same place, at other times, are only known by their bytes
        return buffer_of(self.view) is not buffer_of(other.view) or overlap(self.view, other.view)


def any_meet(a: Sequence[Region], b: Sequence[Region], loop: Dim | None = None) -> bool:
    """Returns whether regions of two kernels may share a byte."""
    return any(x.meets(y) for x in a for y in b)


A = TypeVar("A")


@dataclass(frozen=True)
class MemoryUse(Generic[A]):
    """The memory that a step of a program touches: regions of it, or accesses."""

    reads: Sequence[A]
    writes: Sequence[A]
    alone: bool
    """Whether only thread 0 does any work."""
    loop: Dim | None = None
    """The loop in another iteration of which the step runs, if it does."""


@dataclass
class Hazards(Generic[A]):
    """Steps that some threads may still be in."""

    meet: Callable[[Sequence[A], Sequence[A], Dim | None], bool]
    """Returns whether two steps may touch the same memory, in different iterations of a loop."""
    open: list[MemoryUse[A]] = field(default_factory=list)

    def need_barrier(self, use: MemoryUse[A]) -> bool:
        """
        Returns whether a barrier must stand before a step, and counts the step as begun. The caller
        adds the barrier.
        """
        found = any(self._conflict(before, use) for before in self.open)
        if found:
            self.open.clear()
        self.open.append(use)
        return found

    def _conflict(self, before: MemoryUse[A], now: MemoryUse[A]) -> bool:
        """Returns whether `now` must not begin on any thread until `before` has ended on all."""
        if before.alone and now.alone:
            return False
        pairs = (
            *((before.writes, now.reads), (before.writes, now.writes)),
            (before.reads, now.writes),
        )
        return any(self.meet(a, b, before.loop) for a, b in pairs)

    def passed_barrier(self) -> None:
        """Notes that all threads have met inside the step that was begun last."""
        del self.open[:-1]
