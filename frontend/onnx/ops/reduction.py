"""Reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f64, i1
from xdsl.ir import SSAValue

from ....glow_dialects.elements import is_float
from ....glow_dialects.glow.activation import ClipOp
from ....glow_dialects.glow.arithmetic import (
    AbsOp,
    AddOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    SqrtOp,
    SubOp,
)
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.reduction import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
)
from ....glow_dialects.integers import u8
from ....semantics.arrays import largest_finite
from ..builder import GraphBuilder, element, rank, shape
from ..node import OnnxNode, converter, normal_axes


@dataclass(frozen=True)
class Reduction:
    """The input and the axes of a reduction."""

    build: GraphBuilder
    x: SSAValue
    axes: Sequence[int]

    def to(self, operator: type[Node], x: SSAValue | None = None) -> SSAValue:
        """Reduces `x`, or the input, and keeps the reduced dimensions with size 1."""
        value = self.x if x is None else x
        return self.build.op(operator, value, axes=self.axes, keep_dims=True)


def _max(r: Reduction) -> SSAValue:
    return _extreme(r, ReduceMaxOp)


def _min(r: Reduction) -> SSAValue:
    return _extreme(r, ReduceMinOp)


def _extreme(r: Reduction, operator: type[Node]) -> SSAValue:
    if element(r.x) != i1:
        return r.to(operator)
    return r.build.cast(r.to(operator, r.build.cast(r.x, u8)), i1)


def _mean(r: Reduction) -> SSAValue:
    if is_float(element(r.x)):
        return r.to(ReduceMeanOp)
    count = prod(shape(r.x)[a] for a in r.axes)
    return r.build.with_number(DivOp, r.to(ReduceSumOp), count)


def _sum_of_squares(r: Reduction) -> SSAValue:
    return r.to(ReduceSumOp, r.build.op(MulOp, r.x, r.x))


def _log_sum_exp(r: Reduction) -> SSAValue:
    """
    Returns the logarithm of a sum of exponentials, which are shifted by the largest number, so that
    none overflows. The shift itself is finite.
    """
    build, largest = r.build, largest_finite(element(r.x))
    shift = build.op(ClipOp, r.to(ReduceMaxOp), min=-largest, max=largest)
    shifted = build.op(ExpOp, build.elementwise(SubOp, r.x, shift))
    return build.op(AddOp, build.op(LogOp, r.to(ReduceSumOp, shifted)), shift)


_REDUCTIONS: dict[str, Callable[[Reduction], SSAValue]] = {
    "ReduceSum": lambda r: r.to(ReduceSumOp),
    "ReduceMean": _mean,
    "ReduceMax": _max,
    "ReduceMin": _min,
    "ReduceProd": lambda r: r.to(ReduceProdOp),
    "ReduceSumSquare": _sum_of_squares,
    "ReduceL1": lambda r: r.to(ReduceSumOp, r.build.op(AbsOp, r.x)),
    "ReduceL2": lambda r: r.build.op(SqrtOp, _sum_of_squares(r)),
    "ReduceLogSum": lambda r: r.build.op(LogOp, r.to(ReduceSumOp)),
    "ReduceLogSumExp": _log_sum_exp,
}
_OF_FLOATS = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")
"""The reductions that compute integers in f64, and round them towards zero."""


@converter(*_REDUCTIONS)
def reduction(node: OnnxNode) -> SSAValue:
    """
    Returns the converter of a reduction. Axes are an attribute in older opsets and an input in
    newer ones; without axes, all dimensions are reduced.
    """
    x = node.input(0)
    axes = node.ints("axes") or node.known_ints(1) or []
    if not axes and node.attr("noop_with_empty_axes", 0):
        axes = []
    else:
        axes = normal_axes(axes, rank(x)) if axes else list(range(rank(x)))
    kind, stored = node.proto.op_type, element(x)
    computed = f64 if kind in _OF_FLOATS and not is_float(stored) else stored
    found = _REDUCTIONS[kind](Reduction(node.build, node.build.cast(x, computed), axes))
    found = found if computed == stored else node.build.cast(found, stored)
    if node.attr("keepdims"):
        return found
    return node.build.reshape(found, [d for i, d in enumerate(shape(x)) if i not in axes])
