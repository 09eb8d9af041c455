"""
Fills the padding around buffers once.

A buffer with a border, as convolutions with padding read it, is filled around the inside by splats,
and nothing else ever writes what they fill. So its splats may stand anywhere before the first read:
they move in front of everything else that uses the buffer, where threads that have nothing to fill
can begin with the inside.

The border outlives the inside. When all uses of a buffer are over, a later buffer of the same type
and with the same splats becomes the same buffer, and needs none. Its memory cannot serve others
between the two; so this is done where the lower bound of the arena, the maximum over time of the
bytes alive, does not grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.elements import type_bytes
from ...glow_dialects.glow_inst.instruction import Instruction
from ...glow_dialects.glow_inst.memory import AllocActivationOp
from ...lazy import lazy_property
from ..levels import PROGRAM
from ..visited_operation import each
from .loops import SPLAT
from .program import OperandAccess, Timeline, memref, overlap, tidy
from .replanning import changing


@dataclass(frozen=True)
class Bordered:
    """A buffer with disjoint parts that are filled with numbers and never written otherwise."""

    buffer: SSAValue
    fills: tuple[Instruction, ...]
    first: int
    """The slot of the first use of the buffer that is not a fill."""
    last: int

    @lazy_property
    def form(self) -> tuple[Attribute, frozenset[tuple[Attribute, Attribute]]]:
        """The properties that are equal for buffers with equal halos."""
        fills = ((op.operands[0].type, op.properties["value"]) for op in self.fills)
        return self.buffer.type, frozenset(fills)


def bordered(timeline: Timeline, buffer: SSAValue) -> Bordered | None:
    """
    Returns the borders of a buffer; None if it has none, if other instructions write them, or if
    they are read before they are filled.
    """
    fills: list[Instruction] = []
    filled: list[SSAValue] = []
    others: list[OperandAccess] = []
    for access in timeline.accesses(buffer):
        if type(access.instruction) is not SPLAT:
            others.append(access)
        elif any(overlap(v, access.value) for v in (*filled, *(a.value for a in others))):
            return None
        else:
            fills.append(access.instruction)
            filled.append(access.value)
    written = [a.value for a in others if a.writes]
    if not fills or not others or any(overlap(f, w) for f in filled for w in written):
        return None
    return Bordered(buffer, tuple(fills), others[0].slot, others[-1].slot)


class LiveBytes:
    """The number of live bytes in each slot of a program."""

    def __init__(self, slots: int):
        self._alive = np.zeros(slots, np.int64)
        self._most = 0

    def add(self, size: int, first: int, last: int) -> None:
        """Adds a buffer that is alive from slot `first` to `last`."""
        self._alive[first : last + 1] += size
        self._most = max(self._most, int(self._alive[first : last + 1].max()))

    def keep(self, size: int, first: int, end: int) -> bool:
        """
        Lets `size` bytes live from slot `first` up to `end`; False, and nothing happens, if the
        maximum would grow.
        """
        if int(self._alive[first:end].max(initial=0)) + size > self._most:
            return False
        self._alive[first:end] += size
        return True


def _become(timeline: Timeline, later: Bordered, buffer: SSAValue) -> None:
    """Lets a later buffer be `buffer`, whose border is filled."""
    for fill in later.fills:
        timeline.erase(fill)
    for access in list(timeline.accesses(later.buffer)):
        view = timeline.view(buffer, memref(access.value))
        timeline.redirect(access.instruction, access.index, view)


def _in_order(timeline: Timeline, kept: Sequence[Bordered]) -> Iterator[Instruction]:
    """Yields the instructions, each after the fills of the buffers that it is the first to use."""
    moved = {fill for b in kept for fill in b.fills}
    ahead: dict[int, list[Instruction]] = {}
    for b in kept:
        ahead.setdefault(b.first, []).extend(b.fills)
    for slot, op in enumerate(timeline.slots):
        yield from ahead.get(slot, ())
        if op is not None and op not in moved:
            yield op


def hoist_padding_fills(block: Block) -> None:
    """Fills the borders of a program's buffers early, and once where memory allows it."""
    timeline = Timeline(block)
    memory = LiveBytes(len(timeline.slots))
    found: list[Bordered] = []
    for op in each(block.ops):
        if isinstance(op, AllocActivationOp) and timeline.count(op.result):
            b = bordered(timeline, op.result)
            found += [b] if b else []
            span = (b.first, b.last) if b else timeline.span(op.result)
            memory.add(type_bytes(memref(op.result)), *span)
    kept: list[Bordered] = []
    for later in sorted(found, key=lambda b: b.first):
        free = [b for b in kept if b.form == later.form and b.last < later.first]
        earlier = max(free, key=lambda b: b.last, default=None)
        size = type_bytes(memref(later.buffer))
        if earlier and memory.keep(size, earlier.last + 1, later.first):
            _become(timeline, later, earlier.buffer)
            kept[kept.index(earlier)] = replace(earlier, last=later.last)
        else:
            kept.append(later)
    tidy(block, list(_in_order(timeline, kept)))


@dataclass(frozen=True)
class HoistPaddingFillsPass(ModulePass):
    """Fills the borders of buffers early, and once for several buffers where memory allows it."""

    name = "glow-hoist-padding-fills"
    level = PROGRAM

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with changing(op) as blocks:
            for block in blocks:
                hoist_padding_fills(block)
