"""
Values of which data decides how much is used, such as the boxes that a detector finds.

Such a value has a dimension of the largest possible size, and a count beside it. What is computed
for each place along this dimension by itself is such a value, too. Everything else needs the size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Block, Operation, SSAValue

from ...glow_dialects.elements import row_major_strides
from ...glow_dialects.formula.facts import divided_dimension
from ...glow_dialects.glow.arithmetic import DivOp, RemOp
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.constant import SplatOp
from ...glow_dialects.glow.reduction import ReduceSumOp
from ...glow_dialects.glow.selection import NonzeroPlacesOp
from ...glow_dialects.glow.shape import BroadcastOp, ConcatOp, ReshapeOp
from ...glow_dialects.glow.structured import Structured
from .builder import GraphBuilder, known_array, rank, shape
from .checked_values import Counted
from .problems import SizeNeeded


def chosen_places(build: GraphBuilder, mask: SSAValue) -> SSAValue:
    """
    Returns the places (i64) of the true elements of a vector i1, in ascending order. Data decides
    how many these are.
    """
    assert mask.type.element_type == i1  # pyright: ignore[reportAttributeAccessIssue]
    if shape(mask) == (1,):
        # a counted dimension of size 1 could not be told from others of size 1 after a reshape
        mask = build.concat([mask, build.splat(False, i1, [1])], 0)
    places = build.op(NonzeroPlacesOp, mask)
    if known_array(places) is not None:
        mask_array = known_array(mask)
        assert mask_array is not None
        return build.constant(np.flatnonzero(mask_array))
    count = build.op(ReduceSumOp, build.cast(mask, i32), axes=[0], keep_dims=False)
    build.counted[places] = Counted(0, count)
    return places


def coordinates(build: GraphBuilder, places: SSAValue, sizes: Sequence[int]) -> list[SSAValue]:
    """Returns the index along each dimension of places in row-major order."""
    found: list[SSAValue] = []
    for stride, length in zip(row_major_strides(sizes), sizes, strict=True):
        index = build.with_number(DivOp, places, stride) if stride > 1 else places
        found.append(build.with_number(RemOp, index, max(1, length)) if found else index)
    return found


def note_counted(build: GraphBuilder, before: Operation | None) -> None:
    """
    Notes which results of the nodes behind `before` are counted because operands are. Raises
    SizeNeeded if a node needs the size of a counted dimension.
    """
    if not build.counted:
        return
    for node in _behind(build.block, before):
        found = [build.counted[v] for v in node.operands if v in build.counted]
        (result,) = node.results
        if not found or result in build.counted:
            continue
        if len({each.count for each in found}) > 1:
            raise SizeNeeded()
        axis = _counted_axis(build, node)
        if axis is None:
            raise SizeNeeded()
        build.counted[result] = Counted(axis, found[0].count)


def _behind(block: Block, before: Operation | None) -> Iterator[Node]:
    op = block.first_op if before is None else before.next_op
    while op is not None:
        if isinstance(op, Node):
            yield op
        op = op.next_op


def _counted_axis(build: GraphBuilder, node: Node) -> int | None:
    """
    Returns the dimension of a node's result for each place of which it needs the same place of the
    counted dimensions alone; None if there is none.
    """
    axes = {i: build.counted[v].axis for i, v in enumerate(node.operands) if v in build.counted}
    match node:
        case ReshapeOp():
            return _reshaped(shape(node.input), shape(node.result), axes[0])
        case ConcatOp() | DataParallel():
            (axis, *others) = set(axes.values())
            rest = [v for i, v in enumerate(node.operands) if i not in axes]
            if others or not all(_is_same_along(v, axis) for v in rest):
                return None
            joins = isinstance(node, ConcatOp) and node.call.int("axis") == axis
            return None if joins else axis
        case Structured():
            return divided_dimension(node.statement(node.call), axes)
        case _:
            return None


def _reshaped(source: Sequence[int], target: Sequence[int], axis: int) -> int | None:
    """Returns the dimension that has the same elements at each place as one before a reshape."""
    for d, size in enumerate(target):
        if size == source[axis] and prod(target[:d]) == prod(source[:axis]):
            return d
    return None


def _is_same_along(value: SSAValue, axis: int) -> bool:
    """Returns whether a value is the same at all places of a dimension, however many there are."""
    owner = value.owner
    if isinstance(owner, SplatOp):
        return True
    if isinstance(owner, BroadcastOp):
        source = shape(owner.input)
        place = axis - (rank(value) - len(source))
        return place < 0 or source[place] == 1 or _is_same_along(owner.input, place)
    known = known_array(value)
    if known is None:
        return False
    first = known[(*(slice(None),) * axis, slice(1))]
    return bool((known == first).all())
