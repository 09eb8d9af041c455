"""
Adjoints and tangents of branches and loops, whose bodies are differentiated as graphs are.

The adjoint of a branch is a branch on the same condition. That of a loop is a loop that runs the
steps in the opposite order (Griewank and Walther 2008, "Evaluating Derivatives", chapter 12). The
loop keeps its carried values of each step, stacked; from these each step of the adjoint computes
what it needs of the body again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....glow_dialects.glow.arithmetic import AddOp, MinimumOp, SubOp
from ....glow_dialects.glow.control import (
    COUNT,
    STEP,
    IfOp,
    LoopOp,
    YieldOp,
    stacked_type,
    yielded,
)
from ....glow_dialects.glow.logic import CastOp
from ....glow_dialects.glow.shape import GatherOp
from ..rewriting import Build
from .propagation import Parameter, dependents, directional, gradients, is_of_floats
from .registry import body_adjoint, body_tangent


class BodyBuilder(Build):
    """A body that is being built, of nodes that nothing else sees."""

    def __init__(self, types: Sequence[Attribute]):
        """`types` are those of the first arguments."""
        super().__init__()
        self.block = Block(arg_types=types)
        self.reads: dict[SSAValue, SSAValue] = {}
        """Further arguments, and the values outside that they are."""

    def append(self, op: Operation) -> None:
        self.block.add_op(op)

    def argument(self, type: Attribute) -> SSAValue:
        """Returns a new last argument."""
        return self.block.insert_arg(type, len(self.block.args))

    def read(self, value: SSAValue) -> SSAValue:
        """Returns a new argument for a value outside."""
        argument = self.argument(value.type)
        self.reads[argument] = value
        return argument

    def row(self, stack: SSAValue, step: SSAValue) -> SSAValue:
        """Returns the value of a step."""
        return self(GatherOp, stack, step, axis=0)

    def finish(self, results: Sequence[SSAValue]) -> Region:
        """Returns the body with these results, without nodes that nothing uses."""
        self.append(YieldOp(*results))
        for op in reversed(list(self.block.ops)):
            if not isinstance(op, YieldOp) and not any(r.first_use for r in op.results):
                op.detach()
                op.erase()
        return Region(self.block)


def copied(build: Build, body: Block, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Copies the nodes of a body on arguments; returns its results."""
    inside: dict[SSAValue, SSAValue] = dict(zip(body.args, arguments, strict=True))
    *nodes, _end = body.ops
    for node in nodes:
        build.append(node.clone(inside))
    return [inside[v] for v in yielded(body)]


def _parameters(values: Sequence[SSAValue]) -> list[Parameter]:
    """Returns values of a body with the names that messages have for them."""
    return [Parameter(v.name_hint or "?", v) for v in values]


def _or_zeros(
    found: Sequence[SSAValue | None], like: Sequence[SSAValue], build: Build
) -> list[SSAValue]:
    pairs = zip(found, like, strict=True)
    return [build.splat(0.0, b.type) if a is None else a for a, b in pairs]


@body_adjoint(IfOp)
def branch(
    op: IfOp, seeds: Mapping[int, SSAValue], wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    order, bodies = sorted(wanted), list[Region]()
    for body in op.bodies():
        inner = BodyBuilder([v.type for v in (*op.reads, *seeds.values())])
        arguments = inner.block.args
        results = copied(inner, body, arguments[: len(op.reads)])
        pairs = zip((results[i] for i in seeds), arguments[len(op.reads) :], strict=True)
        chosen = [arguments[i - 1] for i in order]
        found = gradients(inner.block, list(pairs), _parameters(chosen), inner)
        bodies.append(inner.finish(_or_zeros(found, chosen, inner)))
    types = [op.operands[i].type for i in order]
    new = IfOp(op.condition, [*op.reads, *seeds.values()], types, bodies)
    build.append(new)
    return dict(zip(order, new.values, strict=True))


@body_tangent(IfOp)
def branch_tangent(
    op: IfOp, tangents: Mapping[int, SSAValue], build: Build
) -> Mapping[int, SSAValue]:
    floats, bodies = [i for i, v in enumerate(op.values) if is_of_floats(v)], list[Region]()
    for body in op.bodies():
        inner = BodyBuilder([v.type for v in (*op.reads, *tangents.values())])
        arguments = inner.block.args
        results = copied(inner, body, arguments[: len(op.reads)])
        parameters = _parameters([arguments[i - 1] for i in tangents])
        given = dict(zip(parameters, arguments[len(op.reads) :], strict=True))
        known = directional(inner.block, given, inner)
        found = [known.get(results[i]) for i in floats]
        bodies.append(inner.finish(_or_zeros(found, [results[i] for i in floats], inner)))
    types = [op.values[i].type for i in floats]
    new = IfOp(op.condition, [*op.reads, *tangents.values()], types, bodies)
    build.append(new)
    return dict(zip(floats, new.values, strict=True))


class _Loop:
    """The arguments and results of a loop's body."""

    def __init__(self, op: LoopOp, wanted: AbstractSet[int]):
        self.op, self.body = op, op.body.block
        self.first = len(op.operands) - len(op.carried) - len(op.reads)
        """The number of the operand that is the first carried value."""
        self.conditions = int(op.going is not None)
        self.arguments: Sequence[SSAValue] = self.body.args[1:]
        """The arguments behind the step, one for each operand from `first` on."""
        self.carried = range(len(op.carried))
        self.rows = range(len(op.carried), len(op.carried) + len(op.stacked))
        """The numbers of what the body yields behind the condition."""
        self.active = self._active({i - self.first for i in wanted})
        """The numbers of arguments that depend on wanted operands."""

    def _active(self, found: set[int]) -> list[int]:
        """Adds the carried values that depend on arguments in some step."""
        results = yielded(self.body)[self.conditions :]
        while True:
            dependent = dependents(self.body, [self.arguments[i] for i in found])
            more = {i for i in self.carried if results[i] in dependent} - found
            if not more:
                return sorted(found)
            found = found | more


@body_adjoint(LoopOp)
def loop(
    op: LoopOp, seeds: Mapping[int, SSAValue], wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    """
    Returns the last carried values of a loop that carries the adjoints of carried values, and the
    sums of the adjoints of what the loop reads.
    """
    forward = _Loop(op, wanted)
    starts = [
        seeds[i]
        if i in forward.carried and i in seeds
        else build.splat(0.0, forward.arguments[i].type)
        for i in forward.active
    ]
    last, trips = _last_step(op, build)
    inner = BodyBuilder([STEP, *(v.type for v in starts)])
    before = dict(zip(forward.active, inner.block.args[1:], strict=True))
    step = inner(SubOp, inner.read(last), inner.block.args[0])
    kept = [inner.argument(stacked_type(op.most, v.type)) for v in op.carried]
    values = [*(inner.row(stack, step) for stack in kept), *map(inner.read, op.reads)]
    results = copied(inner, forward.body, [step, *values])[forward.conditions :]
    pairs = [(results[i], before[i]) for i in forward.carried if i in before]
    pairs += [
        (results[i], inner.row(inner.read(seeds[i]), step)) for i in forward.rows if i in seeds
    ]
    chosen = [values[i] for i in forward.active]
    found = _or_zeros(gradients(inner.block, pairs, _parameters(chosen), inner), chosen, inner)
    after = [
        value if i in forward.carried else inner(AddOp, before[i], value)
        for i, value in zip(forward.active, found, strict=True)
    ]
    region = inner.finish(after)
    _keep(op, kept, inner)
    new = LoopOp(op.most, starts, list(inner.reads.values()), region, trips)
    build.append(new)
    numbers = {forward.first + i: new.values[k] for k, i in enumerate(forward.active)}
    return {i: value for i, value in numbers.items() if i in wanted}


def _last_step(op: LoopOp, build: Build) -> tuple[SSAValue, SSAValue | None]:
    """Returns the number of the last step that a loop runs, and of how many if data says so."""
    if op.trips is None and op.going is None:
        return build.splat(op.most - 1, STEP), None
    most = build.splat(op.most, COUNT)
    trips = build(CastOp, build(MinimumOp, op.count, most), result_types=[STEP])
    return build(SubOp, trips, build.splat(1, STEP)), trips


def _keep(op: LoopOp, kept: Sequence[SSAValue], inner: BodyBuilder) -> None:
    """Stacks the carried values that the adjoint of a loop reads."""
    used = [i for i, argument in enumerate(kept) if argument.first_use]
    stacks = op.stack([op.body.block.args[1 + i] for i in used])
    inner.reads |= {kept[i]: stack for i, stack in zip(used, stacks, strict=True)}
    for argument in kept:
        if argument not in inner.reads:
            inner.block.erase_arg(argument)  # pyright: ignore[reportArgumentType]
    arguments: Sequence[SSAValue] = inner.block.args
    inner.reads = {a: inner.reads[a] for a in arguments if a in inner.reads}


@body_tangent(LoopOp)
def loop_tangent(
    op: LoopOp, tangents: Mapping[int, SSAValue], build: Build
) -> Mapping[int, SSAValue]:
    """
    Returns results of a loop that carries tangents beside the carried values, which it computes
    again.
    """
    forward = _Loop(op, tangents.keys())
    count = len(op.carried)
    active = [i for i in forward.active if i in forward.carried]
    starts = [
        tangents.get(forward.first + i) or build.splat(0.0, op.carried[i].type) for i in active
    ]
    inner = BodyBuilder([STEP, *(v.type for v in (*op.carried, *starts))])
    step, *first = inner.block.args
    values = [*first[:count], *map(inner.read, op.reads)]
    given: dict[int, SSAValue] = dict(zip(active, first[count:], strict=True))
    for i in forward.active:
        if i not in forward.carried:
            given[i] = inner.read(tangents[forward.first + i])
    parameters = _parameters([values[i] for i in given])
    results = copied(inner, forward.body, [step, *values])
    known = directional(inner.block, dict(zip(parameters, given.values(), strict=True)), inner)
    goes_on, results = results[: forward.conditions], results[forward.conditions :]
    rows = [i for i in forward.rows if is_of_floats(results[i])]
    chosen = [results[i] for i in (*active, *rows)]
    found = _or_zeros([known.get(v) for v in chosen], chosen, inner)
    moved = [*results[:count], *found[: len(active)]]
    region = inner.finish([*goes_on, *moved, *found[len(active) :]])
    carried, reads = [*op.carried, *starts], list(inner.reads.values())
    new = LoopOp(op.most, carried, reads, region, op.trips, op.going)
    build.append(new)
    return dict(zip((*active, *rows), new.values[count:-1], strict=True))
