"""Indices as operators of ONNX take them."""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import ClipOp
from ....glow_dialects.glow.arithmetic import AddOp, MaximumOp, MinimumOp
from ....glow_dialects.glow.logic import LessOp, SelectOp
from ..builder import GraphBuilder, element
from ..node import OnnxNode


def whole_indices(node: OnnxNode, index: int) -> SSAValue:
    """An input of indices as i64. Raises ModelError for other elements."""
    value = node.input(index)
    if element(value) not in (i32, i64):
        raise ModelError(f"expected indices of i32 or i64, found {value.type}")
    return node.build.cast(value, i64)


def counted_from_front(build: GraphBuilder, indices: SSAValue, size: int | SSAValue) -> SSAValue:
    """Indices into a dimension (or dimensions, as a value) of which negative ones count back."""
    ends = build.splat_like(size, indices) if isinstance(size, int) else size
    negative = build.op(LessOp, indices, build.splat_like(0, indices))
    return build.op(SelectOp, negative, build.op(AddOp, indices, ends), indices)


def limited(build: GraphBuilder, indices: SSAValue, size: int | SSAValue) -> SSAValue:
    """The same, clamped to what the dimension has."""
    found = counted_from_front(build, indices, size)
    if isinstance(size, int):
        return build.op(ClipOp, found, min=0, max=max(0, size - 1))
    last = build.with_number(AddOp, size, -1)
    return build.op(MinimumOp, build.op(MaximumOp, found, build.splat_like(0, found)), last)
