"""Inputs of a network that is built which have indices."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr

from ..glow_dialects.interface_attributes import RANGES
from ..glow_dialects.operator import to_attribute
from .tensor import Tensor


def expect_indices(indices: Tensor, count: int, user: str) -> None:
    """
    Says in a graph that a tensor has indices of `count` things, of which negative ones count from
    the end, so that a call with another one is an InputError that names the `user`. Computed
    indices are not checked.
    """
    about = indices.graph.about
    for name, tensor in indices.graph.inputs.items():
        if tensor.value is indices.value:
            before = about.get(name, {}).get(RANGES)
            known = before.data if isinstance(before, ArrayAttr) else ()
            bounds = {"low": to_attribute((-count,)), "high": to_attribute((count - 1,))}
            one = DictionaryAttr({**bounds, "user": StringAttr(user)})
            about[name] = {RANGES: ArrayAttr([*known, one])}
