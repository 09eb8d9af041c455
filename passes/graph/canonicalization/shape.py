"""Rules for nodes that leave every element where it is."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ....glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp, Pool
from ....glow_dialects.glow.reduction import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
    Reduction,
)
from ....glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ....glow_dialects.operator import shape_of
from ..permutations import is_identity
from ..reordering import permutation_of
from ..rewriting import Build
from .table import canonical


@canonical(ReshapeOp, BroadcastOp)
def same_shape(node: ReshapeOp | BroadcastOp, build: Build) -> SSAValue | None:
    return node.input if node.input.type == node.result.type else None


@canonical(TransposeOp)
def identity_permutation(node: TransposeOp, build: Build) -> SSAValue | None:
    return node.input if is_identity(permutation_of(node)) else None


@canonical(SliceOp)
def slice_of_everything(node: SliceOp, build: Build) -> SSAValue | None:
    """Replaces a slice of all elements in order by its operand."""
    shape, strides = shape_of(node.input.type), node.call.ints("strides")
    if node.input.type != node.result.type:
        return None
    return (
        node.input if all(s == 1 or d <= 1 for s, d in zip(strides, shape, strict=True)) else None
    )


@canonical(PadOp)
def pad_by_nothing(node: PadOp, build: Build) -> SSAValue | None:
    return node.input if node.input.type == node.result.type else None


@canonical(ConcatOp)
def concat_of_one(node: ConcatOp, build: Build) -> SSAValue | None:
    """Removes operands without elements, which do not count."""
    axis = node.axis.value.data
    filled = [v for v in node.inputs if shape_of(v.type)[axis]] or [node.inputs[0]]
    if len(filled) == 1:
        return filled[0]
    if len(filled) < len(node.inputs):
        return build(ConcatOp, *filled, axis=node.axis)
    return None


@canonical(MaxPoolOp, AvgPoolOp)
def pool_of_one(node: Pool, build: Build) -> SSAValue | None:
    """Windows of one element, at every element."""
    steps = (*node.call.ints("kernel"), *node.call.ints("strides"))
    if any(s != 1 for s in steps) or any(node.pads.get_values()):
        return None
    return node.input


@canonical(ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp)
def reduce_single_elements(node: Reduction, build: Build) -> SSAValue | None:
    """Replaces a reduction along dimensions of size 1, or along none, by its operand."""
    shape = shape_of(node.input.type)
    if any(shape[a] != 1 for a in node.axes.get_values()):
        return None
    result = node.result.type
    assert isinstance(result, TensorType)
    return build.reshape(node.input, shape_of(result))
