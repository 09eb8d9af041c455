"""
Computes large windows of pools along one dimension after the other.

The maximum of a window is the maximum of those of its rows, and neighbouring windows share them. So
a window of 5 x 5 that moves by one element costs 10 steps instead of 25. The mean of a window is
the mean of those of its rows, since all rows of a window have as many elements that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.elements import compute_type, is_float
from ...glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from ...glow_dialects.operator import Call, element_of, shape_of
from ...glow_dialects.timings import TIMINGS
from ..levels import GRAPH
from .rewriting import Build, RuleTable, apply_rules, has_symbols

_RULES = RuleTable()


@_RULES.rule(MaxPoolOp, AvgPoolOp)
def split(node: MaxPoolOp | AvgPoolOp, build: Build) -> SSAValue | None:
    """Returns a pool along each dimension of the window, if this is less work."""
    if has_symbols(node):
        return None
    call, element = node.call, element_of(node.input.type)
    # means of rows are not rounded to narrow floats
    if isinstance(node, AvgPoolOp) and compute_type(element) != element:
        return None
    order = _order(call)
    if len(order) < 2 or not _is_less_work(call, order):
        return None
    value = node.input
    for number, dimension in enumerate(order):
        alone = {dimension} if number else {*range(len(call.shape(0)) - 2)} - {*order[1:]}
        value = build(type(node), value, **{**node.properties, **_window(call, alone)})
    return value


def _order(call: Call) -> Sequence[int]:
    """Returns the dimensions in which windows have several elements, largest strides first."""
    strides, kernel = call.ints("strides"), call.ints("kernel")
    several = [d for d, size in enumerate(kernel) if size > 1]
    return sorted(several, key=lambda d: -strides[d])


def _is_less_work(call: Call, order: Sequence[int]) -> bool:
    """Returns whether a pool along one dimension after the other is less work than at once."""
    kernel, windows = call.ints("kernel"), shape_of(call.results[0])[2:]
    sizes = [n if d in order else windows[d] for d, n in enumerate(call.shape(0)[2:])]
    is_float_maximum = issubclass(call.operator, MaxPoolOp) and is_float(call.element(0))
    step = TIMINGS.float_maximum if is_float_maximum else 1
    work = 0.0
    for dimension in order:
        sizes[dimension] = windows[dimension]
        work += prod(sizes) * (kernel[dimension] * step + TIMINGS.pool_pass)
    return work < prod(windows) * (prod(kernel) * step + TIMINGS.pool_pass)


def _window(call: Call, dimensions: set[int]) -> dict[str, Sequence[int]]:
    """Returns the properties of a window that has its extent in some dimensions alone."""
    kernel, pads, n = call.ints("kernel"), call.ints("pads"), len(call.ints("kernel"))
    return {
        "kernel": [kernel[d] if d in dimensions else 1 for d in range(n)],
        "strides": [call.ints("strides")[d] if d in dimensions else 1 for d in range(n)],
        "dilations": [call.ints("dilations")[d] if d in dimensions else 1 for d in range(n)],
        "pads": [pads[d] if d % n in dimensions else 0 for d in range(2 * n)],
    }


class SplitPoolingPass(ModulePass):
    """Computes large windows of pools along one dimension after the other, where that pays."""

    name = "glow-split-pooling"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES)
