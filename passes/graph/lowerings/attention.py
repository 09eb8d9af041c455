"""Decomposition of attention."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import SSAValue

from ....glow_dialects.glow.arithmetic import AddOp, MulOp
from ....glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ....glow_dialects.glow.logic import EqualOp, SelectOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.normalization import SoftmaxOp
from ....glow_dialects.glow.shape import TransposeOp
from ....glow_dialects.operator import element_of, shape_of
from ..rewriting import Build
from .precision import cast, widen
from .registry import lowering


def heads_first(operands: Iterable[SSAValue], members: int, build: Build) -> list[SSAValue]:
    """
    Returns query, key and value as [images, heads, positions, width], with key and value once for
    each of the `members` heads of the query that share them.
    """
    query, *shared = (build(TransposeOp, o, permutation=[0, 2, 1, 3]) for o in operands)
    return [query, *(_repeated(value, members, build) for value in shared)]


def _repeated(value: SSAValue, members: int, build: Build) -> SSAValue:
    if members == 1:
        return value
    images, heads, positions, width = shape_of(value.type)
    apart = build.reshape(value, [images, heads, 1, positions, width])
    apart = build.broadcast(apart, [images, heads, members, positions, width])
    return build.reshape(apart, [images, heads * members, positions, width])


def numbers_or_zero(build: Build, value: SSAValue) -> SSAValue:
    """Returns `value` with zeros where it is NaN."""
    is_number = build(EqualOp, value, value)
    return build(SelectOp, is_number, value, build.splat(0.0, value.type))


@lowering(AttentionOp, MaskedAttentionOp)
def attention(node: AttentionOp | MaskedAttentionOp, build: Build) -> SSAValue:
    """Returns two products around a softmax, on operands with heads before positions."""
    operands = (widen(build, operand) for operand in node.operands[:3])
    query, key, value = heads_first(operands, node.members(node.call), build)
    scores = build(MatMulOp, query, key, transpose_rhs=True)
    scores = build(MulOp, scores, build.splat(node.scale.value.data, scores.type))
    if isinstance(node, MaskedAttentionOp):
        scores = build(AddOp, scores, widen(build, node.mask))
    shares = build(SoftmaxOp, scores, axis=3)
    if node.safe.value.data:
        shares = numbers_or_zero(build, shares)
    result = build(MatMulOp, shares, value)
    result = build(TransposeOp, result, permutation=[0, 2, 1, 3])
    return cast(build, result, element_of(node.result.type))
