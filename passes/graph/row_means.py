"""
Means over rows in a program that takes the number of its rows.

A mean over rows divides by a number that follows from the rows of a call, which the graph for the
largest number of rows states as a constant. It becomes a sum, divided by what the input with the
number of rows says.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ...glow_dialects.glow.arithmetic import DivOp, MulOp
from ...glow_dialects.glow.reduction import ReduceMeanOp, ReduceSumOp
from ...glow_dialects.operator import element_of, shape_of
from .lowerings.precision import cast
from .rewriting import Build, replace_node


def divide_by_rows(graphs: Mapping[int, func.FuncOp]) -> None:
    """
    Changes the means over rows of some graphs of one network, by the number of their rows. Their
    last inputs are this number. Means that the graphs do not have in common stay as they are.
    """
    means = [[op for op in g.walk() if isinstance(op, ReduceMeanOp)] for g in graphs.values()]
    if len({len(each) for each in means}) > 1:
        return
    for same in zip(*means, strict=True):
        by_rows = dict(zip(graphs, same, strict=True))
        sizes = {rows: _elements(mean) for rows, mean in by_rows.items()}
        others = {size / rows for rows, size in sizes.items()}
        if len(set(sizes.values())) > 1 and len(others) == 1:
            for rows, mean in by_rows.items():
                _divide(mean, graphs[rows].body.block.args[-1], others.copy().pop())


def _elements(mean: ReduceMeanOp) -> int:
    """Returns the number of elements of each mean."""
    shape = shape_of(mean.input.type)
    return prod(shape[axis] for axis in mean.call.ints("axes"))


def _divide(mean: ReduceMeanOp, rows: SSAValue, others: float) -> None:
    """Makes a mean of `others` elements for each row a sum that is divided."""
    build = Build()
    element, shape = element_of(mean.result.type), shape_of(mean.result.type)
    # the sum of many numbers of 16 bits may have none
    wide = element if getattr(element, "bitwidth", 0) >= f32.bitwidth else f32
    value = cast(build, mean.input, wide)
    total = build(ReduceSumOp, value, axes=mean.axes, keep_dims=mean.keep_dims)
    count = cast(build, rows, wide)
    if others != 1:
        count = build(MulOp, count, build.splat(others, count.type))
    count = build.broadcast(build.reshape(count, [1] * len(shape)), shape)
    made = cast(build, build(DivOp, total, count), element)
    replace_node(mean, build.ops, made)
