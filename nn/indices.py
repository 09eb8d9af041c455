"""Inputs of a network that is built which have indices."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute

from ..glow_dialects.interface_attributes import RANGES, range_attribute
from .tensor import Tensor


def expect_indices(indices: Tensor, count: int, user: str) -> None:
    """
    Says in a graph that a tensor has indices of `count` things, of which negative ones count from
    the end, so that a call with another one is an InputError that names the `user`. Computed
    indices are not checked.
    """
    expect_ranges(indices, ArrayAttr([range_attribute([-count], [count - 1], user)]))


def expect_ranges(indices: Tensor, ranges: Attribute) -> None:
    """Adds `ranges` to those of an input of a graph. Other tensors are not checked."""
    about = indices.graph.about
    for name, tensor in indices.graph.inputs.items():
        if tensor.value is indices.value and isinstance(ranges, ArrayAttr):
            before = about.get(name, {}).get(RANGES)
            known = before.data if isinstance(before, ArrayAttr) else ()
            about[name] = {RANGES: ArrayAttr([*known, *ranges.data])}
