"""Indices as operators of ONNX take them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import ClipOp
from ....glow_dialects.glow.arithmetic import AddOp, MaximumOp, MinimumOp
from ....glow_dialects.glow.logic import CastOp, LessOp, SelectOp
from ....glow_dialects.glow.shape import BroadcastOp, ReshapeOp, TransposeOp
from ..builder import GraphBuilder, element, known_array
from ..checked_values import Indices
from ..node import OnnxNode


def whole_indices(node: OnnxNode, index: int) -> SSAValue:
    """Returns an input of indices as i64. Raises ModelError for other elements."""
    value = node.input(index)
    if element(value) not in (i32, i64):
        raise ModelError(f"expected indices of i32 or i64, found {value.type}")
    return node.build.cast(value, i64)


_ANYWHERE = ReshapeOp | TransposeOp | BroadcastOp
"""Nodes that leave each number as it is, but not where it is."""


def expect_range(
    node: OnnxNode,
    index: int,
    low: Sequence[int],
    high: Sequence[int],
    total: int | None = None,
    ascending: bool = False,
) -> None:
    """
    Says that an input has indices in a range: of all of them, or for each place along the last
    dimension; perhaps with a sum, or so that they do not decrease. Raises ModelError if it is
    constant and that is wrong. Otherwise each call checks it: before it runs, of inputs of the
    model that come here as they are, and behind it of indices that the network computes.
    """
    value = node.input(index)
    known = known_array(value)
    if known is not None:
        Indices(value, low, high, node.name, total, ascending).expect(known)
        return
    while isinstance(owner := value.owner, CastOp) or (
        len(low) == 1 and isinstance(owner, _ANYWHERE)
    ):
        from_outside = owner.parent is not node.build.block
        if from_outside or element(owner.operands[0]) not in (i32, i64):
            break
        value = owner.operands[0]
    node.build.indices.append(Indices(value, low, high, node.name, total, ascending))


def expect_along(node: OnnxNode, index: int, size: int) -> None:
    """Says that an input has indices into a dimension of a size; negative ones count back."""
    expect_range(node, index, [-size], [size - 1])


def counted_from_front(build: GraphBuilder, indices: SSAValue, size: int | SSAValue) -> SSAValue:
    """
    Returns indices into a dimension (or dimensions, as a value) of which negative ones count back.
    """
    ends = size if isinstance(size, SSAValue) else build.splat_like(int(size), indices)
    negative = build.op(LessOp, indices, build.splat_like(0, indices))
    return build.op(SelectOp, negative, build.op(AddOp, indices, ends), indices)


def limited(build: GraphBuilder, indices: SSAValue, size: int | SSAValue) -> SSAValue:
    """Returns the same, clamped to what the dimension has."""
    found = counted_from_front(build, indices, size)
    if not isinstance(size, SSAValue):
        return build.op(ClipOp, found, min=0, max=max(0, int(size) - 1))
    last = build.with_number(AddOp, size, -1)
    return build.op(MinimumOp, build.op(MaximumOp, found, build.splat_like(0, found)), last)
