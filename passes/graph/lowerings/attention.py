"""Decomposition of attention."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....glow_dialects.glow.arithmetic import AddOp, MulOp
from ....glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ....glow_dialects.glow.logic import EqualOp, SelectOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.normalization import SoftmaxOp
from ....glow_dialects.glow.shape import TransposeOp
from ....glow_dialects.operator import element_of
from ..rewriting import Build
from .precision import cast, widen
from .registry import lowering


def numbers_or_zero(build: Build, value: SSAValue) -> SSAValue:
    """Returns `value` with zeros where it is NaN."""
    is_number = build(EqualOp, value, value)
    return build(SelectOp, is_number, value, build.splat(0.0, value.type))


@lowering(AttentionOp, MaskedAttentionOp)
def attention(node: AttentionOp | MaskedAttentionOp, build: Build) -> SSAValue:
    """Returns two products around a softmax, on operands with heads before positions."""
    by_head = [
        build(TransposeOp, widen(build, o), permutation=[0, 2, 1, 3]) for o in node.operands[:3]
    ]
    scores = build(MatMulOp, by_head[0], by_head[1], transpose_rhs=True)
    scores = build(MulOp, scores, build.splat(node.scale.value.data, scores.type))
    if isinstance(node, MaskedAttentionOp):
        scores = build(AddOp, scores, widen(build, node.mask))
    shares = build(SoftmaxOp, scores, axis=3)
    if node.safe.value.data:
        shares = numbers_or_zero(build, shares)
    result = build(MatMulOp, shares, by_head[2])
    result = build(TransposeOp, result, permutation=[0, 2, 1, 3])
    return cast(build, result, element_of(node.result.type))
