"""
Adjoints of attention, as products of matrices (Dao et al. 2022, "FlashAttention", appendix B).
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from xdsl.ir import SSAValue

from ....glow_dialects.glow.arithmetic import AddOp, MulOp, SubOp
from ....glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.normalization import SoftmaxOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ....glow_dialects.glow.shape import TransposeOp
from ....glow_dialects.operator import shape_of
from ..lowerings.attention import heads_first, numbers_or_zero
from ..rewriting import Build
from .registry import adjoint

_HEADS_FIRST = [0, 2, 1, 3]


@adjoint(AttentionOp, MaskedAttentionOp)
def attention(
    node: AttentionOp | MaskedAttentionOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    """
    Returns the adjoints from the probabilities P, which are computed again: with `dP = dO V^T`, the
    adjoint of the scores is `dS = P (dP - sum(O dO))`, and those of query and key are its products
    with key and query.
    """
    members = node.members(node.call)
    query, key, value = heads_first(node.operands[:3], members, build)
    result, given = (_turned(v, build) for v in (node.result, seed))
    scale = node.scale.value.data
    scores = _times(build(MatMulOp, query, key, transpose_rhs=True), scale, build)
    if isinstance(node, MaskedAttentionOp):
        scores = build(AddOp, scores, node.mask)
    power = build(SoftmaxOp, scores, axis=3)
    if node.safe.value.data:
        power = numbers_or_zero(build, power)
    found: dict[int, SSAValue] = {}
    if 2 in wanted:
        change = build(MatMulOp, power, given, transpose_lhs=True)
        found[2] = _turned(_of_groups(change, members, build), build)
    if not wanted - {2}:
        return found
    products = build(MatMulOp, given, value, transpose_rhs=True)
    dots = build(ReduceSumOp, build(MulOp, result, given), axes=[3], keep_dims=True)
    centered = build(SubOp, products, build.broadcast(dots, shape_of(products.type)))
    change = build(MulOp, power, centered)
    if 3 in wanted:
        found[3] = change
    change = _times(change, scale, build)
    if 0 in wanted:
        found[0] = _turned(build(MatMulOp, change, key), build)
    if 1 in wanted:
        change = build(MatMulOp, change, query, transpose_lhs=True)
        found[1] = _turned(_of_groups(change, members, build), build)
    return found


def _turned(value: SSAValue, build: Build) -> SSAValue:
    """Returns a value with heads before positions, or the other way around."""
    return build(TransposeOp, value, permutation=_HEADS_FIRST)


def _of_groups(value: SSAValue, members: int, build: Build) -> SSAValue:
    """Returns [images, heads, positions, width] added up for the heads of each group."""
    if members == 1:
        return value
    images, heads, *rest = shape_of(value.type)
    apart = build.reshape(value, [images, heads // members, members, *rest])
    return build(ReduceSumOp, apart, axes=[2], keep_dims=False)


def _times(value: SSAValue, number: float, build: Build) -> SSAValue:
    return value if number == 1 else build(MulOp, value, build.splat(number, value.type))
