"""
The share of each thread in divided work.

Every thread goes through all steps of a kernel and does its part of each. The part depends on the
thread's number alone; or the thread does a large portion first and then draws tickets for small
portions of any part.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import BlockArgument, SSAValue

from ...threads import BARRIER, NEXT
from ..threads.split import Portions, portions_of
from .emit import Emitter
from .types import INDEX

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

    def drawn(self, units: int) -> Portions:
        """
        Has the thread do its large portion, and then small ones of any part until none is left. So
        all threads end at about the same time.
        """
        large, small = portions_of(units, self.threads)
        if not small:
            yield from self.fixed(units)
            return
        e, n = self.emitter, self.threads

        def following() -> SSAValue:
            drawn = e.call(_NEXT, (self.team, self.thread, e.index(n * small)), INDEX)
            return e.binary(arith.AddiOp, drawn, e.index(n))

        count = e.index(n + n * small)
        for number in e.loop_while(self.thread, count, 1 + n * small, following):
            # the large portion of a thread, or a small one of any part
            of_small = e.binary(arith.SubiOp, number, e.index(n))
            part = e.binary(arith.RemUIOp, of_small, e.index(n))
            is_large = e.compare("ult", number, e.index(n))
            start, end = self._part(units, e.select(is_large, number, part))
            rest_start = e.binary(arith.AddiOp, start, e.index(large))
            rest = e.binary(arith.SubiOp, end, rest_start)
            place = e.binary(arith.DivUIOp, of_small, e.index(n))
            after = e.binary(arith.AddiOp, place, e.index(1))
            yield (
                e.select(is_large, start, self._cut(rest_start, place, rest, small)),
                e.select(is_large, rest_start, self._cut(rest_start, after, rest, small)),
            )

    def fixed(self, units: int) -> Portions:
        """Has the thread do one portion, which depends on its number alone."""
        yield self._part(units, self.thread)

    def _cut(self, start: SSAValue, number: SSAValue, length: SSAValue, parts: int) -> SSAValue:
        """Returns the start of a part of a range that begins at `start`."""
        e = self.emitter
        return e.binary(arith.AddiOp, start, e.fraction(number, length, parts))

    def _part(self, units: int, thread: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Returns the first unit of a thread's part, and the first of the next."""
        e = self.emitter
        if units % self.threads == 0:
            each = e.index(units // self.threads)
            first = e.binary(arith.MuliOp, thread, each)
            return first, e.binary(arith.AddiOp, first, each)
        n, total = self.threads, e.index(units)
        after = e.binary(arith.AddiOp, thread, e.index(1))
        return e.fraction(thread, total, n), e.fraction(after, total, n)
