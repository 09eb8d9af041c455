"""The memory of kernels as buffers of one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, SSAValue

from ..elements import offset_of, strides_of
from .affine import Buffer


def reach(shape: Sequence[int], strides: Sequence[int], offset: int) -> tuple[int, int]:
    """
    Returns the first element of a strided array, and one more than the last, from its pointer.
    """
    steps = [(d - 1) * s for d, s in zip(shape, strides, strict=True) if d]
    low = offset + sum(min(0, s) for s in steps)
    return low, offset + sum(max(0, s) for s in steps) + 1


def buffer_for(value: SSAValue) -> Buffer:
    """Returns a buffer for an argument of a kernel or for scratch."""
    assert isinstance(value.type, MemRefType)
    t = value.type
    if isinstance(value, BlockArgument):
        bounds = reach(t.get_shape(), strides_of(t), offset_of(t))
        return Buffer(t.element_type, *bounds, parameter=value.index)
    return Buffer(t.element_type, 0, prod(t.get_shape()))
