"""
Checks that the dependence tokens of programs for VTA order what must be ordered.

The three engines execute their instructions in order, and wait for each other only by tokens. Each
queue of tokens has one producer and one consumer, so its n-th pop waits for its n-th push, whatever
the speed of the engines. The check executes the program symbolically and proves that
- it ends: no engine waits for ever for a token or for room in a queue (deadlock), and no token is
  left over for the next program; where a full queue loses tokens, it never is too full;
- it has no data race: if two engines access the same element of a buffer or the same byte of DRAM,
  and one of them writes, then tokens order the two;
- all stores are done when `vta.finish`, the last instruction, is executed.

Order is tracked by vector clocks: for each instruction, how many instructions of each engine are
certainly done before it starts. For each element, the last reads and writes of each engine are
remembered (C. Flanagan, S. N. Freund, FastTrack, PLDI 2009), so the cost is linear in the number of
accesses.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from io import StringIO
from itertools import pairwise
from math import gcd
from typing import NoReturn

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...errors import at_operation
from ...glow_dialects.vta import (
    DEFAULT,
    Engine,
    FinishOp,
    VtaConfig,
    VtaInstruction,
    VtaMemory,
    config_of,
    contents,
    programs,
)
from ..levels import VTA
from ..visited_operation import each, visit
from .vta_accesses import Accesses, DramAccess, dram_access

ENGINES = tuple(Engine)
_NUMBERS = {engine: i for i, engine in enumerate(ENGINES)}
Clock = list[int]
"""The number of instructions of each engine that are done."""


def _fail(op: Operation, message: str) -> NoReturn:
    raise at_operation(VerifyException(message), op)


@dataclass(frozen=True)
class Step:
    """An instruction in an order of execution that the tokens allow."""

    op: VtaInstruction
    number: int
    """The number of the instruction in the program."""
    engine: int
    position: int
    """Among the instructions of its engine."""
    clock: Clock
    """The number of instructions of each engine that are done before it starts."""


class _Queues:
    """The instructions of each engine, and tokens, each with the clock of its sender."""

    def __init__(self, instructions: list[VtaInstruction], config: VtaConfig):
        self.limit = config.queue_limit
        self._design = config.capabilities
        self.waiting: list[deque[tuple[int, VtaInstruction]]] = [deque() for _ in ENGINES]
        for i, op in enumerate(instructions):
            self.waiting[_NUMBERS[op.engine]].append((i, op))
        pairs = [pair for a, b in pairwise(ENGINES) for pair in ((a, b), (b, a))]
        self.tokens: dict[tuple[Engine, Engine], deque[Clock]] = {pair: deque() for pair in pairs}
        self.unsent: list[list[Engine]] = [[] for _ in ENGINES]
        """The engines for which an instruction that is done still has tokens."""
        self.last: list[tuple[int, VtaInstruction] | None] = [None for _ in ENGINES]
        self._clocks: list[Clock] = [[0] * len(ENGINES) for _ in ENGINES]
        self._popped: dict[tuple[Engine, Engine], list[int]] = {pair: [] for pair in pairs}
        """Which instructions of the receiver popped tokens."""

    def missing(self, op: VtaInstruction) -> list[Engine]:
        """Returns the engines whose tokens an instruction has to wait for."""
        return [e for e in op.tokens.data.popped(op.engine) if e and not self.tokens[e, op.engine]]

    def is_ready(self, engine: int) -> bool:
        """Returns whether the next instruction of an engine can be executed."""
        waiting = self.waiting[engine]
        return bool(waiting) and not self.unsent[engine] and not self.missing(waiting[0][1])

    def run(self, engine: int) -> Step:
        """Executes the next instruction of an engine, which is ready."""
        number, op = self.last[engine] = self.waiting[engine].popleft()
        clock = self._clocks[engine]
        for other in op.tokens.data.popped(op.engine):
            assert other is not None
            token = self.tokens[other, op.engine].popleft()
            self._popped[other, op.engine].append(self._clocks[engine][engine])
            clock = [max(a, b) for a, b in zip(clock, token, strict=True)]
        done = list(clock)
        done[engine] += 1
        self._clocks[engine] = done
        self.unsent[engine] = [e for e in op.tokens.data.pushed(op.engine) if e]
        return Step(op, number, engine, clock[engine], clock)

    def send(self, engine: int) -> bool:
        """Sends tokens of an engine for which there is room. Whether there were any."""
        sender, before = ENGINES[engine], self.unsent[engine]
        while self.unsent[engine]:
            pair = sender, self.unsent[engine][0]
            if self._design.full_queues_block:
                if self.limit is not None and len(self.tokens[pair]) >= self.limit:
                    break
            else:
                self._check_room(engine, pair)
            self.tokens[pair].append(self._clocks[engine])
            self.unsent[engine] = self.unsent[engine][1:]
        return len(self.unsent[engine]) < len(before)

    def _check_room(self, engine: int, pair: tuple[Engine, Engine]) -> None:
        """Raises VerifyException if a token may find a full queue, which loses it."""
        popped = self._popped[pair]
        sent = len(popped) + len(self.tokens[pair]) + 1
        held = sent - bisect_left(popped, self._clocks[engine][_NUMBERS[pair[1]]])
        if self.limit is not None and held > self.limit:
            number, op = self.last[engine] or (0, None)
            assert op is not None
            lacks = self._design.lacks(
                f"loses tokens if a queue has more than {self.limit}, but that from {pair[0]} to "
                f"{pair[1]} may have {held} after {_describe(number, op)}",
                f"let {pair[0]} wait for {pair[1]} before",
            )
            _fail(op, lacks)


def execution_order(instructions: list[VtaInstruction], config: VtaConfig = DEFAULT) -> list[Step]:
    """
    Returns the instructions in an order in which the engines may execute them.

    Raises VerifyException for a deadlock, for tokens that are left over, and for those that a full
    queue may lose.
    """
    queues = _Queues(instructions, config)
    order: list[Step] = []
    progress = True
    while progress:
        progress = False
        for engine in range(len(ENGINES)):
            while queues.send(engine) or queues.is_ready(engine):
                if queues.is_ready(engine):
                    order.append(queues.run(engine))
                progress = True
    if len(order) < len(instructions):
        _report_deadlock(queues)
    for (sender, receiver), tokens in queues.tokens.items():
        count = len(tokens) + queues.unsent[_NUMBERS[sender]].count(receiver)
        if count:
            _fail(
                instructions[-1],
                f"expected all tokens to be used, but {receiver} never pops {count} of those "
                f"that {sender} pushes",
            )
    return order


def _report_deadlock(queues: _Queues) -> NoReturn:
    stuck = []
    first: VtaInstruction | None = None
    for engine, waiting, unsent, last in zip(
        ENGINES, queues.waiting, queues.unsent, queues.last, strict=True
    ):
        if unsent and last is not None:
            number, op = last
            stuck.append(
                f"{engine} waits for room in its queue to {unsent[0]}, which holds {queues.limit} "
                f"tokens, in {_describe(number, op)}"
            )
        elif waiting:
            number, op = waiting[0]
            senders = " and ".join(queues.missing(op))
            stuck.append(f"{engine} waits for {senders} in {_describe(number, op)}")
        else:
            continue
        first = first or op
    assert first is not None
    _fail(first, f"deadlock: {', '.join(stuck)}")


def _describe(number: int, op: VtaInstruction) -> str:
    text = StringIO()
    Printer(text).print_op(op)
    return f"instruction {number} ({text.getvalue()})"


@dataclass
class _Shadow:
    """The last reader and writer of each element, by engine: one more than their positions."""

    size: int
    read: np.ndarray = field(init=False)
    written: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.read = np.zeros((len(ENGINES), self.size), np.int32)
        self.written = np.zeros((len(ENGINES), self.size), np.int32)


class _Races:
    """The accesses up to now."""

    def __init__(self, config: VtaConfig, order: list[Step]):
        self._config = config
        self._accesses = Accesses(config)
        self._buffers = {
            memory: _Shadow(config.depth(memory))
            for memory in (VtaMemory.INP, VtaMemory.WGT, VtaMemory.ACC)
        }
        self._by_engine: list[list[Step]] = [[] for _ in ENGINES]
        for step in order:
            self._by_engine[step.engine].append(step)
        self._dram = _DramShadow(config, [dram_access(step.op, config) for step in order])

    def run(self, step: Step) -> None:
        """Checks an instruction against those that were executed before it."""
        try:
            accesses = self._accesses.of(step.op)
        except VerifyException as e:
            _fail(step.op, str(e))
        for access in accesses:
            shadow, place = self._buffers[access.memory], access.elements
            before = shadow.written[:, place], shadow.read[:, place]
            self._compare(step, str(access.memory), before, access.writes)
            table = shadow.written if access.writes else shadow.read
            table[step.engine, place] = step.position + 1
        moved = dram_access(step.op, self._config)
        if moved is not None and self._dram.holds(moved):
            written, read = self._dram.views(moved)
            self._compare(step, "DRAM", (written, read), moved.writes)
            (written if moved.writes else read)[step.engine] = step.position + 1

    def _compare(
        self, step: Step, what: str, before: tuple[np.ndarray, np.ndarray], writes: bool
    ) -> None:
        """
        Compares an access with the last writes and reads of the same place, [engine, ...]. What
        writes must come after both.
        """
        for table in before if writes else before[:1]:
            last = table.reshape(len(ENGINES), -1).max(axis=1, initial=0).tolist()
            for engine, position in enumerate(last):
                if engine != step.engine and position > step.clock[engine]:
                    other = self._by_engine[engine][position - 1]
                    _fail(
                        step.op,
                        f"data race in {what}: no token orders "
                        f"{_describe(other.number, other.op)} before "
                        f"{_describe(step.number, step.op)}",
                    )


class _DramShadow:
    """The part of DRAM that stores write to. Memory that is only read cannot race."""

    def __init__(self, config: VtaConfig, accesses: list[DramAccess | None]):
        moved = [a for a in accesses if a is not None]
        self._low = min((a.first for a in moved if a.writes), default=0)
        self._high = max((a.end for a in moved if a.writes), default=0)
        held = [a for a in moved if self.holds(a)]
        self._start = min((a.first for a in held), default=0)
        self._grain = gcd(*(config.element_bytes(memory) for memory in VtaMemory))
        end = max((a.end for a in held), default=0)
        self._shadow = _Shadow((end - self._start) // self._grain)

    def holds(self, moved: DramAccess) -> bool:
        """Returns whether an access may touch stored memory."""
        return moved.first < self._high and self._low < moved.end

    def views(self, moved: DramAccess) -> tuple[np.ndarray, np.ndarray]:
        """
        Returns the last writes and reads of the elements that an access covers, as views [engine,
        rows, grains].
        """
        shadow = self._shadow
        return self._view(shadow.written, moved), self._view(shadow.read, moved)

    def _view(self, table: np.ndarray, moved: DramAccess) -> np.ndarray:
        first = (moved.first - self._start) // self._grain
        shape = (len(ENGINES), moved.rows, moved.size // self._grain)
        outer, inner = table.strides
        strides = (outer, moved.pitch // self._grain * inner, inner)
        return np.lib.stride_tricks.as_strided(table[:, first:], shape, strides)


def _check_end(instructions: list[VtaInstruction], order: list[Step], config: VtaConfig) -> None:
    """Checks that FINISH comes last, after everything is stored."""
    end = next((step for step in order if isinstance(step.op, FinishOp)), None)
    if end is None:
        _fail(instructions[-1], "expected vta.finish as the last instruction")
    store = _NUMBERS[Engine.STORE]
    for step in order:
        if step.engine == store and step.position >= end.clock[store]:
            if dram_access(step.op, config) is not None:
                _fail(
                    end.op,
                    f"expected all stores to be done before vta.finish, but no token orders "
                    f"{_describe(step.number, step.op)} before it",
                )


def verify_tokens(function: func.FuncOp) -> None:
    """
    Checks a program for VTA.

    Raises VerifyException on the first fault; its attribute `operation` is the offending one.
    """
    config = config_of(function)
    instructions = contents(function)[1]
    if not instructions:
        _fail(function, "expected instructions, and vta.finish as the last of them")
    order = execution_order(instructions, config)
    _check_end(instructions, order, config)
    races = _Races(config, order)
    for step in order:
        visit(step.op)
        races.run(step)


@dataclass(frozen=True)
class VerifyVtaTokensPass(ModulePass):
    """Checks the dependence tokens of programs for VTA and changes nothing."""

    name = "glow-verify-vta-tokens"
    level = VTA

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in each(programs(op)):
            verify_tokens(function)
