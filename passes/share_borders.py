"""
Fills borders once.

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
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from ..glow_dialects.elements import type_bytes
from ..glow_dialects.glow_inst.instruction import Instruction
from ..glow_dialects.glow_inst.memory import AllocActivationOp
from .loops import SPLAT
from .program import Access, Timeline, memref, overlap, programs, tidy


@dataclass(frozen=True)
class Bordered:
    """A buffer of which some parts are filled with numbers, and never written otherwise."""

    buffer: SSAValue
    fills: tuple[Instruction, ...]

    @property
    def form(self) -> tuple[Attribute, frozenset[tuple[Attribute, Attribute]]]:
        """What must be equal for the borders to be."""
        fills = ((op.operands[0].type, op.properties["value"]) for op in self.fills)
        return self.buffer.type, frozenset(fills)


def bordered(timeline: Timeline, buffer: SSAValue) -> Bordered | None:
    """
    The borders of a buffer; None if it has none, or if something else writes them, or reads them
    before they are filled.
    """
    fills: list[Instruction] = []
    others: list[Access] = []
    for access in timeline.accesses(buffer):
        if type(access.instruction) is not SPLAT:
            others.append(access)
        elif any(overlap(a.value, access.value) for a in others):
            return None
        else:
            fills.append(access.instruction)
    written = [a.value for a in others if a.writes]
    if not fills or any(overlap(f.operands[0], v) for f in fills for v in written):
        return None
    return Bordered(buffer, tuple(fills))


class Memory:
    """How many bytes are alive in each slot of a program."""

    def __init__(self, timeline: Timeline, buffers: Sequence[SSAValue]):
        self._alive = np.zeros(len(timeline.slots) + 1, np.int64)
        for buffer in buffers:
            first, last = timeline.span(buffer)
            self._alive[first : last + 1] += type_bytes(memref(buffer))
        self._most = int(self._alive.max(initial=0))

    def keep(self, size: int, first: int, end: int) -> bool:
        """
        Let `size` bytes live from slot `first` up to `end`; False, and nothing happens, if the
        maximum would grow.
        """
        if int(self._alive[first:end].max(initial=0)) + size > self._most:
            return False
        self._alive[first:end] += size
        return True


def _become(timeline: Timeline, later: Bordered, buffer: SSAValue) -> None:
    """Let a later buffer be `buffer`, whose border is filled."""
    for fill in later.fills:
        timeline.erase(fill)
    for access in list(timeline.accesses(later.buffer)):
        view = timeline.view(buffer, memref(access.value))
        timeline.redirect(access.instruction, access.index, view)


def _in_order(timeline: Timeline, kept: list[Bordered]) -> Iterator[Instruction]:
    """The instructions, each after the fills of the buffers that it is the first to use."""
    moved = {fill for b in kept for fill in b.fills}
    ahead: dict[int, list[Instruction]] = {}
    for b in kept:
        slots = (a.slot for a in timeline.accesses(b.buffer) if a.instruction not in moved)
        first = next(slots, timeline.span(b.buffer)[0])
        ahead.setdefault(first, []).extend(b.fills)
    for slot, op in enumerate(timeline.slots):
        yield from ahead.get(slot, ())
        if op is not None and op not in moved:
            yield op


def share_borders(block: Block) -> None:
    """Fill the borders of a program's buffers early, and once where memory allows it."""
    timeline = Timeline(block)
    buffers = [op.result for op in block.ops if isinstance(op, AllocActivationOp)]
    buffers = [buffer for buffer in buffers if timeline.count(buffer)]
    memory = Memory(timeline, buffers)
    found = [b for b in (bordered(timeline, v) for v in buffers) if b is not None]
    found.sort(key=lambda b: timeline.span(b.buffer))
    kept: list[Bordered] = []
    for candidate in found:
        start = timeline.span(candidate.buffer)[0]
        size = type_bytes(memref(candidate.buffer))
        free = [b for b in kept if b.form == candidate.form and timeline.span(b.buffer)[1] < start]
        earlier = max(free, key=lambda b: timeline.span(b.buffer)[1], default=None)
        if earlier and memory.keep(size, timeline.span(earlier.buffer)[1] + 1, start):
            _become(timeline, candidate, earlier.buffer)
        else:
            kept.append(candidate)
    tidy(block, list(_in_order(timeline, kept)))


@dataclass(frozen=True)
class ShareBordersPass(ModulePass):
    """Fills the borders of buffers early, and once for several buffers where memory allows it."""

    name = "glow-share-borders"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in programs(op):
            share_borders(function.body.block)
