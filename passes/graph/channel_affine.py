"""
Maps `x * factor + offset` with a factor and an offset for each channel (index of dimension 1): the
nodes that express them, and their composition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from ...glow_dialects.elements import is_float
from ...glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp, NegOp, SubOp
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.elementwise import Binary
from ...glow_dialects.glow.normalization import BatchNormOp
from ...glow_dialects.operator import element_of, shape_of
from ...semantics.arrays import constant_of
from .rewriting import is_constant, source_of

CHANNEL = 1


@dataclass(frozen=True)
class ChannelAffine:
    """`x * factor + offset`; both arrays are f64 of shape [C]."""

    factor: np.ndarray
    offset: np.ndarray

    @property
    def scales(self) -> bool:
        return bool((self.factor != 1).any())

    @property
    def moves(self) -> bool:
        return bool((self.offset != 0).any())

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.factor).all() and np.isfinite(self.offset).all())

    def then(self, after: ChannelAffine) -> ChannelAffine:
        """This map, and `after` on its result."""
        return ChannelAffine(self.factor * after.factor, self.offset * after.factor + after.offset)


@dataclass(frozen=True)
class Step:
    """A node that applies a map to `input`."""

    node: Node
    input: SSAValue
    map: ChannelAffine


def channels_of(value: SSAValue) -> int | None:
    """
    Returns the size of dimension 1 of a float tensor that has elements, None if it is no number.
    """
    shape = shape_of(value.type)
    if len(shape) < 2 or 0 in shape or not is_float(element_of(value.type)):
        return None
    return shape[CHANNEL] if isinstance(shape[CHANNEL], int) else None


def by_channel(value: SSAValue) -> np.ndarray | None:
    """
    Returns the number of each channel as f64 of shape [C], if `value` is a constant that is the
    same along all other dimensions: a splat, a broadcast, or a tensor with no other dimension.
    """
    channels, rank = channels_of(value), len(shape_of(value.type))
    if channels is None:
        return None
    source = source_of(value)
    shape = shape_of(source.type)
    aligned = (1,) * (rank - len(shape)) + shape
    only_channels = all(size == 1 for d, size in enumerate(aligned) if d != CHANNEL)
    if isinstance(source.owner, ConstantOp) and not only_channels:
        return None
    array = constant_of(source)
    if array is None:
        return None
    if not any(array.strides):
        return np.full(channels, array.flat[0], np.float64)
    return np.broadcast_to(array.reshape(-1).astype(np.float64), channels)


def _scaled(c: np.ndarray) -> ChannelAffine:
    return ChannelAffine(c, np.zeros_like(c))


def _moved(c: np.ndarray) -> ChannelAffine:
    return ChannelAffine(np.ones_like(c), c)


_RIGHT: Mapping[type[Node], Callable[[np.ndarray], ChannelAffine]] = {
    AddOp: _moved,
    SubOp: lambda c: _moved(-c),
    MulOp: _scaled,
    DivOp: lambda c: _scaled(1 / c),
}
"""The maps of nodes with a constant right operand on their left operand."""

_LEFT: Mapping[type[Node], Callable[[np.ndarray], ChannelAffine]] = {
    AddOp: _moved,
    SubOp: lambda c: ChannelAffine(-np.ones_like(c), c),
    MulOp: _scaled,
}
"""The maps of nodes with a constant left operand on their right operand."""


def step_of(node: Node) -> Step | None:
    """
    Returns `node` as a map of one operand, if its other operands are constants of the channels.
    """
    channels = channels_of(node.results[0])
    if channels is None:
        return None
    if isinstance(node, BatchNormOp):
        return _batch_norm_step(node)
    if isinstance(node, NegOp):
        return Step(node, node.input, _scaled(-np.ones(channels)))
    if type(node) in _RIGHT and isinstance(node, Binary):
        return _binary_step(node)
    return None


def _binary_step(node: Binary) -> Step | None:
    if is_constant(node.rhs) == is_constant(node.lhs):
        return None
    on_right = is_constant(node.rhs)
    make = (_RIGHT if on_right else _LEFT).get(type(node))
    numbers = by_channel(node.rhs if on_right else node.lhs)
    if make is None or numbers is None:
        return None
    return Step(node, node.lhs if on_right else node.rhs, make(numbers))


def _batch_norm_step(node: BatchNormOp) -> Step | None:
    parameters = [constant_of(p) for p in (node.scale, node.bias, node.mean, node.variance)]
    if any(p is None for p in parameters):
        return None
    scale, bias, mean, variance = (np.asarray(p, np.float64) for p in parameters)
    factor = scale / np.sqrt(variance + node.epsilon.value.data)
    return Step(node, node.input, ChannelAffine(factor, bias - mean * factor))
