"""
Merges branches: a sum of convolutions of the same input is one convolution, whose filter is the sum
of theirs, in a window that covers all.

Networks are trained with several branches and run with one (Ding et al., RepVGG: Making VGG-style
ConvNets Great Again, 2021); exporters often leave the branches. A branch that only scales and
shifts the channels of the input, such as a batch normalisation, is part of the filter as well.
Filters are added in f64 and rounded once, when their bytes are needed.

A window that covers all has to have no more elements than theirs together: 3 x 3 covers 1 x 1, 3 x
1 and 1 x 3, but 7 x 7 is more than 7 x 1 and 1 x 7.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd, prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.glow.arithmetic import AddOp
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.operator import element_of, shape_of
from ...semantics.arrays import constant_of, constant_reader, lazy_constant, numpy_dtype
from ..levels import GRAPH
from .channel_affine import ChannelAffine, step_of
from .rewriting import (
    Build,
    check_type,
    erase_if_dead,
    has_symbols,
    replace_node,
    tensor_nodes,
)

Window = tuple[range, ...]
"""
The elements of an image that a filter meets along each dimension, counted from the first one of
each stride.
"""


@dataclass(frozen=True)
class _Branch:
    """A convolution with constant weights."""

    node: ConvolutionOp
    read: Callable[[], np.ndarray]
    bias: np.ndarray
    window: Window

    @staticmethod
    def of(value: SSAValue) -> _Branch | None:
        """Returns the convolution of floats that makes a value, of which that is the only use."""
        node = value.owner
        if not isinstance(node, ConvolutionOp) or not value.has_one_use() or has_symbols(node):
            return None
        read, bias = constant_reader(node.filter), constant_of(node.bias)
        is_plain = element_of(value.type) in (f32, f64)
        if not is_plain or read is None or bias is None or 0 in shape_of(value.type):
            return None
        call = node.call
        sizes, dilations, pads = call.shape(1)[2:], call.ints("dilations"), call.ints("pads")
        steps = [d if size > 1 else 1 for size, d in zip(sizes, dilations, strict=True)]
        window = tuple(
            range(-low, size * step - low, step)
            for size, step, low in zip(sizes, steps, pads, strict=False)
        )
        return _Branch(node, read, bias, window)

    @property
    def kind(self) -> Hashable:
        """A key that convolutions have in common if they may be one."""
        node = self.node
        return node.input, node.call.ints("strides"), node.group.value.data, node.result.type


class _Sum:
    """The terms of a sum, and the convolutions among them."""

    def __init__(self, root: AddOp):
        self.terms = list(_terms(root))
        self.kinds: dict[Hashable, list[_Branch]] = {}
        for value in self.terms:
            if branch := _Branch.of(value):
                self.kinds.setdefault(branch.kind, []).append(branch)

    def merged(self, build: Build) -> SSAValue | None:
        """Returns the sum with fewer terms; None if there is nothing to merge."""
        merged: list[SSAValue] = []
        for branches in self.kinds.values():
            together, window = _together(branches)
            scaled = self._scaled_inputs(together[0])
            gone = [*(branch.node.result for branch in together), *scaled]
            # a sum of one convolution and its input costs next to nothing, and is exact
            if len(gone) < 2 or (pads := _pads(together[0].node, window)) is None:
                continue
            maps = list(scaled.values())
            if _is_elementwise(together[0]):
                inputs = [term for term in self.terms if term is together[0].node.input]
                maps += map(_identity, inputs)
                gone += inputs
            merged.append(_one(together, maps, window, pads, build))
            self.terms = [term for term in self.terms if term not in gone]
        if not merged:
            return None
        return build.sum([*merged, *self.terms])

    def _scaled_inputs(self, branch: _Branch) -> dict[SSAValue, ChannelAffine]:
        """Returns the terms that scale and shift the channels of the input of a branch."""
        if not _is_elementwise(branch):
            return {}
        steps = [
            step
            for value in self.terms
            if isinstance(value.owner, Node) and value.has_one_use()
            if (step := step_of(value.owner)) is not None
        ]
        return {
            step.node.results[0]: step.map
            for step in steps
            if step.input is branch.node.input and step.map.is_finite
        }


def _terms(root: AddOp) -> Iterator[SSAValue]:
    """Yields the terms of a sum, from left to right."""
    pending = [root.rhs, root.lhs]
    while pending:
        value = pending.pop()
        node = value.owner
        if isinstance(node, AddOp) and value.has_one_use():
            pending += [node.rhs, node.lhs]
        else:
            yield value


def _is_elementwise(branch: _Branch) -> bool:
    """Returns whether each element of the input meets that of the result at its place."""
    node = branch.node
    same = node.input.type == node.result.type and set(node.call.ints("strides")) == {1}
    return same and all(0 in along for along in branch.window)


def _identity(value: SSAValue) -> ChannelAffine:
    channels = shape_of(value.type)[1]
    return ChannelAffine(np.ones(channels), np.zeros(channels))


def _together(branches: Sequence[_Branch]) -> tuple[list[_Branch], Window]:
    """
    Returns branches that are no more work in one window, from the largest one on, and that window.
    """
    largest, *others = sorted(branches, key=lambda branch: -_elements(branch.window))
    chosen, window = [largest], largest.window
    for branch in others:
        covering = tuple(map(_cover, window, branch.window))
        if _elements(covering) <= _elements(window) + _elements(branch.window):
            chosen.append(branch)
            window = covering
    return chosen, window


def _elements(window: Window) -> int:
    return prod(map(len, window))


def _cover(a: range, b: range) -> range:
    """Returns the shortest range that has all elements of both."""
    steps = [r.step for r in (a, b) if len(r) > 1]
    step = gcd(a[0] - b[0], *steps) or 1
    return range(min(a[0], b[0]), max(a[-1], b[-1]) + 1, step)


def _pads(node: ConvolutionOp, window: Window) -> Sequence[int] | None:
    """
    Returns the padding that a window needs for the results of a convolution; None if there would be
    more of them.
    """
    sizes, counts = shape_of(node.input.type)[2:], shape_of(node.result.type)[2:]
    high: list[int] = []
    for along, stride, size, count in zip(
        window, node.call.ints("strides"), sizes, counts, strict=True
    ):
        high.append(max(0, (count - 1) * stride + along[-1] - (size - 1)))
        if (size + high[-1] - 1 - along[-1]) // stride + 1 != count:
            return None
    return [*(-along[0] for along in window), *high]


def _one(
    branches: Sequence[_Branch],
    scales: Sequence[ChannelAffine],
    window: Window,
    pads: Sequence[int],
    build: Build,
) -> SSAValue:
    """Returns one convolution in a window for all branches, and for maps of their input."""
    node = branches[0].node
    outputs, inputs = shape_of(node.filter.type)[:2]
    shape = [outputs, inputs, *map(len, window)]
    element = element_of(node.filter.type)
    center = [along.index(0) for along in window] if scales else []

    def summed() -> np.ndarray:
        total = np.zeros(shape)
        for branch in branches:
            total[_places(branch.window, window)] += branch.read()
        rows = np.arange(outputs)
        for scale in scales:
            total[(rows, rows % inputs, *center)] += scale.factor
        return total.astype(numpy_dtype(element))

    bias = sum([b.bias.astype(np.float64) for b in branches], np.zeros(outputs))
    bias += sum(scale.offset for scale in scales)
    return build(
        ConvolutionOp,
        node.input,
        build.add(lazy_constant(shape, element, node.filter.name_hint or "filter", summed)),
        build.constant(bias.astype(numpy_dtype(element)), node.bias.name_hint or "bias"),
        strides=node.strides,
        dilations=[along.step for along in window],
        pads=pads,
        group=node.group,
    )


def _places(window: Window, whole: Window) -> tuple[slice, ...]:
    """Returns where the elements of a filter are in one of a larger window."""
    along = (
        slice((a[0] - w[0]) // w.step, (a[-1] - w[0]) // w.step + 1, max(1, a.step // w.step))
        for a, w in zip(window, whole, strict=True)
    )
    return slice(None), slice(None), *along


class MergeBranchesPass(ModulePass):
    """Makes one convolution of a sum of convolutions of the same input."""

    name = "glow-merge-branches"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for node in tensor_nodes(op):
            if isinstance(node, AddOp) and not _continues(node):
                _merge_at(node)


def _continues(node: AddOp) -> bool:
    """Returns whether a sum is a term of another one."""
    user = node.result.get_user_of_unique_use()
    return isinstance(user, AddOp)


def _merge_at(root: AddOp) -> None:
    build, operands = Build(), list(root.operands)
    value = _Sum(root).merged(build)
    if value is not None:
        check_type(root, value)
        replace_node(root, build.ops, value)
        erase_if_dead(operands)
