"""
The order of instructions that dependence tokens impose.

Each engine executes its instructions in the order of the program. Between neighbouring engines
there are two queues of tokens, one in each direction, with one producer and one consumer each, so
the n-th pop of a queue always waits for the n-th push. That makes a fixed graph of dependences.

Queues have the length that the machine says. An instruction whose token finds a full queue keeps
its engine until there is room; in designs that lose such tokens instead, it is an error.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...glow_dialects.vta.config import DEFAULT, VtaConfig
from .words import (
    POP_NEXT,
    POP_PREV,
    PUSH_NEXT,
    PUSH_PREV,
    Engine,
    Finish,
    Instruction,
    VtaError,
    error_at,
)

_NEIGHBOUR = {POP_PREV: -1, PUSH_PREV: -1, POP_NEXT: 1, PUSH_NEXT: 1}
_POPS, _PUSHES = (POP_PREV, POP_NEXT), (PUSH_PREV, PUSH_NEXT)
_MISSING = -1
"""Takes the place of the number of an instruction for a token that nobody pushes."""


@dataclass(frozen=True)
class Dependences:
    """The instructions that wait for each other."""

    instructions: Sequence[Instruction]
    by_engine: Sequence[Sequence[int]]
    """The instructions of each engine, by number, in their order."""
    waits: Sequence[Sequence[int]]
    """
    The instructions of other engines whose tokens each instruction pops; -1 for a token that none
    pushes.
    """
    left_over: int
    """Tokens that nobody pops."""
    config: VtaConfig

    def order(self, shuffle: int | None = None) -> list[int]:
        """
        Returns an order of execution: of the instructions that may start, the first in the program;
        or with `shuffle`, the seed of a random number generator, any. Raises VtaError for a
        deadlock.
        """
        choose = min if shuffle is None else random.Random(shuffle).choice
        progress = Progress(self)
        found: list[int] = []
        while ready := progress.ready():
            number = choose(ready)
            progress.finish(number)
            found.append(number)
        return found


class Progress:
    """The progress of the engines in an execution of a program."""

    def __init__(self, found: Dependences):
        self._found = found
        self._limit = found.config.queue_limit
        self._design = found.config.capabilities
        self._heads = [0, 0, 0]
        self._sent: set[tuple[int, int]] = set()
        """Instructions and the engines that they have sent tokens to."""
        self._held: Counter[tuple[int, int]] = Counter()
        """Tokens by sender and receiver."""
        self._unsent: dict[int, list[int]] = {}
        """Instructions that keep their engine, and to whom they still have to send tokens."""

    def ready(self) -> list[int]:
        """
        Returns the instructions that can start now, at most one of each engine; none if all are
        done. Raises VtaError for a deadlock.
        """
        stopped = {self._found.instructions[number].engine for number in self._unsent}
        waiting = [
            queue[head]
            for engine, (queue, head) in enumerate(
                zip(self._found.by_engine, self._heads, strict=True)
            )
            if head < len(queue) and engine not in stopped
        ]
        ready = [number for number in waiting if not self._missing(number)]
        unfinished = sum(map(len, self._found.by_engine)) - sum(self._heads)
        if unfinished and not ready:
            stuck = [self._reason(n) for n in waiting] + [self._no_room(n) for n in self._unsent]
            raise VtaError(f"deadlock: {'; '.join(stuck)}")
        return ready

    def finish(self, number: int) -> None:
        """
        Notes that an instruction which was ready has been executed. Raises VtaError if its token is
        lost.
        """
        i = self._found.instructions[number]
        self._heads[i.engine] += 1
        for bit in _POPS:
            if i.flags & bit:
                self._held[i.engine + _NEIGHBOUR[bit], i.engine] -= 1
        self._unsent[number] = [i.engine + _NEIGHBOUR[bit] for bit in _PUSHES if i.flags & bit]
        for sender in list(self._unsent):
            self._send(sender)

    def _send(self, number: int) -> None:
        """Sends the tokens of an instruction for which there is room."""
        i = self._found.instructions[number]
        while self._unsent[number]:
            queue = i.engine, self._unsent[number][0]
            if self._limit is not None and self._held[queue] >= self._limit:
                if self._design.full_queues_block:
                    return
                what = f"loses tokens of full queues, which hold {self._limit}"
                raise error_at(i, self._design.lacks(what, "let it wait for the other engine"))
            self._held[queue] += 1
            self._sent.add((number, queue[1]))
            del self._unsent[number][0]
        del self._unsent[number]

    def _no_room(self, number: int) -> str:
        i = self._found.instructions[number]
        receiver = Engine(self._unsent[number][0]).name
        return (
            f"instruction {number} ({i}) waits for room in the queue to {receiver}, which holds "
            f"{self._limit} tokens"
        )

    def _missing(self, number: int) -> list[int]:
        """
        Returns the tokens that an instruction still waits for, by the engine that pushes them.
        """
        engine = self._found.instructions[number].engine
        return [w for w in self._found.waits[number] if (w, engine) not in self._sent]

    def _reason(self, number: int) -> str:
        i = self._found.instructions[number]
        tokens = " and ".join(
            "a token that nobody pushes" if w == _MISSING else f"the token of instruction {w}"
            for w in self._missing(number)
        )
        return f"instruction {number} ({i}) waits for {tokens}"


def dependences(instructions: Sequence[Instruction], config: VtaConfig = DEFAULT) -> Dependences:
    """
    Returns the dependences of a program for a machine.

    Raises VtaError if a flag names a neighbour that its engine does not have, or the program does
    not end with a FINISH that waits for every STORE.
    """
    _check_end(instructions)
    by_engine: list[list[int]] = [[], [], []]
    pushed: dict[tuple[int, int], list[int]] = {}
    pops: dict[tuple[int, int], list[int]] = {}
    for i in instructions:
        by_engine[i.engine].append(i.number)
        for bit, step in _NEIGHBOUR.items():
            if i.flags & bit:
                other = _neighbour(i, step)
                if bit in _PUSHES:
                    pushed.setdefault((i.engine, other), []).append(i.number)
                else:
                    pops.setdefault((other, i.engine), []).append(i.number)
    waits: list[list[int]] = [[] for _ in instructions]
    left_over = 0
    for queue in pushed.keys() | pops.keys():
        sources = pushed.get(queue, [])
        readers = pops.get(queue, [])
        left_over += max(len(sources) - len(readers), 0)
        for n, reader in enumerate(readers):
            waits[reader].append(sources[n] if n < len(sources) else _MISSING)
    return Dependences(instructions, by_engine, waits, left_over, config)


def _check_end(instructions: Sequence[Instruction]) -> None:
    if not instructions:
        raise VtaError("the program has no instructions; the last one must be FINISH")
    if not isinstance(instructions[-1], Finish):
        raise error_at(instructions[-1], "the last instruction of a program must be FINISH")
    for i in instructions[:-1]:
        if isinstance(i, Finish):
            raise error_at(i, "instructions behind FINISH may or may not be executed")


def _neighbour(i: Instruction, step: int) -> int:
    other = i.engine + step
    if other in (Engine.LOAD, Engine.COMPUTE, Engine.STORE):
        return other
    name = "previous" if step < 0 else "next"
    raise error_at(i, f"the engine {i.engine.name} has no {name} one to exchange tokens with")


def check_finish_waits(found: Dependences, order: Sequence[int]) -> None:
    """
    Raises VtaError if the program may finish before one of its STOREs has.

    `order` is an order of execution that the dependences permit.
    """
    reached = [[-1, -1, -1] for _ in found.instructions]
    latest = [[-1, -1, -1] for _ in Engine]
    for number in order:
        engine = found.instructions[number].engine
        clock = reached[number]
        for before in (latest[engine], *(reached[w] for w in found.waits[number])):
            for e in Engine:
                clock[e] = max(clock[e], before[e])
        clock[engine] = number
        latest[engine] = clock
    stores = found.by_engine[Engine.STORE]
    seen = reached[len(reached) - 1][Engine.STORE]
    if stores and stores[-1] > seen:
        pending = found.instructions[next(s for s in stores if s > seen)]
        raise error_at(
            found.instructions[-1],
            f"it does not wait for instruction {pending.number} ({pending}); let that push a token "
            "to COMPUTE and FINISH pop it",
        )
