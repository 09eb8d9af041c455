"""
Routers of mixtures of experts, as onnxruntime defines them.

The domain is com.microsoft; the definitions are those of onnxruntime's ContribOperators.md.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import SigmoidOp
from ....glow_dialects.glow.arithmetic import AddOp
from ....glow_dialects.glow.indexing import GatherElementsOp, TopIndicesOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ..builder import GraphBuilder, element, shape, size
from ..node import CONTRIB, OnnxNode, converter
from .attention import LOWEST
from .matrix import matrix_product

_IS_TAKEN = "y[t, e] = sum(j) (1.0 if taken[t, j] == e else 0.0)"
"""One where a row names a column, zero elsewhere."""
_OF_TAKEN_GROUPS = "y[t, g, e] = x[t, g, e] if taken[t, g] > 0.0 else lowest"
_LOGARITHMS = """
    y[t, e] = log(max(s[t, e], 1.0e-20)) if taken[t, e] > 0.0 and kept[t, e] > lowest
        else sentinel
"""
"""The results of chosen experts, but for those of other groups where the best are too small."""


@converter("MoEGroupRouter", domain=CONTRIB)
def group_router(node: OnnxNode) -> list[SSAValue]:
    """
    Converts the choice of experts from the best groups of them (DeepSeek-AI 2024, DeepSeek-V3):
    logarithms of the scores of those that are chosen, or the scores of all.
    """
    build, x, bias, projection = node.build, node.input(0), node.input(1), node.optional(2)
    logits = build.cast(x, f32)
    if projection is not None:
        weights = build.transpose(build.cast(projection, f32), [1, 0])
        logits = matrix_product(build, logits, weights)
    *rows, experts = shape(logits)
    if size(bias) != experts:
        raise ModelError(f"expected a bias of {experts} experts, found {bias.type}")
    scores = build.op(SigmoidOp, build.reshape(logits, [prod(rows), experts]))
    biased = build.elementwise(AddOp, scores, bias)
    if node.output_used(1) or node.output_used(2):
        if node.output_used(0) or node.attr("n_group", 1) != 1:
            raise ModelError("expected one group and no router_probs beside the scores of all")
        return [biased, biased, scores]
    if projection is not None:
        raise ModelError("expected selection_scores and router_weights, found router_probs")
    kept = _of_best_groups(node, biased)
    taken = _is_taken(build, kept, node.attr("top_k"))
    result = build.formula(
        _LOGARITHMS,
        scores,
        taken,
        kept,
        shape=shape(scores),
        sentinel=float(node.attr("router_sentinel", -10000.0)),
        lowest=LOWEST,
    )
    return [build.cast(result, element(x))]


def _is_taken(build: GraphBuilder, scores: SSAValue, count: int | None) -> SSAValue:
    """Returns 1 at the largest elements of each row, so many of them, and 0 elsewhere."""
    columns = shape(scores)[1]
    if count is None or not 1 <= count <= columns:
        raise ModelError(f"expected a choice of 1 to {columns}, found {count}")
    taken = build.op(TopIndicesOp, scores, axis=1, k=count)
    return build.formula(_IS_TAKEN, taken, shape=shape(scores), element=f32)


def _of_best_groups(node: OnnxNode, scores: SSAValue) -> SSAValue:
    """Returns the scores of experts, with the lowest number for those of other groups."""
    build, groups = node.build, node.attr("n_group", 1)
    rows, experts = shape(scores)
    if groups < 1 or experts % groups:
        raise ModelError(f"expected {experts} experts in groups, found n_group={groups}")
    if groups == 1:
        return scores
    apart = build.reshape(scores, [rows, groups, experts // groups])
    count = min(node.attr("group_topk", 2), experts // groups)
    best = build.op(TopIndicesOp, apart, axis=2, k=count)
    totals = build.op(ReduceSumOp, build.op(GatherElementsOp, apart, best, axis=2), axes=[2])
    taken = _is_taken(build, totals, node.attr("topk_group", 1))
    kept = build.formula(_OF_TAKEN_GROUPS, apart, taken, shape=shape(apart), lowest=LOWEST)
    return build.reshape(kept, [rows, experts])
