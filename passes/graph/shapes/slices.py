"""Rules for slices of joined tensors, and for gathers that are slices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ....glow_dialects.elements import num_elements
from ....glow_dialects.glow.constant import ConstantOp
from ....glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    PadOp,
    SliceOp,
)
from ....glow_dialects.operator import shape_of
from ....semantics.arrays import constant_of
from ..rewriting import Build, defining_op
from .table import simplification

_MOST_INDICES = 1 << 20
"""The largest number of indices that are looked at."""


def cut(
    build: Build,
    value: SSAValue,
    starts: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> SSAValue:
    return build(SliceOp, value, starts=starts, sizes=sizes, strides=strides)


def parts(node: SliceOp) -> tuple[list[int], list[int], list[int]]:
    """Starts, sizes and strides."""
    return (
        list(node.call.ints("starts")),
        list(node.call.ints("sizes")),
        list(node.call.ints("strides")),
    )


def reach(node: SliceOp, d: int) -> tuple[int, int]:
    """
    Returns the lowest and the highest index that a slice with elements takes in dimension `d`.
    """
    starts, sizes, strides = parts(node)
    last = starts[d] + (sizes[d] - 1) * strides[d]
    return min(starts[d], last), max(starts[d], last)


@simplification(SliceOp)
def slice_of_slice(node: SliceOp, build: Build) -> SSAValue | None:
    inner = defining_op(node.input, SliceOp)
    if inner is None or 0 in shape_of(node.result.type):
        return None
    first, _, step = parts(inner)
    starts, sizes, strides = parts(node)
    return cut(
        build,
        inner.input,
        [f + s * t for f, s, t in zip(first, starts, step, strict=True)],
        sizes,
        [s * t for s, t in zip(strides, step, strict=True)],
    )


@simplification(SliceOp)
def slice_of_concat(node: SliceOp, build: Build) -> SSAValue | None:
    """Returns a slice that lies in one of the joined tensors."""
    concat = defining_op(node.input, ConcatOp)
    if concat is None or 0 in shape_of(node.result.type):
        return None
    axis = concat.axis.value.data
    low, high = reach(node, axis)
    begin = 0
    for operand in concat.inputs:
        end = begin + shape_of(operand.type)[axis]
        if begin <= low and high < end:
            starts, sizes, strides = parts(node)
            starts[axis] -= begin
            return cut(build, operand, starts, sizes, strides)
        begin = end
    return None


@simplification(SliceOp)
def slice_of_pad(node: SliceOp, build: Build) -> SSAValue | None:
    """Returns a slice without padding in it."""
    pad = defining_op(node.input, PadOp)
    if pad is None or 0 in shape_of(node.result.type):
        return None
    low, shape = pad.call.ints("low"), shape_of(pad.input.type)
    for d, (before, size) in enumerate(zip(low, shape, strict=True)):
        first, last = reach(node, d)
        if first < before or last >= before + size:
            return None
    starts, sizes, strides = parts(node)
    inner = [s - before for s, before in zip(starts, low, strict=True)]
    return cut(build, pad.input, inner, sizes, strides)


@simplification(SliceOp)
def slice_of_broadcast(node: SliceOp, build: Build) -> SSAValue | None:
    """Returns the slice of the source, broadcast; along repeated dimensions nothing is sliced."""
    broadcast = defining_op(node.input, BroadcastOp)
    if broadcast is None or 0 in shape_of(node.result.type):
        return None
    source = shape_of(broadcast.input.type)
    added = len(shape_of(node.input.type)) - len(source)
    starts, sizes, strides = (p[added:] for p in parts(node))
    for d, size in enumerate(source):
        if size == 1:
            starts[d], sizes[d], strides[d] = 0, 1, 1
    sliced = cut(build, broadcast.input, starts, sizes, strides)
    return build.broadcast(sliced, shape_of(node.result.type))


@simplification(GatherOp)
def gather_in_steps(node: GatherOp, build: Build) -> SSAValue | None:
    """
    Replaces a gather with known indices at equal distances by a slice, which repeats if the
    distance is 0.
    """
    shape = shape_of(node.indices.type)
    is_known = isinstance(node.indices.owner, ConstantOp)
    if not is_known or not 0 < num_elements(shape) <= _MOST_INDICES:
        return None
    array = constant_of(node.indices)
    assert array is not None
    axis = node.axis.value.data
    data = shape_of(node.data.type)
    size = data[axis]
    numbers = array.reshape(-1).astype(np.int64)
    if ((numbers < -size) | (numbers >= size)).any():
        return None
    indices = numbers % size
    first, stride = int(indices[0]), int(indices[1] - indices[0]) if len(indices) > 1 else 1
    if (np.diff(indices) != stride).any():
        return None
    count = len(indices) if stride else 1
    starts, sizes, strides = [0] * len(data), list(data), [1] * len(data)
    starts[axis], sizes[axis], strides[axis] = first, count, stride or 1
    sliced, found = cut(build, node.data, starts, sizes, strides), shape_of(node.result.type)
    if stride:
        return build.reshape(sliced, found)
    one = [*data[:axis], *[1] * len(shape), *data[axis + 1 :]]
    return build.broadcast(build.reshape(sliced, one), found)
