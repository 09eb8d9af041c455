"""Subgraphs that become bodies of branches and loops, which see nothing but their arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.control import IfOp, LoopOp, YieldOp
from ...glow_dialects.glow.shape import BroadcastOp
from .builder import GraphBuilder
from .checked_values import Exceeded, Indices, Verdict
from .problems import SizeNeeded, Unsupported


@dataclass
class ConvertedBody:
    """A converted subgraph, which may still use values from outside."""

    block: Block
    results: list[SSAValue]
    verdicts: list[Verdict]

    def types(self) -> list[Attribute]:
        """Returns the types of the results."""
        return [v.type for v in self.results]


def add_branch(
    build: GraphBuilder, condition: SSAValue, bodies: Sequence[ConvertedBody]
) -> list[SSAValue]:
    """
    Returns the results of a branch. Raises Unsupported if those of both bodies differ in their
    types.
    """
    then, otherwise = (body.types() for body in bodies)
    for i, (a, b) in enumerate(zip(then, otherwise, strict=True)):
        if a != b:
            raise Unsupported(f"result {i} is {a} in one branch and {b} in the other")
    count = len(then)
    found = [each for body in bodies for each in body.verdicts]
    for body in bodies:
        with build.inside(body.block):
            for each in found:
                own = any(each is one for one in body.verdicts)
                nothing = None if own else build.splat_like(each.nothing, each.value)
                body.results.append(each.value if nothing is None else nothing)
    then += [each.value.type for each in found]
    outside = _finish(build, bodies)
    node = IfOp(condition, outside, then, [Region(body.block) for body in bodies])
    results = _added(build, node)
    build.verdicts += _of_values(found, results[count:])
    return results[:count]


def add_loop(
    build: GraphBuilder,
    body: ConvertedBody,
    steps: int,
    carried: Sequence[SSAValue],
    trips: SSAValue | None,
    going: SSAValue | None,
) -> tuple[list[SSAValue], SSAValue]:
    """
    Returns the last carried values, with the stacked ones behind them, and the number of steps of a
    loop. The body yields the next condition if there is `going`.
    """
    found = [each for whole in body.verdicts if (each := _of_steps(whole, body.block, steps))]
    first, carried = len(carried), list(carried)
    for each in found:
        old = body.block.insert_arg(each.value.type, 1 + len(carried))
        with build.inside(body.block):
            place = (going is not None) + len(carried)
            body.results.insert(place, build.op(each.together, old, each.value))
        carried.append(build.splat_like(each.nothing, each.value))
    outside = _finish(build, [body])
    node = LoopOp(steps, carried, outside, Region(body.block), trips, going)
    *results, count = _added(build, node)
    build.verdicts += _of_values(found, results[first : len(carried)])
    del results[first : len(carried)]
    return results, count


def _of_steps(verdict: Verdict, body: Block, steps: int) -> Verdict | None:
    """
    Returns a verdict in the body of a loop without indices that are the number of the step and in
    their range for so many steps; None if nothing is left.
    """
    if isinstance(verdict, Exceeded):
        return verdict
    number = body.args[0]
    left = [r for r in verdict.ranges if r.value is not number or not _includes(r, steps)]
    return replace(verdict, ranges=left) if left else None


def _includes(indices: Indices, steps: int) -> bool:
    return max(indices.low) <= 0 and steps - 1 <= min(indices.high)


def _of_values(verdicts: Sequence[Verdict], values: Sequence[SSAValue]) -> list[Verdict]:
    """Returns verdicts that other values give."""
    return [replace(each, value=v) for each, v in zip(verdicts, values, strict=True)]


def erase_dead(block: Block, results: Collection[SSAValue]) -> None:
    """Removes nodes that were only used to compute shapes."""
    kept = set(results)
    for op in reversed(list(block.ops)):
        if not any(r in kept or r.uses for r in op.results):
            op.detach()
            op.erase()


def _added(build: GraphBuilder, node: IfOp | LoopOp) -> list[SSAValue]:
    build.block.add_op(node)
    return list(node.results)


def _finish(build: GraphBuilder, bodies: Sequence[ConvertedBody]) -> list[SSAValue]:
    """
    Ends bodies with their results, and gives them an argument for each value that they use from
    outside, which are returned. Constants are copied into bodies. Raises SizeNeeded if data decides
    how much of such a value is used.
    """
    for body in bodies:
        if any(v in build.counted for v in body.results):
            raise SizeNeeded()
        erase_dead(body.block, body.results)
        body.block.add_op(YieldOp(*body.results))
    outside = list(dict.fromkeys(v for body in bodies for v in _from_outside(body.block)))
    captured = [v for v in outside if not _is_constant(build, v)]
    if any(v in build.counted for v in captured):
        raise SizeNeeded()
    for body in bodies:
        block = body.block
        inside: dict[SSAValue, SSAValue] = {}
        for value in captured:
            inside[value] = block.insert_arg(value.type, len(block.args))
            inside[value].name_hint = value.name_hint
        own = list(_from_outside(block))
        copies: list[Operation] = []
        for value in own:
            _copy(value, inside, copies)
        for op in block.ops:
            op.operands = [inside.get(v, v) for v in op.operands]
        first = block.first_op
        assert first is not None
        block.insert_ops_before(copies, first)
    return captured


def _from_outside(block: Block) -> Iterable[SSAValue]:
    """Yields the values that a body uses and does not define, each perhaps several times."""
    for op in block.ops:
        for value in op.operands:
            home = value.owner if isinstance(value.owner, Block) else value.owner.parent
            if home is not block:
                yield value


def _is_constant(build: GraphBuilder, value: SSAValue) -> bool:
    """Returns whether a value is a constant that stays one, or repeats one."""
    owner = value.owner
    if isinstance(owner, BroadcastOp):
        return _is_constant(build, owner.input)
    if build.parameters is not None and value in build.parameters:
        return False
    return isinstance(owner, ConstantOp | SplatOp)


def _copy(value: SSAValue, inside: dict[SSAValue, SSAValue], copies: list[Operation]) -> None:
    """Copies a constant, unless `inside` has its value already."""
    if value in inside:
        return
    owner = value.owner
    assert isinstance(owner, Operation)
    for operand in owner.operands:
        _copy(operand, inside, copies)
    copy = owner.clone(inside)
    copies.append(copy)
    inside[value] = copy.results[0]


def known_true(build: GraphBuilder) -> SSAValue:
    """Returns the condition of a step, which holds while the step runs."""
    return build.constant(np.array(True))
