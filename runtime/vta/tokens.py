"""
The order of instructions that dependence tokens impose.

Each engine executes its instructions in the order of the program. Between neighbouring engines
there are two queues of tokens, one in each direction, with one producer and one consumer each, so
the n-th pop of a queue always waits for the n-th push. That makes a fixed graph of dependences.
Queues have no limit here; those of the published designs hold at least 8 tokens.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

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
_MISSING = -1
"""Instead of the number of an instruction: a token that nobody pushes."""


@dataclass(frozen=True)
class Dependences:
    """Who waits for whom."""

    instructions: Sequence[Instruction]
    by_engine: Sequence[Sequence[int]]
    """The instructions of each engine, by number, in their order."""
    waits: Sequence[Sequence[int]]
    """
    For each instruction, those of other engines whose tokens it pops; -1 for a token that nobody
    pushes.
    """
    left_over: int
    """Tokens that nobody pops."""

    def order(self, shuffle: int | None = None) -> list[int]:
        """
        An order of execution: of the instructions that may start, the first in the program; or with
        `shuffle`, the seed of a random number generator, any. Raises VtaError for a deadlock.
        """
        choose = min if shuffle is None else random.Random(shuffle).choice
        heads = [0, 0, 0]
        done = bytearray(len(self.instructions))
        found: list[int] = []
        while len(found) < len(self.instructions):
            ready = [
                number
                for queue, head in zip(self.by_engine, heads, strict=True)
                if head < len(queue) and self._may_start(number := queue[head], done)
            ]
            if not ready:
                raise self._deadlock(heads, done)
            number = choose(ready)
            done[number] = 1
            heads[self.instructions[number].engine] += 1
            found.append(number)
        return found

    def _may_start(self, number: int, done: bytearray) -> bool:
        return all(w != _MISSING and done[w] for w in self.waits[number])

    def _deadlock(self, heads: Sequence[int], done: bytearray) -> VtaError:
        waiting = []
        for queue, head in zip(self.by_engine, heads, strict=True):
            if head < len(queue):
                i = self.instructions[queue[head]]
                waiting.append(f"instruction {i.number} ({i}) waits for {self._reason(i, done)}")
        return VtaError("deadlock: " + "; ".join(waiting))

    def _reason(self, i: Instruction, done: bytearray) -> str:
        missing = [w for w in self.waits[i.number] if w == _MISSING or not done[w]]
        return " and ".join(
            "a token that nobody pushes" if w == _MISSING else f"the token of instruction {w}"
            for w in missing
        )


def dependences(instructions: Sequence[Instruction]) -> Dependences:
    """
    The dependences of a program.

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
                if bit in (PUSH_PREV, PUSH_NEXT):
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
    return Dependences(instructions, by_engine, waits, left_over)


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
    Raise VtaError if the program may finish before one of its STOREs has.

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
