"""
Sequences of tensors, whose lengths are known when a model is imported, and optional values.

A sequence is a tuple of its tensors, which no node of a finished graph uses: what takes an element
gets the tensor itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import NoneType, TensorType, TupleType, UnrealizedConversionCastOp
from xdsl.ir import SSAValue

from ....errors import ModelError
from ..builder import rank, shape
from ..node import OnnxNode, converter, normal_axis
from ..problems import Unsupported


def sequence_of(node: OnnxNode, tensors: Sequence[SSAValue]) -> SSAValue:
    types = tuple(t.type for t in tensors if isinstance(t.type, TensorType))
    if len(types) < len(tensors):
        raise Unsupported("a sequence of sequences")
    bundle = UnrealizedConversionCastOp.get(tensors, [TupleType(types)])
    node.build.block.add_op(bundle)
    return bundle.results[0]


def tensors_of(node: OnnxNode) -> list[SSAValue]:
    """Returns the tensors of the first input, which is a sequence."""
    value = node.input(0)
    owner = value.owner
    if not isinstance(value.type, TupleType) or not isinstance(owner, UnrealizedConversionCastOp):
        raise ModelError(f"expected a sequence as input 0, found {value.type}")
    return list(owner.operands)


def _place(node: OnnxNode, index: int, length: int, default: int) -> int:
    """Returns a position in a sequence, from an input; negative ones count from the end."""
    found = default if node.optional(index) is None else int(node.known_number(index))
    return normal_axis(found, length)


@converter("SequenceConstruct", "SequenceEmpty")
def construct(node: OnnxNode) -> SSAValue:
    return sequence_of(node, node.values)


@converter("SequenceInsert")
def insert(node: OnnxNode) -> SSAValue:
    tensors = tensors_of(node)
    last = len(tensors)
    place = last if node.optional(2) is None else int(node.known_number(2))
    if not -last <= place <= last:
        raise ModelError(f"expected a position in {-last} to {last}, found {place}")
    tensors.insert(place, node.input(1))
    return sequence_of(node, tensors)


@converter("SequenceErase")
def erase(node: OnnxNode) -> SSAValue:
    tensors = tensors_of(node)
    del tensors[_place(node, 1, len(tensors), -1)]
    return sequence_of(node, tensors)


@converter("SequenceAt")
def at(node: OnnxNode) -> SSAValue:
    tensors = tensors_of(node)
    return tensors[_place(node, 1, len(tensors), 0)]


@converter("SequenceLength")
def length(node: OnnxNode) -> SSAValue:
    return node.build.constant(np.array(len(tensors_of(node)), np.int64))


@converter("ConcatFromSequence")
def concat(node: OnnxNode) -> SSAValue:
    build, tensors = node.build, tensors_of(node)
    if not tensors:
        raise ModelError("expected a sequence with tensors")
    first = tensors[0]
    if not node.attr("new_axis"):
        return build.concat(tensors, node.axis(rank(first)))
    axis = node.axis(rank(first) + 1)
    target = [*shape(first)[:axis], 1, *shape(first)[axis:]]
    return build.concat([build.reshape(t, target) for t in tensors], axis)


@converter("SplitToSequence")
def split(node: OnnxNode) -> SSAValue:
    """Returns parts of one size, the last of which may be smaller, or of sizes that are listed."""
    build, x = node.build, node.input(0)
    axis = node.axis(rank(x))
    total, given = shape(x)[axis], node.known(1)
    if given is None or given.ndim == 0:
        each = 1 if given is None else int(given)
        if each < 1:
            raise ModelError(f"expected parts of at least 1, found {each}")
        sizes = [min(each, total - start) for start in range(0, total, each)]
    elif given.ndim == 1:
        sizes = given.tolist()
    else:
        raise ModelError(f"expected a vector of sizes, found {list(given.shape)}")
    if sum(sizes) != total or min(sizes, default=0) < 0:
        raise ModelError(f"expected parts with {total} elements in all, found {sizes}")
    drop = given is None and not node.attr("keepdims")
    parts: list[SSAValue] = []
    start = 0
    for part in sizes:
        starts = [start if d == axis else 0 for d in range(rank(x))]
        wanted = [part if d == axis else s for d, s in enumerate(shape(x))]
        found = build.slice(x, starts, wanted)
        kept = [s for d, s in enumerate(wanted) if d != axis] if drop else wanted
        parts.append(build.reshape(found, kept))
        start += part
    return sequence_of(node, parts)


@converter("OptionalHasElement")
def has_element(node: OnnxNode) -> SSAValue:
    """Returns whether there is a value, which is known."""
    value = node.optional(0)
    exists = value is not None and not isinstance(value.type, NoneType)
    return node.build.constant(np.array(exists))


@converter("Optional")
def optional(node: OnnxNode) -> SSAValue:
    """Returns the value itself, or one that stands for nothing."""
    if (value := node.optional(0)) is not None:
        return value
    nothing = UnrealizedConversionCastOp.get([], [NoneType()])
    node.build.block.add_op(nothing)
    return nothing.results[0]


@converter("OptionalGetElement")
def get_element(node: OnnxNode) -> SSAValue:
    value = node.input(0)
    if isinstance(value.type, NoneType):
        raise ModelError("expected an optional value that exists, found none")
    return value
