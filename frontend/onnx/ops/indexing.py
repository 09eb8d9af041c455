"""Operators that pick elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.logic import SelectOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import element, known_array, rank, shape
from ..node import OnnxNode, converter, normal_axis
from .indices import expect_along


@converter("Slice")
def slice_by_attributes(node: OnnxNode) -> SSAValue:
    starts, ends = node.ints("starts") or [], node.ints("ends") or []
    return _slice(node, starts, ends, node.ints("axes"), None)


@converter("Slice", since=10)
def slice_by_inputs(node: OnnxNode) -> SSAValue:
    starts, ends = node.known_ints(1) or [], node.known_ints(2) or []
    return _slice(node, starts, ends, node.known_ints(3), node.known_ints(4))


def _slice(
    node: OnnxNode,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None,
    steps: Sequence[int] | None,
) -> SSAValue:
    """Bounds count from the end if negative and are then clamped."""
    x = node.input(0)
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise ModelError(
            f"expected starts, ends, axes and steps of one length without a step of 0, "
            f"found {starts}, {ends}, {axes}, {steps}"
        )
    first, sizes, strides = [0] * rank(x), list(shape(x)), [1] * rank(x)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        d = normal_axis(axis, rank(x))
        start, count = _picked(start, end, step, shape(x)[d])
        first[d], sizes[d] = (start, count) if count else (0, 0)
        strides[d] = step if step == 1 or count > 1 else 1
    return node.build.slice(x, first, sizes, strides)


def _picked(start: int, end: int, step: int, size: int) -> tuple[int, int]:
    """
    Returns the first index of a slice, and how many there are. Unlike Python, ONNX clamps the start
    of a backward slice to 0 and more.
    """
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    if step > 0:
        start, end = min(max(start, 0), size), min(max(end, 0), size)
    else:
        start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    return start, max(0, -(-abs(end - start) // abs(step)) if (end > start) == (step > 0) else 0)


@converter("Gather")
def gather(node: OnnxNode) -> SSAValue:
    build, data, indices = node.build, node.input(0), node.input(1)
    if element(indices) not in (i32, i64):
        raise ModelError(f"expected indices of i32 or i64, found {indices.type}")
    axis = node.axis(rank(data))
    known, limit = known_array(indices), shape(data)[axis]
    expect_along(node, 1, limit)
    if known is None or known.size != 1:
        return build.op(GatherOp, data, indices, axis=axis)
    # one index is a slice, which needs no instruction
    starts = [int(known.reshape(-1)[0]) % limit if i == axis else 0 for i in range(rank(data))]
    sizes = [1 if i == axis else d for i, d in enumerate(shape(data))]
    one = build.slice(data, starts, sizes)
    return build.reshape(one, [*shape(data)[:axis], *known.shape, *shape(data)[axis + 1 :]])


@converter("Trilu")
def triangle(node: OnnxNode) -> SSAValue:
    """Returns the upper or lower triangle of the last two dimensions, zeros elsewhere."""
    build, x = node.build, node.input(0)
    if rank(x) < 2:
        raise ModelError(f"expected matrices, found {x.type}")
    k = node.known_number(1) or 0
    ones = np.ones(shape(x)[-2:], np.bool_)
    mask = build.constant(np.triu(ones, k) if node.attr("upper") else np.tril(ones, k))
    assert element(mask) == i1
    kept = build.broadcast(mask, shape(x))
    return build.op(SelectOp, kept, x, build.splat_like(0, x))
