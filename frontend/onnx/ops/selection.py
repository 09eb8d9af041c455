"""Operators that pick elements which indices or conditions name."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp, SubOp
from ....glow_dialects.glow.indexing import GatherElementsOp
from ....glow_dialects.glow.logic import EqualOp, LessOp, NotOp, SelectOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import element, rank, shape, size
from ..counted import chosen_places, coordinates
from ..node import OnnxNode, converter, normal_axis
from .indices import counted_from_front, expect_along, expect_range, whole_indices
from .scatter import row_numbers


@converter("GatherElements")
def gather_elements(node: OnnxNode) -> SSAValue:
    build, data, indices = node.build, node.input(0), node.input(1)
    axis, target = node.axis(rank(data)), shape(indices)
    if len(target) != rank(data):
        raise ModelError(f"expected indices of rank {rank(data)}, found {indices.type}")
    expect_along(node, 1, shape(data)[axis])
    # rows behind the last one of the indices are not looked at
    sizes = [d if a == axis else target[a] for a, d in enumerate(shape(data))]
    rows = build.slice(data, [0] * rank(data), sizes)
    return build.op(GatherElementsOp, rows, indices, axis=axis)


@converter("GatherND")
def gather_nd(node: OnnxNode) -> SSAValue:
    """Returns a gather of rows, whose numbers follow from their indices."""
    build, data, indices = node.build, node.input(0), whole_indices(node, 1)
    batch, depth = node.attr("batch_dims", 0), shape(indices)[-1]
    outer = shape(data)
    if batch + depth > rank(data) or shape(indices)[:batch] != outer[:batch]:
        raise ModelError(f"expected indices that fit {data.type}, found {indices.type}")
    sizes = outer[batch : batch + depth]
    expect_range(node, 1, [-size for size in sizes], [size - 1 for size in sizes])
    places = row_numbers(build, indices, sizes)
    if batch:
        count = int(np.prod(outer[:batch]))
        first = np.arange(count).reshape(outer[:batch] + (1,) * (rank(places) - batch))
        first *= int(np.prod(sizes))
        begin = build.broadcast(build.constant(first), shape(places))
        places = build.op(AddOp, places, begin)
    rest = outer[batch + depth :]
    rows = build.reshape(data, [prod(outer[: batch + depth]), *rest])
    return build.op(GatherOp, rows, places, axis=0)


@converter("OneHot")
def one_hot(node: OnnxNode) -> SSAValue:
    """Returns `on` where the number of a place is the index, `off` elsewhere."""
    build, values = node.build, node.input(2)
    depth = int(node.known_number(1))
    if shape(values) != (2,):
        raise ModelError(f"expected two values, off and on, found {values.type}")
    indices = build.cast(node.input(0), i64)
    axis = normal_axis(node.attr("axis"), rank(indices) + 1)
    target = [*shape(indices)[:axis], depth, *shape(indices)[axis:]]
    there = [1 if d == axis else s for d, s in enumerate(target)]
    wanted = build.reshape(counted_from_front(build, indices, depth), there)
    places = np.arange(depth).reshape([depth if d == axis else 1 for d in range(len(target))])
    hot = build.elementwise(EqualOp, wanted, build.constant(places))
    off, on = (build.reshape(build.slice(values, [i], [1]), [1] * len(target)) for i in (0, 1))
    return build.op(SelectOp, hot, build.broadcast(on, target), build.broadcast(off, target))


@converter("Compress")
def compress(node: OnnxNode) -> SSAValue:
    """Returns the slices whose condition is true."""
    build, data = node.build, node.input(0)
    if node.has("axis"):
        axis = node.axis(rank(data))
    else:
        axis, data = 0, build.reshape(data, [size(data)])
    condition = node.input(1)
    if rank(condition) != 1 or size(condition) > shape(data)[axis]:
        raise ModelError(f"expected conditions for {data.type}, found {condition.type}")
    return build.op(GatherOp, data, chosen_places(build, condition), axis=axis)


@converter("NonZero")
def nonzero(node: OnnxNode) -> SSAValue:
    """Returns the indices of the elements that are not zero, a row for each dimension."""
    build, x = node.build, node.input(0)
    flat = build.reshape(x, [size(x)])
    mask = flat if element(x) == i1 else build.chain(build.with_number(EqualOp, flat, 0), NotOp)
    places = chosen_places(build, mask)
    rows = coordinates(build, places, shape(x) or (1,))
    return build.concat([build.reshape(row, [1, *shape(row)]) for row in rows], 0)


@converter("ReverseSequence")
def reverse_sequence(node: OnnxNode) -> SSAValue:
    """Returns the first elements of each sequence, as many as its length says, in reverse order."""
    build, x, lengths = node.build, node.input(0), whole_indices(node, 1)
    time, batch = node.axis(rank(x), "time_axis"), node.axis(rank(x), "batch_axis")
    if {time, batch} != {0, 1} or shape(lengths) != (shape(x)[batch],):
        raise ModelError(f"expected a length for each sequence of {x.type}, found {lengths.type}")
    steps, target = shape(x)[time], shape(x)[:2]
    expect_range(node, 1, [0], [steps])
    places = build.constant(np.arange(steps).reshape([-1, 1] if time == 0 else [1, -1]))
    step = build.broadcast(places, target)
    length = build.reshape(lengths, _beside(time, shape(x)[batch]))
    ends = build.broadcast(length, target)
    last = build.with_number(AddOp, ends, -1)
    reversed_step = build.op(SubOp, last, step)
    indices = build.op(SelectOp, build.op(LessOp, step, ends), reversed_step, step)
    spread = build.reshape(indices, [*target, *[1] * (rank(x) - 2)])
    return build.op(GatherElementsOp, x, build.broadcast(spread, shape(x)), axis=time)


def _beside(time: int, count: int) -> list[int]:
    """Returns the shape of a number for each sequence, beside the dimension of time."""
    return [1, count] if time == 0 else [count, 1]
