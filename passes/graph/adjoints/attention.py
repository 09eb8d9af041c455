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
from ..lowerings.attention import numbers_or_zero
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
    turned = (_turned(v, build) for v in (*node.operands[:3], node.result, seed))
    query, key, value, result, given = turned
    scale = node.scale.value.data
    scores = _times(build(MatMulOp, query, key, transpose_rhs=True), scale, build)
    if isinstance(node, MaskedAttentionOp):
        scores = build(AddOp, scores, node.mask)
    power = build(SoftmaxOp, scores, axis=3)
    if node.safe.value.data:
        power = numbers_or_zero(build, power)
    found: dict[int, SSAValue] = {}
    if 2 in wanted:
        found[2] = _turned(build(MatMulOp, power, given, transpose_lhs=True), build)
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
        found[1] = _turned(build(MatMulOp, change, query, transpose_lhs=True), build)
    return found


def _turned(value: SSAValue, build: Build) -> SSAValue:
    """Returns a value with heads before positions, or the other way around."""
    return build(TransposeOp, value, permutation=_HEADS_FIRST)


def _times(value: SSAValue, number: float, build: Build) -> SSAValue:
    return value if number == 1 else build(MulOp, value, build.splat(number, value.type))
