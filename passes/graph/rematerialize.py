"""
Computes values a second time where that lowers the memory in use.

A training step keeps values of the forward pass until the backward pass reads them. Computing some
of them again, just before they are read, trades time for memory (Griewank and Walther 2000,
"revolve"; Chen et al. 2016, "Training deep nets with sublinear memory cost"). The choice is that of
Kirisame et al. 2021, "Dynamic tensor rematerialization", made at compile time: while the memory at
the peak is above the budget, the value goes that is alive there without being used, and has the
least `cost / (bytes * time until it is read)`. The cost is the work of computing it again, with
that of all its operands that are no longer alive by then.

The order of nodes is part of the result, so the pass runs after `glow-schedule-nodes`, and no
common subexpressions are eliminated afterwards. Nodes are counted as by that pass: constants,
arguments and results of the function lie outside of the budget.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...byte_sizes import bytes_of
from ...glow_dialects.elements import type_bytes
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.plan_attributes import KEPT_PEAK
from ...glow_dialects.work import work_of
from ...lazy import lazy_property
from ..levels import GRAPH
from ..visited_operation import each
from .rewriting import expect_static
from .schedule_nodes import VIEWS, is_graph

_OPERATIONS_PER_BYTE = 4
"""Arithmetic operations that a core does in the time that it moves a byte."""
_LONGEST_CHAIN = 32
"""The most nodes that are computed again for one value."""
_ATTEMPTS = 64
"""The choices without a lower peak after which the pass ends."""

Value: TypeAlias = "tuple[Step, int]"
"""A result of a step."""


@dataclass(eq=False)
class Step:
    """A node in the order of the program, or the node computed again."""

    op: Operation
    operands: list[Value | None]
    """None for values outside of the budget."""
    again: bool = False

    @property
    def is_view(self) -> bool:
        return isinstance(self.op, VIEWS)

    @lazy_property
    def cost(self) -> int:
        """Returns the work in moved bytes, about. A view costs nothing."""
        assert isinstance(self.op, Node)
        work = work_of(self.op.call)
        return work.bytes + work.operations // _OPERATIONS_PER_BYTE


def _buffer(value: Value) -> Value:
    """Returns the value whose memory a value reads: its own, or that of which it is a view."""
    step, _ = value
    while step.is_view:
        assert step.operands[0] is not None
        value = step.operands[0]
        step, _ = value
    return value


@dataclass
class _Lives:
    """The lives of the buffers of a program, and the bytes that are in use at each place."""

    steps: Sequence[Step]
    returned: frozenset[Value]
    """The buffers that results of the function need; those are outside of the budget."""
    at: dict[Step, int] = field(default_factory=dict)
    reads: dict[Value, list[int]] = field(default_factory=dict)
    """The places that read each buffer, in order. Views are no readers."""
    bytes: list[int] = field(default_factory=list)
    """The bytes in use at each place."""

    def __post_init__(self) -> None:
        for place, step in enumerate(self.steps):
            self.at[step] = place
            if step.is_view:
                continue
            for i in range(len(step.op.results)):
                self.reads[step, i] = []
            for buffer in dict.fromkeys(_buffer(v) for v in step.operands if v is not None):
                self.reads[buffer].append(place)
        changes = [0] * (len(self.steps) + 1)
        reused = [0] * len(self.steps)
        for buffer, places in self.reads.items():
            step, _ = buffer
            first, last = self.at[step], places[-1] if places else self.at[step]
            changes[first] += self.size(buffer)
            changes[last + 1] -= self.size(buffer)
            reader = self.steps[last]
            if places and isinstance(reader.op, DataParallel):
                same = self.size(buffer) == self.size((reader, 0))
                reused[last] = self.size(buffer) if same else reused[last]
        total = 0
        for change, less in zip(changes, reused, strict=False):
            total += change
            self.bytes.append(total - less)

    @property
    def peak(self) -> int:
        return max(self.bytes, default=0)

    def size(self, value: Value) -> int:
        step, i = value
        kind = step.op.results[i].type
        if value in self.returned or not isinstance(kind, TensorType):
            return 0
        return type_bytes(kind)

    def idle(self, place: int) -> Iterator[tuple[Value, int, int]]:
        """Yields buffers that live across a place, with the places of the reads around it."""
        for buffer, places in self.reads.items():
            made = self.at[buffer[0]]
            if not places or not made < place < places[-1] or place in places:
                continue
            after = next(p for p in places if p > place)
            if self.size(buffer):
                yield buffer, max([made, *(p for p in places if p < place)]), after

    def chain(self, step: Step, place: int) -> list[Step] | None:
        """
        Returns the steps that compute a step again before a place, operands first: itself, and all
        operands that are no longer alive there. Returns None if one of them has a body, or there
        are too many.
        """
        needed: dict[Step, None] = {}
        waiting = [step]
        while waiting:
            found = waiting.pop()
            if found in needed:
                continue
            if not isinstance(found.op, Node) or found.op.regions or len(needed) == _LONGEST_CHAIN:
                return None
            needed[found] = None
            for value in found.operands:
                if value is not None and not self._alive(_buffer(value), place):
                    waiting.append(value[0])
        return sorted(needed, key=lambda s: self.at[s])

    def _alive(self, buffer: Value, place: int) -> bool:
        places = self.reads[buffer]
        return self.at[buffer[0]] < place and bool(places) and places[-1] >= place


def _choice(lives: _Lives) -> tuple[Step, int, list[Step]] | None:
    """Returns a step to compute again, the place before which, and the steps that this takes."""
    peak = max(range(len(lives.steps)), key=lambda p: lives.bytes[p])
    best: tuple[float, Step, int, list[Step]] | None = None
    for buffer, before, after in lives.idle(peak):
        chain = lives.chain(buffer[0], after)
        if chain is None:
            continue
        cost = sum(step.cost for step in chain) + 1
        if before == lives.at[buffer[0]]:  # nothing reads it before, so it only moves
            cost -= buffer[0].cost
        score = cost / (lives.size(buffer) * (after - before))
        if best is None or score < best[0]:
            best = (score, buffer[0], after, chain)
    return None if best is None else best[1:]


def _repeat(steps: list[Step], step: Step, place: int, chain: Sequence[Step]) -> list[Step]:
    """Computes a step again before a place, from which on the new one is read."""
    made: dict[Step, Step] = {}
    # views of the step that were made before become views of the new one
    views = [s for s in steps[:place] if s.is_view and _buffer((s, 0))[0] is step]
    for source in dict.fromkeys([*chain, *views]):
        made[source] = Step(source.op, _moved(source.operands, made), again=True)
    replaced = {source: made[source] for source in (step, *views)}
    for later in steps[place:]:
        later.operands = _moved(later.operands, replaced)
    return [*steps[:place], *made.values(), *steps[place:]]


def _needed(steps: Sequence[Step], roots: Iterable[Step]) -> list[Step]:
    """Returns the steps that others need to compute the roots."""
    needed, found = set(roots), list[Step]()
    for step in reversed(steps):
        if step in needed:
            found.append(step)
            needed |= {value[0] for value in step.operands if value is not None}
    return found[::-1]


def _moved(operands: Sequence[Value | None], to: Mapping[Step, Step]) -> list[Value | None]:
    return [None if v is None else (to.get(v[0], v[0]), v[1]) for v in operands]


def _steps_of(block: Block) -> tuple[list[Step], list[Value]]:
    """Returns the nodes of a block in their order, and those of its results that they compute."""
    *nodes, terminator = block.ops
    made: dict[SSAValue, Value] = {}
    steps: list[Step] = []
    for op in each(nodes):
        outside = isinstance(op, VIEWS) and op.operands[0] not in made
        if outside or isinstance(op, ConstantOp):
            continue
        step = Step(op, [made.get(v) for v in op.operands])
        steps.append(step)
        made |= {value: (step, i) for i, value in enumerate(op.results)}
    return steps, [made[v] for v in terminator.operands if v in made]


def _apply(
    block: Block, before: Sequence[Step], after: Sequence[tuple[Step, Sequence[Value | None]]]
) -> None:
    """Puts steps with their operands into a block in the place of those before."""
    terminator = block.last_op
    assert terminator is not None
    made: dict[Step, Operation] = {}
    for step, operands in after:
        if step.again:
            made[step] = step.op.clone()
        else:
            made[step] = step.op
            step.op.detach()
        block.insert_op_before(made[step], terminator)
        for i, value in enumerate(operands):
            if value is not None:
                made[step].operands[i] = made[value[0]].results[value[1]]
    for step in reversed(before):
        if step not in made:
            step.op.detach()
            step.op.erase()


def rematerialize(block: Block, budget: int) -> tuple[int, int]:
    """
    Lowers the bytes in use at most to a budget, if that is possible. Returns them before and after.
    """
    given, results = _steps_of(block)
    roots, returned = [step for step, _ in results], frozenset(map(_buffer, results))
    steps, lives = given, _Lives(given, returned)
    before = lowest = lives.peak
    best: list[tuple[Step, list[Value | None]]] = []
    attempts = 0
    while lowest > budget and attempts < _ATTEMPTS:
        choice = _choice(lives)
        if choice is None:
            break
        steps = _needed(_repeat(steps, *choice), roots)
        lives = _Lives(steps, returned)
        attempts += 1
        if lives.peak < lowest:
            lowest, attempts = lives.peak, 0
            best = [(step, list(step.operands)) for step in steps]
    if best:
        _apply(block, given, best)
    return before, lowest


@dataclass(frozen=True)
class RematerializePass(ModulePass):
    """
    Computes values again instead of keeping them, until the bytes in use fit into a budget.

    The attribute `glow.kept_peak` of a function that changes has the bytes that were in use at most
    before. A budget that is not reached is a warning, and the lowest peak that was found is kept.
    """

    name = "glow-rematerialize"
    level = GRAPH

    budget: int | str = 0
    """
    The bytes of intermediate results: a number, or one of K, M, G or T, such as `64MiB`. 0 is as
    few as possible.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        budget = bytes_of(str(self.budget))
        if budget is None:
            raise VerifyException(
                f"expected a budget such as 64MiB or a number of bytes, found {self.budget!r}"
            )
        for function in each(op.ops):
            if not is_graph(function):
                continue
            assert isinstance(function, func.FuncOp)
            expect_static(function)
            before, after = rematerialize(function.body.block, budget)
            if after < before:
                function.attributes[KEPT_PEAK] = IntegerAttr(before, i64)
            if after > budget > 0:
                saved = f", instead of {before:,}" if after < before else ""
                warnings.warn(
                    f"@{function.sym_name.data} needs {after:,} bytes of memory for intermediate "
                    f"results{saved}; that is more than the budget of {budget:,}",
                    stacklevel=2,
                )
