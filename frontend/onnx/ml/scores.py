"""Transformations of scores, and the labels that they give."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import SigmoidOp
from ....glow_dialects.glow.arithmetic import (
    AbsOp,
    AddOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    NegOp,
    SqrtOp,
    SubOp,
)
from ....glow_dialects.glow.indexing import ArgMaxOp
from ....glow_dialects.glow.logic import EqualOp, LessOp, SelectOp
from ....glow_dialects.glow.normalization import SoftmaxOp
from ....glow_dialects.glow.reduction import ReduceMaxOp, ReduceSumOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import GraphBuilder, element, rank, shape
from ..node import OnnxNode
from ..problems import Unsupported

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""In the order of their numbers in TreeEnsemble."""
_NEARLY_ZERO = 1e-7
"""Scores up to this distance from zero are no scores for SOFTMAX_ZERO, as in onnxruntime."""


def transformed(build: GraphBuilder, scores: SSAValue, transform: str) -> SSAValue:
    """Returns scores, with a row for each sample, after one of `TRANSFORMS`."""
    if transform == "SOFTMAX":
        return build.op(SoftmaxOp, scores, axis=1)
    if transform == "LOGISTIC":
        return build.op(SigmoidOp, scores)
    if transform == "SOFTMAX_ZERO":
        return _softmax_of_scores(build, scores)
    if transform == "PROBIT":
        return _probit(build, scores)
    if transform != "NONE":
        raise Unsupported(f"post_transform {transform!r}")
    return scores


def _softmax_of_scores(build: GraphBuilder, scores: SSAValue) -> SSAValue:
    """Returns a softmax to which zeros contribute nothing."""
    largest = build.op(ReduceMaxOp, scores, axes=[1], keep_dims=True)
    powers = build.op(ExpOp, build.elementwise(SubOp, scores, largest))
    scale = build.op(ExpOp, build.op(NegOp, largest))
    small = build.elementwise(MulOp, scores, scale)
    bound = build.splat_like(_NEARLY_ZERO, scores)
    counts = build.op(LessOp, bound, build.op(AbsOp, scores))
    chosen = build.op(SelectOp, counts, powers, small)
    total = build.op(ReduceSumOp, chosen, axes=[1], keep_dims=True)
    empty = build.op(EqualOp, total, build.splat_like(0, total))
    divided = build.elementwise(DivOp, chosen, total)
    half = build.splat_like(0.5, divided)
    return build.op(SelectOp, build.broadcast(empty, shape(divided)), half, divided)


def _probit(build: GraphBuilder, scores: SSAValue) -> SSAValue:
    """
    Returns the quantiles of the normal distribution, by the approximation of the inverse error
    function that onnxruntime uses (Winitzki 2008).
    """
    a = 0.147
    x = build.with_number(AddOp, build.with_number(MulOp, scores, 2), -1)
    square = build.op(MulOp, x, x)
    inner = build.op(LogOp, build.op(SubOp, build.splat_like(1, x), square))
    first = build.with_number(AddOp, build.with_number(MulOp, inner, 0.5), 2 / (math.pi * a))
    second = build.with_number(MulOp, inner, 1 / a)
    root = build.op(SqrtOp, build.op(SubOp, build.op(MulOp, first, first), second))
    found = build.op(SqrtOp, build.op(SubOp, root, first))
    is_negative = build.op(LessOp, x, build.splat_like(0, x))
    signed = build.op(SelectOp, is_negative, build.op(NegOp, found), found)
    return build.with_number(MulOp, signed, 1.41421356)


def features_of(node: OnnxNode) -> SSAValue:
    """Returns the input as a matrix of floats with a row for each sample."""
    x = node.input(0)
    if rank(x) == 1:
        x = node.build.reshape(x, [1, *shape(x)])
    if rank(x) != 2:
        raise ModelError(f"expected features of rank 1 or 2, found {x.type}")
    return x if element(x) == f64 else as_f32(node.build, x)


def class_labels(node: OnnxNode, ints: str, count: int) -> list[int]:
    """
    Returns the labels of a classifier, of which `ints` is the attribute with whole numbers. Labels
    that are strings are their numbers. Without any, the numbers of `count` classes are labels.
    """
    labels = node.ints(ints)
    if labels:
        return labels
    names = node.attr("classlabels_strings")
    return node.weights.strings.numbers(names).tolist() if names else list(range(count))


def chosen_label(node: OnnxNode, labels: Sequence[int], scores: SSAValue) -> SSAValue:
    """Returns the label of the first of the largest scores of each row."""
    build = node.build
    chosen = build.op(ArgMaxOp, scores, axis=1)
    if list(labels) != list(range(len(labels))):
        table = build.constant(np.array(labels, np.int64))
        chosen = build.op(GatherOp, table, chosen, axis=0)
    return _noted(node, chosen)


def label_above(node: OnnxNode, labels: Sequence[int], score: SSAValue, bound: float) -> SSAValue:
    """Returns the second of two labels where a score, of one column, is above a bound."""
    build = node.build
    above = build.op(LessOp, build.splat_like(bound, score), score)
    first, second = (
        build.broadcast(build.constant(np.array(label, np.int64)), shape(score)) for label in labels
    )
    chosen = build.reshape(build.op(SelectOp, above, second, first), shape(score)[:1])
    return _noted(node, chosen)


def _noted(node: OnnxNode, labels: SSAValue) -> SSAValue:
    """Returns labels, of which it is noted if they are strings."""
    if node.attr("classlabels_strings"):
        node.weights.strings.note(labels)
    return labels


def two_columns(build: GraphBuilder, score: SSAValue, of_probability: bool) -> SSAValue:
    """Returns the scores of both classes from that of the second: `1 - s` or `-s`, and `s`."""
    other = build.op(NegOp, score)
    if of_probability:
        other = build.with_number(AddOp, other, 1)
    return build.concat([other, score], 1)


def as_f32(build: GraphBuilder, scores: SSAValue) -> SSAValue:
    return build.cast(scores, f32)
