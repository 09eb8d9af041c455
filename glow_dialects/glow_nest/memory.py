"""The memory of kernels as buffers of one dimension."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, SSAValue

from ..elements import offset_of, strides_of
from .affine import Buffer


def reach(t: MemRefType) -> tuple[int, int]:
    """The first element of a memref, and one more than the last, from its pointer."""
    pairs = zip(t.get_shape(), strides_of(t), strict=True)
    steps = [(d - 1) * s for d, s in pairs if d]
    low = offset_of(t) + sum(min(0, s) for s in steps)
    return low, offset_of(t) + sum(max(0, s) for s in steps) + 1


def buffer_for(value: SSAValue) -> Buffer:
    """A buffer that stands for an argument of a kernel or for scratch."""
    assert isinstance(value.type, MemRefType)
    element = value.type.element_type
    if isinstance(value, BlockArgument):
        return Buffer(element, *reach(value.type), parameter=value.index)
    return Buffer(element, 0, prod(value.type.get_shape()))
