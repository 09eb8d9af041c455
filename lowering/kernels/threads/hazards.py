"""The points where threads that run kernels one after the other must wait for each other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from ....glow_dialects.glow_inst.instruction import buffer_of
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


@dataclass(frozen=True)
class Work:
    """The memory that a kernel touches."""

    reads: Sequence[Region]
    writes: Sequence[Region]
    alone: bool
    """Whether only thread 0 does any work."""

    def conflicts(self, later: Work) -> bool:
        """Returns whether `later` must not begin on any thread before this has ended on all."""
        if self.alone and later.alone:
            return False
        return (
            _meet(self.writes, later.reads)
            or _meet(self.writes, later.writes)
            or _meet(self.reads, later.writes)
        )


def _meet(a: Sequence[Region], b: Sequence[Region]) -> bool:
    return any(x.meets(y) for x in a for y in b)


@dataclass
class Hazards:
    """Kernels that some threads may still be in."""

    _open: list[Work] = field(default_factory=list)

    def need_barrier(self, work: Work) -> bool:
        """
        Returns whether a barrier must stand before `work`, and counts `work` as begun. The caller
        adds the barrier.
        """
        found = any(before.conflicts(work) for before in self._open)
        if found:
            self._open.clear()
        self._open.append(work)
        return found

    def passed_barrier(self) -> None:
        """Notes that all threads have met inside the kernel that was begun last."""
        del self._open[:-1]
