"""Operators that work on each element, or on each channel, of blocked tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....glow_dialects.glow import NODES
from ....glow_dialects.glow.base import DataParallel
from ....glow_dialects.glow.reduction import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceSumOp,
    Reduction,
)
from ....glow_dialects.glow.shape import BroadcastOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ....semantics.arrays import numpy_dtype
from ....semantics.registry import evaluate
from .state import Blocked, Layouts, rule


def fill_of(node: DataParallel, operands: Sequence[Blocked]) -> float | None:
    """
    Returns the result of a node in lanes without a channel; None if it is unknown or not finite.
    """
    call = type(node).on_elements(node.call)
    arrays: list[np.ndarray] = []
    for blocked, element in zip(operands, call.operands, strict=True):
        if blocked.fill is None:
            return None
        arrays.append(np.full(1, blocked.fill).astype(numpy_dtype(element)))
    (result,) = evaluate(call, arrays)
    value = float(result[0])
    return value if np.isfinite(value) else None


@rule(*[node for node in NODES if issubclass(node, DataParallel)])
def data_parallel(layouts: Layouts, node: DataParallel) -> Blocked | None:
    """
    Returns a data-parallel node computes in the layout of its blocked operands; the other operands
    take that layout. Lanes of no channel must stay finite: a filter multiplies them by zero.
    """
    shape = shape_of(node.results[0].type)
    if len(shape) < 3 or not layouts.prefers_blocks(node.operands, node.results[0]):
        return None
    block = layouts.common_block(node.operands)
    if block is None:
        return None
    is_full = shape[1] % block == 0
    operands = [layouts.packed(v, block) for v in node.operands]
    fill = 0.0 if is_full else fill_of(node, operands)
    if fill is None:
        return None
    values = [o.value for o in operands]
    element = element_of(node.results[0].type)
    result = with_shape(element, shape_of(values[0].type))
    y = layouts.add(type(node), *values, result_types=[result], **node.properties)
    return Blocked(y, shape[1], fill)


@rule(BroadcastOp)
def broadcast(layouts: Layouts, node: BroadcastOp) -> Blocked | None:
    """Broadcasts along the spatial dimensions of a blocked tensor."""
    x = layouts.blocked(node.input)
    shape, source = shape_of(node.result.type), shape_of(node.input.type)
    if x is None or len(source) != len(shape) or source[1] != shape[1]:
        return None
    repeated = [shape[0], shape_of(x.value.type)[1], *shape[2:], x.block]
    result = with_shape(element_of(node.result.type), repeated)
    return Blocked(layouts.add(BroadcastOp, x.value, result_types=[result]), x.channels, x.fill)


@rule(ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp)
def reduction(layouts: Layouts, node: Reduction) -> Blocked | None:
    """Returns a reduction over spatial dimensions, which have the same numbers in both layouts."""
    x = layouts.blocked(node.input)
    axes = node.axes.get_values()
    if x is None or not axes or axes[0] < 2 or (not x.is_full and x.fill != 0):
        return None
    y = layouts.add(type(node), x.value, axes=list(axes), keep_dims=node.keep_dims)
    return Blocked(y, x.channels)
