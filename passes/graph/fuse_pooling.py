"""
Lets Winograd convolutions write the maxima of max pooling.

Tiles of 4 x 4 or 2 x 2 outputs hold whole windows of 2 x 2 (or 4 x 4) with that stride, so the
pooling after a convolution becomes part of it, and the large result never goes to memory. A
rectifier or a clip between them moves after the pooling, because it keeps the order of numbers.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.glow.activation import ClipOp, ReluOp
from ...glow_dialects.glow_cpu.blocked import BlockedMaxPoolOp
from ...glow_dialects.glow_cpu.winograd import WinogradConvolutionOp, may_pool
from ...glow_dialects.operator import shape_of
from ..levels import GRAPH
from .rewriting import Build, RuleTable, apply_rules

_KEEP_ORDER = (ReluOp, ClipOp)
"""Elementwise nodes of one operand whose result does not fall where the operand grows."""
_RULES = RuleTable()


@_RULES.rule(BlockedMaxPoolOp)
def pool_of_convolution(node: BlockedMaxPoolOp, build: Build) -> SSAValue | None:
    """Returns `max_pool(relu(convolution))` as `relu(pooled convolution)`."""
    value, between = node.input, []
    while value.has_one_use() and isinstance(value.owner, _KEEP_ORDER):
        between.append(value.owner)
        value = value.owner.input
    convolution = value.owner
    if not isinstance(convolution, WinogradConvolutionOp) or not value.has_one_use():
        return None
    pool = _window(node)
    if pool is None or convolution.pool.value.data > 1 or not may_pool(pool, convolution.call):
        return None
    if [n // pool for n in shape_of(value.type)[2:4]] != list(shape_of(node.result.type)[2:4]):
        return None
    result = build.like(convolution, *convolution.operands, pool=pool)
    for step in reversed(between):
        result = build.like(step, result)
    return result


def _window(node: BlockedMaxPoolOp) -> int | None:
    """Returns the size of square windows in a plane that lie side by side; None for others."""
    size = node.call.ints("kernel")[0]
    n = len(shape_of(node.input.type)) - 3
    wanted = ((size,) * n, (size,) * n, (1,) * n, (0,) * (2 * n))
    found = tuple(node.call.ints(name) for name in ("kernel", "strides", "dilations", "pads"))
    return size if n == 2 and wanted == found else None


class FusePoolingPass(ModulePass):
    """Lets Winograd convolutions write the maxima of max pooling."""

    name = "glow-fuse-pooling"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES)
