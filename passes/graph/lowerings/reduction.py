"""Decompositions of reductions."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ....glow_dialects.glow.arithmetic import DivOp
from ....glow_dialects.glow.reduction import ReduceMeanOp, ReduceSumOp
from ....glow_dialects.operator import element_of, shape_of
from ..rewriting import Build
from .precision import cast, widen
from .registry import lowering


@lowering(ReduceMeanOp)
def reduce_mean(node: ReduceMeanOp, build: Build) -> SSAValue:
    """Returns the sum, divided by the number of elements in it."""
    axes = node.axes.get_values()
    count = prod(shape_of(node.input.type)[a] for a in axes)
    wide = widen(build, node.input)
    total = build(ReduceSumOp, wide, axes=node.axes, keep_dims=node.keep_dims)
    mean = build(DivOp, total, build.splat(float(count), total.type))
    return cast(build, mean, element_of(node.result.type))
