"""Operators that replace elements which indices name, as updates of the rows of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.elements import row_major_strides
from ....glow_dialects.glow.arithmetic import AddOp, MulOp, RemOp
from ....glow_dialects.glow.indexing import REDUCTIONS, ScatterOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ..builder import GraphBuilder, element, rank, shape, size
from ..node import OnnxNode, converter, normal_axis
from .indices import expect_along, expect_range, limited, whole_indices


def _scattered(
    node: OnnxNode, rows: int, places: SSAValue, updates: SSAValue, reduction: str
) -> SSAValue:
    """Returns the first input as `rows` rows, of which `places` names those that are updated."""
    build, data = node.build, node.input(0)
    if not size(updates) or not size(data):
        return data
    if element(updates) != element(data):
        raise ModelError(f"expected updates with elements {element(data)}, found {updates.type}")
    if reduction not in REDUCTIONS:
        raise ModelError(f"expected a reduction among {REDUCTIONS}, found {reduction!r}")
    width, count = size(data) // rows, size(places)
    flat = [build.reshape(data, [rows, width]), build.reshape(places, [count])]
    flat.append(build.reshape(updates, [count, width]))
    return build.reshape(build.op(ScatterOp, *flat, reduction=reduction), shape(data))


def _constant(build: GraphBuilder, numbers: Sequence[int], like: SSAValue) -> SSAValue:
    """Returns whole numbers as indices, broadcast to the shape of others."""
    return build.broadcast(build.sizes(numbers, [len(numbers)]), shape(like))


@converter("ScatterElements", "Scatter")
def scatter_elements(node: OnnxNode) -> SSAValue:
    """
    Converts updates that are rows of one element, whose place follows from its own place and an
    index.
    """
    build, data, indices = node.build, node.input(0), whole_indices(node, 1)
    axis = node.axis(rank(data), default=0)
    inner, outer = shape(indices), shape(data)
    fits = all(i <= d for a, (i, d) in enumerate(zip(inner, outer, strict=False)) if a != axis)
    if len(inner) != len(outer) or shape(node.input(2)) != inner or not fits:
        raise ModelError(
            f"expected indices and updates of one shape within {data.type} except along axis "
            f"{axis}, found {indices.type} and {node.input(2).type}"
        )
    expect_along(node, 1, outer[axis])
    strides = row_major_strides(outer)
    before = np.zeros(inner, np.int64)
    for d, places in enumerate(np.indices(inner, sparse=True)):
        before += 0 if d == axis else places * strides[d]
    along = build.with_number(MulOp, limited(build, indices, outer[axis]), strides[axis])
    places = build.op(AddOp, along, build.constant(before))
    return _scattered(node, size(data), places, node.input(2), node.attr("reduction", "none"))


@converter("ScatterND")
def scatter_nd(node: OnnxNode) -> SSAValue:
    build, data, indices = node.build, node.input(0), whole_indices(node, 1)
    outer, depth = shape(data), shape(indices)[-1]
    if depth > rank(data) or shape(node.input(2)) != (*shape(indices)[:-1], *outer[depth:]):
        raise ModelError(
            f"expected as updates a part of {data.type} for each index, "
            f"found {node.input(2).type} for {indices.type}"
        )
    expect_range(node, 1, [-size for size in outer[:depth]], [size - 1 for size in outer[:depth]])
    places = row_numbers(build, indices, outer[:depth])
    reduction = node.attr("reduction", "none")
    return _scattered(node, prod(outer[:depth]), places, node.input(2), reduction)


def row_numbers(build: GraphBuilder, indices: SSAValue, sizes: tuple[int, ...]) -> SSAValue:
    """
    Returns the number of each row, whose indices in dimensions of some sizes stand beside each
    other.
    """
    ends = _constant(build, sizes, indices)
    strides = _constant(build, row_major_strides(sizes), indices)
    steps = build.op(MulOp, limited(build, indices, ends), strides)
    return build.op(ReduceSumOp, steps, axes=[rank(indices) - 1], keep_dims=False)


@converter("TensorScatter")
def tensor_scatter(node: OnnxNode) -> SSAValue:
    """
    Converts a TensorScatter: each image of a batch gets its update from an index on, which may go
    around the end.
    """
    build, cache, update = node.build, node.input(0), node.input(1)
    axis = normal_axis(node.attr("axis"), rank(cache))
    batch, length, rows = shape(cache)[0], shape(cache)[axis], prod(shape(cache)[: axis + 1])
    target = shape(update)[: axis + 1]
    places = np.arange(target[-1]).reshape([1] * axis + [target[-1]])
    first = build.splat(0, i64, [batch])
    if node.optional(2) is not None:
        first = whole_indices(node, 2)
        if shape(first) != (batch,):
            raise ModelError(f"expected an index for each of {batch} images, found {first.type}")
        last = length - 1 if node.attr("mode") == "circular" else length - target[-1]
        expect_range(node, 2, [0], [last])
    start = build.broadcast(build.reshape(first, [batch] + [1] * axis), target)
    along = build.op(AddOp, start, build.broadcast(build.constant(places), target))
    if node.attr("mode") == "circular":
        along = build.with_number(RemOp, along, length)
    strides = row_major_strides(shape(cache)[: axis + 1])
    before = np.zeros(target, np.int64)
    for d, numbers in enumerate(np.indices(target, sparse=True)):
        before += 0 if d == axis else numbers * strides[d]
    places = build.op(AddOp, limited(build, along, length), build.constant(before))
    return _scattered(node, rows, places, update, "none")
