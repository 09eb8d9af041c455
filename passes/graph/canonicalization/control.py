"""Branches and loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ....glow_dialects.glow.constant import ConstantOp, SplatOp
from ....glow_dialects.glow.control import IfOp, LoopOp, WithBodies, yielded
from ....glow_dialects.operator import CANONICALIZATION
from ..rewriting import splat_value


class InlineKnownBranch(RewritePattern):
    """Replaces a branch whose condition is known by the nodes of the body that it chooses."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, IfOp) or (known := splat_value(op.condition)) is None:
            return
        body = (op.then if known else op.otherwise).block
        inside: dict[SSAValue, SSAValue] = dict(zip(body.args, op.reads, strict=True))
        *nodes, _end = body.ops
        copies = [node.clone(inside) for node in nodes]
        rewriter.replace(op, copies, [inside.get(v, v) for v in yielded(body)])


class ReadWhatIsUsed(RewritePattern):
    """Copies constants into the bodies that read them, and leaves out what no body reads."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, IfOp | LoopOp):
            return
        first = len(op.bodies()[0].args) - len(op.reads)
        left = [
            i
            for i, value in enumerate(op.reads)
            if _is_copied(value) or not any(body.args[first + i].uses for body in op.bodies())
        ]
        if not left:
            return
        reads = [v for i, v in enumerate(op.reads) if i not in left]
        for body in op.bodies():
            for i in reversed(left):
                _forget(body, body.args[first + i], op.reads[i].owner)
        rewriter.replace(op, _with_reads(op, reads))


def _is_copied(value: SSAValue) -> bool:
    """Returns whether a value is a constant, and not one that has a name because it is trained."""
    owner = value.owner
    return isinstance(owner, ConstantOp | SplatOp) and "glow.name" not in owner.attributes


def _forget(body: Block, argument: SSAValue, owner: Operation | Block) -> None:
    """Removes an argument of a body, in which a copy of `owner` takes its place if it has users."""
    if argument.first_use is not None:
        assert isinstance(owner, Operation)
        copy, start = owner.clone(), body.first_op
        assert start is not None
        body.insert_op_before(copy, start)
        copy.results[0].name_hint = argument.name_hint
        argument.replace_all_uses_with(copy.results[0])
    body.erase_arg(argument)  # pyright: ignore[reportArgumentType]


def _with_reads(op: IfOp | LoopOp, reads: Sequence[SSAValue]) -> WithBodies:
    """Returns an operation with other reads, which takes its bodies."""
    bodies: list[Region] = [op.detach_region(region) for region in list(op.regions)]
    new: WithBodies
    if isinstance(op, IfOp):
        new = IfOp(op.condition, reads, op.result_types, bodies)
    else:
        new = LoopOp(op.most, op.carried, reads, bodies[0], op.trips, op.going)
    new.attributes |= op.attributes
    return new


CANONICALIZATION.add(IfOp, (InlineKnownBranch(), ReadWhatIsUsed()))
CANONICALIZATION.add(LoopOp, (ReadWhatIsUsed(),))
