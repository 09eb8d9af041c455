"""Reshapes that meet, cancel, or only drop the dimensions that a reduction kept."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....glow_dialects.glow.base import DataParallel
from ....glow_dialects.glow.constant import SplatOp
from ....glow_dialects.glow.reduction import Reduction
from ....glow_dialects.glow.shape import (
    BroadcastOp,
    GatherOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ....glow_dialects.operator import shape_of
from ..rewriting import Build, defining_op, ignores_places
from .table import simplification

LONGEST_CHAIN = 16
"""The largest distance of two reshapes that cancel."""


@simplification(ReshapeOp, BroadcastOp, SliceOp, TransposeOp, GatherOp)
def move_splat(
    node: ReshapeOp | BroadcastOp | SliceOp | TransposeOp | GatherOp, build: Build
) -> SSAValue | None:
    """Returns elements that are all equal may move as they like."""
    splat = defining_op(node.operands[0], SplatOp)
    if splat is None:
        return None
    return build(SplatOp, result_types=[node.result.type], value=splat.value)


@simplification(ReshapeOp)
def reshape_of_reshape(node: ReshapeOp, build: Build) -> SSAValue | None:
    inner = defining_op(node.input, ReshapeOp)
    return None if inner is None else build.reshape(inner.input, shape_of(node.result.type))


@simplification(ReshapeOp)
def reshape_around_unary(node: ReshapeOp, build: Build) -> SSAValue | None:
    """Returns a reshape, nodes on each element of one operand, and the reshape back."""
    chain: list[DataParallel] = []
    value = node.input
    while ignores_places(link := value.owner) and len(link.operands) == 1:
        if not value.has_one_use() or len(chain) == LONGEST_CHAIN:
            return None
        chain.append(link)
        value = link.operands[0]
    first = defining_op(value, ReshapeOp)
    if not chain or first is None:
        return None
    if shape_of(first.input.type) != shape_of(node.result.type):
        return None
    value = first.input
    for link in reversed(chain):
        value = build.like(link, value)
    return value


@simplification(ReshapeOp)
def reshape_of_reduction(node: ReshapeOp, build: Build) -> SSAValue | None:
    """Returns a reduction that keeps its dimensions, or not, as the reshape wants them."""
    reduction = node.input.owner
    if not isinstance(reduction, Reduction) or not node.input.has_one_use():
        return None
    keep = not reduction.keep_dims.value.data
    flipped = build(type(reduction), reduction.input, axes=reduction.axes, keep_dims=keep)
    return flipped if flipped.type == node.result.type else None


def leading_ones(shape: tuple[int, ...], longer: tuple[int, ...]) -> bool:
    """Returns whether `longer` is `shape` with nothing but ones before it."""
    added = len(longer) - len(shape)
    return added >= 0 and longer[added:] == shape and all(d == 1 for d in longer[:added])
