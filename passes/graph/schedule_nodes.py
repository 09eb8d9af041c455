"""
Orders the nodes of a graph so that little memory is in use at any time.

Nodes are pure, so every order that respects their operands is right; how many bytes of intermediate
results are alive at once depends on it. Finding the best order is NP-hard (it generalises
pebbling), so several are made, the memory of each is simulated, and the best is kept. The given
order is among them, so the result is never worse:

- *by children*: depth first from the results, as Sethi and Ullman, "The Generation of Optimal Code
  for Arithmetic Expressions" (1970), order the evaluation of a tree: of the operands of a node,
  that one comes first whose computation needs the most memory beyond what it leaves behind. This is
  optimal for trees if a shared operand is taken to belong to its first user;
- *greedy*: repeatedly the node that changes the memory in use by the least, where of equals the one
  whose operands were made last comes first.

The new value of a state is computed after all nodes that read the old one, where that is possible:
then it is computed in the place of the old one, and no copy of it is needed.

The simulation counts as follows. A node allocates its results and frees the operands that it uses
last. A data-parallel node can overwrite an operand that dies and is as large as its result.
Constants and arguments lie outside the arena, as do results of the function. Reshapes, slices and
broadcasts are views: they cost nothing and keep their operand alive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ...glow_dialects.dims import is_symbolic
from ...glow_dialects.elements import type_bytes
from ...glow_dialects.glow.base import DataParallel
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.control import bodies_within
from ...glow_dialects.glow.shape import BroadcastOp, ReshapeOp, SliceOp
from ..levels import GRAPH
from ..visited_operation import each
from .states import states_of

VIEWS = (ReshapeOp, BroadcastOp, SliceOp)


@dataclass(frozen=True)
class Task:
    """A node as the simulation sees it: the buffers that it needs and makes, by number."""

    operands: tuple[int, ...]
    """Buffers, each once. Those of constants and arguments are left out."""
    results: tuple[int, ...]
    after: tuple[int, ...]
    """The tasks that make the operands, or that read what this one overwrites, each once."""
    in_place: bool
    """Whether the result can take the place of an operand that dies."""


@dataclass
class Problem:
    """Tasks in their given order, and the bytes of each buffer."""

    tasks: list[Task] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    """
    The number of tasks that use each buffer. The function's results have one use that never
    happens.
    """


@dataclass
class _Reader:
    """Translates operations to tasks."""

    problem: Problem = field(default_factory=Problem)
    buffer_of: dict[SSAValue, int] = field(default_factory=dict)
    task_of: dict[SSAValue, int] = field(default_factory=dict)
    argument_of: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """The arguments, and views of them."""
    readers: dict[SSAValue, list[int]] = field(default_factory=dict)
    """The tasks that read each argument."""

    def add(self, op: Operation) -> None:
        problem = self.problem
        operands = dict.fromkeys(self.buffer_of[v] for v in op.operands if v in self.buffer_of)
        after = dict.fromkeys(self.task_of[v] for v in op.operands if v in self.task_of)
        results: list[int] = []
        for argument in {self.argument_of[v] for v in op.operands if v in self.argument_of}:
            self.readers.setdefault(argument, []).append(len(problem.tasks))
        for value in op.results:
            self.task_of[value] = len(problem.tasks)
            if isinstance(op, VIEWS):
                if op.operands[0] in self.argument_of:
                    self.argument_of[value] = self.argument_of[op.operands[0]]
                if op.operands[0] in self.buffer_of:
                    self.buffer_of[value] = self.buffer_of[op.operands[0]]
            elif not isinstance(op, ConstantOp) and isinstance(value.type, TensorType):
                self.buffer_of[value] = len(problem.sizes)
                results.append(len(problem.sizes))
                problem.sizes.append(type_bytes(value.type))
                problem.uses.append(0)
        for buffer in operands:
            problem.uses[buffer] += 1
        problem.tasks.append(
            Task(tuple(operands), tuple(results), tuple(after), isinstance(op, DataParallel))
        )

    def finish(self, terminator: Operation) -> Problem:
        for value in terminator.operands:
            if value in self.buffer_of:
                self.problem.uses[self.buffer_of[value]] += 1
                # a result of the function is computed in the caller's memory
                self.problem.sizes[self.buffer_of[value]] = 0
        return self.problem

    def overwrites(self, argument: SSAValue, result: SSAValue) -> tuple[int, list[int]]:
        """
        Returns the task that computes the new value of a state, and those that read the old one.
        """
        while isinstance(result.owner, VIEWS):
            result = result.owner.operands[0]
        if result not in self.task_of:
            return 0, []
        writer = self.task_of[result]
        return writer, [r for r in self.readers.get(argument, ()) if r != writer]


def problem_of(block: Block, states: Mapping[int, int] | None = None) -> Problem:
    """
    Returns the scheduling problem of a block of nodes that ends with a terminator. `states` are the
    numbers of arguments whose new values are results, with the numbers of these.
    """
    reader = _Reader(argument_of={argument: argument for argument in block.args})
    *nodes, terminator = block.ops
    for op in each(nodes):
        reader.add(op)
    problem = reader.finish(terminator)
    for i, o in (states or {}).items():
        writer, readers = reader.overwrites(block.args[i], terminator.operands[o])
        if readers:
            _let_follow(problem, writer, readers)
    return problem


def _let_follow(problem: Problem, writer: int, readers: Sequence[int]) -> None:
    """Lets a task follow others, without those that need its result."""
    later = [r for r in readers if r > writer]
    reached = _needed_for(problem, later, writer) if later else frozenset[int]()
    added = [r for r in readers if r not in reached]
    task = problem.tasks[writer]
    problem.tasks[writer] = replace(task, after=tuple(dict.fromkeys((*task.after, *added))))


def _needed_for(problem: Problem, tasks: Sequence[int], wanted: int) -> frozenset[int]:
    """Returns those of some tasks that come after a task in every order."""
    known: dict[int, bool] = {wanted: True}
    for root in tasks:
        stack = [root]
        while stack:
            index = stack.pop()
            if index in known:
                continue
            after = problem.tasks[index].after
            if missing := [i for i in after if i not in known]:
                stack += [index, *missing]
            else:
                known[index] = any(known[i] for i in after)
    return frozenset(i for i in tasks if known[i])


def peak(problem: Problem, order: Sequence[int]) -> int:
    """Returns the largest number of bytes in use at once if the tasks run in this order."""
    uses = list(problem.uses)
    live = highest = 0
    for index in order:
        task = problem.tasks[index]
        dying = 0
        reused = 0
        for buffer in task.operands:
            uses[buffer] -= 1
            if not uses[buffer]:
                dying += problem.sizes[buffer]
                if task.in_place and task.results:
                    same = problem.sizes[buffer] == problem.sizes[task.results[0]]
                    reused = problem.sizes[buffer] if same else reused
        made = sum(problem.sizes[b] for b in task.results)
        highest = max(highest, live + made - reused)
        unused = sum(problem.sizes[b] for b in task.results if not uses[b])
        live += made - dying - unused
    return highest


def _as_given(problem: Problem) -> list[int]:
    """Returns the given order, in which tasks move behind those that they have to follow."""
    followers: list[list[int]] = [[] for _ in problem.tasks]
    missing = [len(task.after) for task in problem.tasks]
    for i, task in enumerate(problem.tasks):
        for before in task.after:
            followers[before].append(i)
    ready = [i for i, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        order.append(heappop(ready))
        for follower in followers[order[-1]]:
            missing[follower] -= 1
            if not missing[follower]:
                heappush(ready, follower)
    return order


def _needs(problem: Problem) -> list[int]:
    """
    Returns the bytes that the computation of each task needs at most, about, with operands and
    without its remaining results.
    """
    need = [0] * len(problem.tasks)
    for index in _as_given(problem):
        task = problem.tasks[index]
        made = sum(problem.sizes[b] for b in task.results)
        held = highest = 0
        for child in sorted(task.after, key=lambda i: -need[i]):
            left = sum(problem.sizes[b] for b in problem.tasks[child].results)
            highest = max(highest, held + left + need[child])
            held += left
        need[index] = max(highest, held + made) - made
    return need


def order_by_children(problem: Problem) -> list[int]:
    """Orders depth first; the operand of a task that needs the most memory comes first."""
    need = _needs(problem)
    order: list[int] = []
    seen: set[int] = set()

    def children(index: int) -> list[int]:
        # from a stack, the last one is taken first
        return sorted(problem.tasks[index].after, key=lambda i: (need[i], -i))

    wanted = {i for task in problem.tasks for i in task.after}
    for root in range(len(problem.tasks)):
        stack = [] if root in wanted else [(root, children(root))]
        seen.add(root) if stack else None
        while stack:
            index, waiting = stack[-1]
            if not waiting:
                order.append(index)
                stack.pop()
                continue
            child = waiting.pop()
            if child not in seen:
                seen.add(child)
                stack.append((child, children(child)))
    return order


class _Greedy:
    """List scheduling: tasks that can run, by how they change the bytes in use."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.uses = list(problem.uses)
        self.users: list[list[int]] = [[] for _ in problem.sizes]
        self.followers: list[list[int]] = [[] for _ in problem.tasks]
        self.missing = [len(task.after) for task in problem.tasks]
        for i, task in enumerate(problem.tasks):
            for buffer in task.operands:
                self.users[buffer].append(i)
            for before in task.after:
                self.followers[before].append(i)
        self.ready: list[tuple[int, int, int]] = []
        self.done: set[int] = set()
        self.recency = [0] * len(problem.tasks)

    def change(self, index: int) -> int:
        """Returns the bytes that a task allocates less those that it frees."""
        task, sizes = self.problem.tasks[index], self.problem.sizes
        freed = sum(sizes[b] for b in task.operands if self.uses[b] == 1)
        return sum(sizes[b] for b in task.results) - freed

    def offer(self, index: int) -> None:
        heappush(self.ready, (self.change(index), -self.recency[index], index))

    def run(self) -> list[int]:
        order: list[int] = []
        for i, missing in enumerate(self.missing):
            if not missing:
                self.offer(i)
        while self.ready:
            _, _, index = heappop(self.ready)
            if index in self.done:
                continue
            self.done.add(index)
            order.append(index)
            self._finish(index, len(order))
        return order

    def _finish(self, index: int, time: int) -> None:
        for follower in self.followers[index]:
            self.missing[follower] -= 1
            self.recency[follower] = time
            if not self.missing[follower]:
                self.offer(follower)
        for buffer in self.problem.tasks[index].operands:
            self.uses[buffer] -= 1
            if self.uses[buffer] == 1:
                # the last user frees the buffer, which makes it more attractive
                for user in self.users[buffer]:
                    if user not in self.done and not self.missing[user]:
                        self.offer(user)


def best_order(problem: Problem) -> list[int]:
    """Returns the order with the lowest peak among the given one and the heuristics."""
    orders = (_as_given(problem), order_by_children(problem), _Greedy(problem).run())
    return min(orders, key=lambda order: peak(problem, order))


def schedule(block: Block, states: Mapping[int, int] | None = None) -> None:
    """
    Reorders the nodes of a block, unless the bytes of results depend on symbols. `states` are those
    of `problem_of`.
    """
    *nodes, terminator = block.ops
    if any(is_symbolic(value.type) for node in nodes for value in node.results):
        return
    order = best_order(problem_of(block, states))
    if order == sorted(order):
        return
    for index in order:
        nodes[index].detach()
        block.insert_op_before(nodes[index], terminator)


def is_graph(op: Operation) -> bool:
    """Returns a function of one block that holds nothing but operations without side effects."""
    if not isinstance(op, func.FuncOp) or len(op.body.blocks) != 1:
        return False
    ops = list(op.body.block.ops)
    return (
        bool(ops)
        and isinstance(ops[-1], func.ReturnOp)
        and all(is_side_effect_free(node) for node in ops[:-1])
    )


@dataclass(frozen=True)
class ScheduleNodesPass(ModulePass):
    """Reorders nodes to lower the peak of memory in use; the peak is never higher than before."""

    name = "glow-schedule-nodes"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in each(op.ops):
            if is_graph(function):
                assert isinstance(function, func.FuncOp)
                schedule(function.body.block, states_of(function))
                for body in bodies_within(function):
                    schedule(body)
