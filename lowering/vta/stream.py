"""
Instructions in the order of the program, with the tokens that keep their results correct.

The lowering of a network emits instructions as if one engine executed them one after the other, and
states the reads and writes of each. Where an instruction must wait for one of another engine, a
pair of flags is set: the earlier one pushes a token that the later one pops. The vector clock of an
engine (Fidge 1988, Mattern 1989) holds how many instructions of each engine are known to be done,
so a wait that follows from another is not emitted. Everything else overlaps: if a buffer has room
for two tiles, the second is loaded while the first is computed. Regions of DRAM that share bytes
are parts of one space, whose elements are kept in order under any name.

Tokens of a pair of engines form a queue. The k-th pop finds the k-th push, because each wait is for
a later instruction than all waits of the same pair before it. Every instruction waits for earlier
ones only, so there is no deadlock, and no token is left over.

Queues have a length. If all instructions were executed one after the other, no queue would ever
hold more tokens; so engines that wait at full queues do not stop each other for ever. Where a queue
has no room for one more token, the previous wait of that queue waits for the later instruction
instead, which does not change the order of execution.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import StringAttr

from ...glow_dialects.vta import (
    LAYER,
    AluOp,
    AluOpcode,
    Engine,
    FinishOp,
    GemmOp,
    LoadOp,
    StoreOp,
    VtaConfig,
    VtaInstruction,
    VtaMemory,
)
from ...glow_dialects.vta.attributes import tokens_attr
from .regions import Dram, Move

LOAD, COMPUTE, STORE = range(3)
_ENGINES = (Engine.LOAD, Engine.COMPUTE, Engine.STORE)
_NUMBERS = {engine: i for i, engine in enumerate(_ENGINES)}
_BUFFERS = (VtaMemory.INP, VtaMemory.WGT, VtaMemory.ACC)

Clock = list[int]
"""The numbers of instructions of LOAD, COMPUTE and STORE that are done."""


class BufferSpan(NamedTuple):
    """Elements `begin` to `end - 1` of a buffer."""

    memory: VtaMemory
    begin: int
    end: int


@dataclass
class _Issued:
    """An instruction, and the engines that it waits for and that wait for it."""

    op: VtaInstruction
    engine: int
    clock: Clock
    """The time at which it is done."""
    place: int
    """The number of the instruction in the program."""
    pops: set[int] = field(default_factory=set)
    pushes: set[int] = field(default_factory=set)


class _Token(NamedTuple):
    """The instruction that pushes a token, and the number in the program of the one that pops."""

    sender: _Issued
    popped: int


class _Shadow:
    """
    The number of instructions of an engine that were issued up to the last reader and writer of
    each element of a memory.
    """

    def __init__(self, size: int):
        self.read = np.zeros((len(_ENGINES), size), np.int32)
        self.written = np.zeros((len(_ENGINES), size), np.int32)


def _raise(needs: list[int], counts: np.ndarray) -> None:
    """Needs the instructions in int32[engine, ...] too."""
    found = counts.reshape(len(_ENGINES), -1).max(axis=1, initial=0)
    needs[:] = map(max, needs, found.tolist())


class Stream:
    """The instructions of a program for one machine, in order."""

    def __init__(self, config: VtaConfig):
        self.config = config
        self._issued: list[_Issued] = []
        self._layer = ""
        """The layer that begins with the next instruction."""
        self._by_engine: list[list[_Issued]] = [[] for _ in _ENGINES]
        self._clocks: list[Clock] = [[0] * len(_ENGINES) for _ in _ENGINES]
        self._queues: dict[tuple[int, int], list[_Token]] = {
            (a, b): []
            for a, b in ((LOAD, COMPUTE), (COMPUTE, LOAD), (COMPUTE, STORE), (STORE, COMPUTE))
        }
        """All tokens that one engine sends to another, in order."""
        self._shadows: dict[object, _Shadow] = {m: _Shadow(config.depth(m)) for m in _BUFFERS}

    def instructions(self) -> list[VtaInstruction]:
        """Returns all instructions, with their tokens."""
        for i in self._issued:
            pops, pushes = (tuple(_ENGINES[e] for e in sorted(s)) for s in (i.pops, i.pushes))
            i.op.properties["tokens"] = tokens_attr(_ENGINES[i.engine], pops, pushes)
        return [i.op for i in self._issued]

    def begin(self, layer: str) -> None:
        """Says that a layer of the network begins with the next instruction."""
        self._layer = layer

    # instructions

    def load(
        self,
        memory: VtaMemory,
        sram: int,
        dram: Dram,
        move: Move,
        pad: Sequence[int] = (0, 0, 0, 0),
    ) -> None:
        """Moves rows of a region into a buffer, surrounded by zeros."""
        top, bottom, left, right = pad
        count = (top + move.rows + bottom) * (left + move.columns + right)
        engine = _NUMBERS[memory.engine]
        needs = [0] * len(_ENGINES)
        if memory.buffer in _BUFFERS:
            self._wait(needs, BufferSpan(memory.buffer, sram, sram + count), writes=True)
        if dram.space is not None and move.rows:
            self._wait_dram(needs, dram, move, writes=False)
        op = LoadOp.of(
            memory, sram, dram.value, move.first, move.rows, move.columns, move.stride, pad
        )
        self._issue(op, engine, needs)
        if memory.buffer in _BUFFERS:
            self._mark(engine, BufferSpan(memory.buffer, sram, sram + count), writes=True)
        if dram.space is not None and move.rows:
            self._mark_dram(engine, dram, move, writes=False)

    def store(self, sram: int, dram: Dram, move: Move) -> None:
        """Moves rows of accumulators into a region."""
        span = BufferSpan(VtaMemory.ACC, sram, sram + move.rows * move.columns)
        needs = [0] * len(_ENGINES)
        self._wait(needs, span, writes=False)
        self._wait_dram(needs, dram, move, writes=True)
        op = StoreOp.of(sram, dram.value, move.first, move.rows, move.columns, move.stride)
        self._issue(op, STORE, needs)
        self._mark(STORE, span, writes=False)
        self._mark_dram(STORE, dram, move, writes=True)

    def gemm(
        self,
        uops: tuple[int, int],
        loops: Loops,
        written: BufferSpan,
        read: Sequence[BufferSpan] = (),
        reset: bool = False,
    ) -> None:
        """
        Sums products of the elements in `read` into the accumulators `written`, or sets these to
        zero.
        """
        op = GemmOp.of(uops, loops.counts, loops.dst, loops.src, loops.wgt, reset)
        self._compute(op, written, read)

    def alu(
        self,
        opcode: AluOpcode,
        uops: tuple[int, int],
        loops: Loops,
        written: BufferSpan,
        operand: BufferSpan | int,
    ) -> None:
        """Combines the accumulators `written` with a number or with other accumulators."""
        if isinstance(operand, int):
            op = AluOp.of(opcode, uops, loops.counts, loops.dst, loops.src, operand)
            self._compute(op, written, ())
        else:
            op = AluOp.of(opcode, uops, loops.counts, loops.dst, loops.src)
            self._compute(op, written, (operand,))

    def finish(self) -> None:
        """Ends the program when everything is stored."""
        self._issue(FinishOp.of(), COMPUTE, [len(issued) for issued in self._by_engine])

    def _compute(self, op: VtaInstruction, written: BufferSpan, read: Sequence[BufferSpan]) -> None:
        needs = [0] * len(_ENGINES)
        self._wait(needs, written, writes=True)
        for span in read:
            self._wait(needs, span, writes=False)
        self._issue(op, COMPUTE, needs)
        self._mark(COMPUTE, written, writes=True)
        for span in read:
            self._mark(COMPUTE, span, writes=False)

    # waits

    def _issue(self, op: VtaInstruction, engine: int, needs: list[int]) -> None:
        """Emits an instruction that waits for a number of instructions of each engine."""
        pops: set[int] = set()
        for other in self._messengers(engine, needs):
            if other == engine or self._clocks[engine][other] >= needs[other]:
                continue
            before = self._by_engine[other][needs[other] - 1]
            if self._send(before, engine):
                pops.add(other)
            joined = zip(self._clocks[engine], before.clock, strict=True)
            self._clocks[engine] = [max(pair) for pair in joined]
        done = list(self._clocks[engine])
        done[engine] += 1
        self._clocks[engine] = done
        if self._layer:
            op.attributes[LAYER] = StringAttr(self._layer)
            self._layer = ""
        issued = _Issued(op, engine, done, len(self._issued), pops)
        self._issued.append(issued)
        self._by_engine[engine].append(issued)

    def _send(self, sender: _Issued, receiver: int) -> bool:
        """
        Sends a token of an instruction to another engine. Whether the next instruction there pops
        it; otherwise one that popped the token before waits for this one instead.
        """
        queue, length = self._queues[sender.engine, receiver], self.config.queue_limit
        is_full = (
            length is not None and len(queue) >= length and queue[-length].popped > sender.place
        )
        popped = len(self._issued)
        if is_full:
            last = queue.pop()
            last.sender.pushes.discard(receiver)
            popped = last.popped
        sender.pushes.add(receiver)
        queue.append(_Token(sender, popped))
        return not is_full

    def _messengers(self, engine: int, needs: list[int]) -> tuple[int, ...]:
        """
        Returns the engines whose tokens an instruction can pop. LOAD and STORE have no queue
        between them; COMPUTE passes the message on, so that more of its instructions are needed.
        """
        if engine == COMPUTE:
            return LOAD, STORE
        other = STORE if engine == LOAD else LOAD
        if self._clocks[engine][other] < needs[other]:
            needs[COMPUTE] = max(needs[COMPUTE], self._knowing(other, needs[other]))
        return (COMPUTE,)

    def _knowing(self, other: int, count: int) -> int:
        """
        Returns how many instructions of COMPUTE are done when one knows of `count` of `other`.
        """
        computed = self._by_engine[COMPUTE]
        number = bisect_left(computed, count, key=lambda i: i.clock[other])
        if number == len(computed):
            needs = [0] * len(_ENGINES)
            needs[other] = count
            self._issue(LoadOp.of(VtaMemory.UOP, 0, None, 0, 1, 0), COMPUTE, needs)
        return number + 1

    def _wait(self, needs: list[int], span: BufferSpan, writes: bool) -> None:
        shadow, place = self._shadows[span.memory], slice(span.begin, span.end)
        _raise(needs, shadow.written[:, place])
        if writes:
            _raise(needs, shadow.read[:, place])

    def _wait_dram(self, needs: list[int], dram: Dram, move: Move, writes: bool) -> None:
        shadow = self._shadow(dram)
        _raise(needs, move.view(shadow.written, dram.start))
        if writes:
            _raise(needs, move.view(shadow.read, dram.start))

    def _mark(self, engine: int, span: BufferSpan, writes: bool) -> None:
        shadow = self._shadows[span.memory]
        table = shadow.written if writes else shadow.read
        table[engine, span.begin : span.end] = len(self._by_engine[engine])

    def _mark_dram(self, engine: int, dram: Dram, move: Move, writes: bool) -> None:
        shadow = self._shadow(dram)
        table = shadow.written if writes else shadow.read
        move.view(table, dram.start)[engine] = len(self._by_engine[engine])

    def _shadow(self, dram: Dram) -> _Shadow:
        space = dram.space
        assert space is not None
        found = self._shadows.get(space)
        if found is None:
            found = self._shadows[space] = _Shadow(space.elements)
        return found


class Loops(NamedTuple):
    """The two loops of an instruction: (outer, inner) iterations, and what they add to indices."""

    counts: tuple[int, int]
    dst: tuple[int, int]
    src: tuple[int, int] = (0, 0)
    wgt: tuple[int, int] = (0, 0)
