"""Broadcasts that meet, that repeat nothing, or that may as well come later."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....glow_dialects.elements import num_elements
from ....glow_dialects.glow import NODES
from ....glow_dialects.glow.base import DataParallel
from ....glow_dialects.glow.constant import SplatOp
from ....glow_dialects.glow.shape import BroadcastOp, ReshapeOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ..rewriting import Build, defining_op, ignores_places
from .reshapes import leading_ones
from .table import simplification

_ELEMENTWISE = [node for node in NODES if issubclass(node, DataParallel)]


@simplification(BroadcastOp)
def broadcast_repeats_nothing(node: BroadcastOp, build: Build) -> SSAValue | None:
    """Replaces a broadcast that only adds dimensions of size 1 by a reshape."""
    shape = shape_of(node.result.type)
    if num_elements(shape) != num_elements(shape_of(node.input.type)):
        return None
    return build.reshape(node.input, shape)


@simplification(BroadcastOp)
def broadcast_of_broadcast(node: BroadcastOp, build: Build) -> SSAValue | None:
    inner = defining_op(node.input, BroadcastOp)
    return None if inner is None else build.broadcast(inner.input, shape_of(node.result.type))


@simplification(BroadcastOp)
def broadcast_of_reshape(node: BroadcastOp, build: Build) -> SSAValue | None:
    """Returns a broadcast adds leading ones by itself."""
    inner = defining_op(node.input, ReshapeOp)
    if inner is None:
        return None
    if not leading_ones(shape_of(inner.input.type), shape_of(inner.result.type)):
        return None
    return build.broadcast(inner.input, shape_of(node.result.type))


@simplification(*_ELEMENTWISE)
def compute_before_broadcast(node: DataParallel, build: Build) -> SSAValue | None:
    """
    Computes on the tensors before a broadcast, if all operands repeat tensors of one shape, and
    repeat the result.
    """
    sources = {
        shape_of(operand.owner.input.type)
        for operand in node.operands
        if isinstance(operand.owner, BroadcastOp)
    }
    if len(sources) != 1 or not ignores_places(node):
        return None
    if any(not isinstance(operand.owner, BroadcastOp | SplatOp) for operand in node.operands):
        return None
    (shape,) = sources
    result = shape_of(node.results[0].type)
    if num_elements(shape) >= num_elements(result):
        return None
    operands = [_source(build, operand, shape) for operand in node.operands]
    return build.broadcast(build.like(node, *operands), result)


def _source(build: Build, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    if isinstance(value.owner, BroadcastOp):
        return value.owner.input
    assert isinstance(value.owner, SplatOp)
    narrow = with_shape(element_of(value.type), shape)
    return build(SplatOp, result_types=[narrow], value=value.owner.value)
