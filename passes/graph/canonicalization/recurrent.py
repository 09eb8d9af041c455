"""Recurrent layers."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ....glow_dialects.glow.recurrent import GruOp, LstmOp, Recurrent, RnnOp
from ....glow_dialects.glow.shape import SliceOp
from ....glow_dialects.operator import CANONICALIZATION, shape_of


class ReadWhatAnotherKeeps(RewritePattern):
    """
    Replaces a layer by parts of the same layer that keeps more, as a backward pass adds it. What is
    kept is computed where the layer stands.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Recurrent) or op.call.get("keeps"):
            return
        other = _keeping(op)
        if other is None:
            return
        sizes = shape_of(op.results[0].type)
        if not other.is_before_in_block(op):
            other.detach()
            rewriter.insert(other)
        parts = SliceOp.of(*other.results, sizes=list(sizes))
        rewriter.replace(op, [parts], [parts.result])


def _keeping(op: Recurrent) -> Recurrent | None:
    """Returns the layer that has all that another one has, and keeps more."""
    for use in op.operands[0].uses:
        other = use.operation
        if type(other) is not type(op) or other.parent is not op.parent:
            continue
        assert isinstance(other, Recurrent)
        if other.call.get("keeps") and _is_like(other, op):
            return other
    return None


def _is_like(one: Recurrent, other: Recurrent) -> bool:
    operands: list[list[SSAValue]] = [list(op.operands) for op in (one, other)]
    properties = [{**op.properties, "keeps": None} for op in (one, other)]
    return operands[0] == operands[1] and properties[0] == properties[1]


for _operator in (LstmOp, GruOp, RnnOp):
    CANONICALIZATION.add(_operator, (ReadWhatAnotherKeeps(),))
