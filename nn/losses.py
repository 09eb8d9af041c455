"""
Losses and metrics: functions of the output of a network and of what it should be.

A loss is a tensor of one element. A metric is one too; it is computed, but not differentiated.
"""

from __future__ import annotations

from ..errors import GlowError
from ..glow_dialects.elements import is_integer
from ..glow_dialects.glow.activation import ReluOp, SoftplusOp
from ..glow_dialects.glow.arithmetic import MinimumOp, SqrtOp
from ..glow_dialects.glow.indexing import ArgMaxOp
from ..glow_dialects.glow.logic import EqualOp, LessOp, OrOp, SelectOp
from .functions import log_softmax
from .tensor import Tensor, elementwise


def cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """
    Returns the mean of `-log(softmax(scores)[label])` for scores [N, C, ...] and labels [N, ...],
    integers of at least 0 and below C. With other integers, the loss is NaN.
    """
    if labels.shape != (scores.shape[0], *scores.shape[2:]):
        raise GlowError(
            f"expected labels of shape {[scores.shape[0], *scores.shape[2:]]} for scores of shape "
            f"{list(scores.shape)}, found {list(labels.shape)}"
        )
    if not is_integer(labels.element):
        raise GlowError(f"expected labels that are integers, found {labels.dtype.name}")
    # narrow types may lack the number of the last class, with which labels are compared
    labels = labels.cast("int64")
    logs, graph = log_softmax(scores, axis=1), scores.graph
    chosen = graph.formula(
        "y[n, s..] = sum(c) (x[n, c, s..] if t[n, s..] == c else 0.0)", logs, labels
    )
    return (_nan_outside(labels, scores.shape[1], chosen) - chosen).mean()


def _nan_outside(labels: Tensor, classes: int, like: Tensor) -> Tensor:
    """Returns 0 for labels of classes and NaN for others, as the root of 0 or of -1."""
    graph = labels.graph
    below, last = graph.number(0, labels), graph.number(classes - 1, labels)
    unknown = elementwise(
        OrOp, elementwise(LessOp, labels, below), elementwise(LessOp, last, labels)
    )
    minus, zero = graph.number(-1.0, like), graph.number(0.0, like)
    root = elementwise(SqrtOp, elementwise(SelectOp, unknown, minus, zero))
    root.value.name_hint = "is_no_class"
    return root


def mean_squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Returns the mean of `(output - target) ** 2` of two tensors of one shape."""
    _same_shape(output, target)
    difference = output - target
    return (difference * difference).mean()


def binary_cross_entropy(scores: Tensor, target: Tensor) -> Tensor:
    """
    Returns the mean of `-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x))` for scores x and targets
    t between 0 and 1, without overflow: `max(x, 0) - x t + log(1 + exp(-|x|))`.
    """
    _same_shape(scores, target)
    # the derivatives of the parts at 0, where they have none, add up to that of the sum
    rest = elementwise(SoftplusOp, elementwise(MinimumOp, -scores, scores))
    return (elementwise(ReluOp, scores) - scores * target + rest).mean()


def accuracy(scores: Tensor, labels: Tensor) -> Tensor:
    """Returns the part of labels [N, ...] at which scores [N, C, ...] are largest."""
    best = scores.graph.node(ArgMaxOp, scores, axis=1)
    return elementwise(EqualOp, best.cast("int64"), labels.cast("int64")).cast("float32").mean()


def _same_shape(output: Tensor, target: Tensor) -> None:
    if output.shape != target.shape:
        raise GlowError(
            f"expected a target of the shape of the output {list(output.shape)}, "
            f"found {list(target.shape)}"
        )
