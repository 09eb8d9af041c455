"""Adjoints and tangents of operators that move data and have no formula."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from xdsl.ir import SSAValue

from ....glow_dialects.glow.constant import ConstantOp, SplatOp
from ....glow_dialects.glow.shape import ConcatOp, ReshapeOp, SliceOp
from ....glow_dialects.operator import shape_of
from ..rewriting import Build
from .registry import adjoint, tangent


def _zeros(build: Build, like: SSAValue) -> SSAValue:
    return build.splat(0.0, like.type)


@adjoint(ConstantOp, SplatOp)
def constant(
    node: ConstantOp | SplatOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    return {}


@adjoint(ReshapeOp)
def reshape(
    node: ReshapeOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    return {0: build.reshape(seed, shape_of(node.input.type))}


@tangent(ReshapeOp)
def reshape_tangent(node: ReshapeOp, tangents: Mapping[int, SSAValue], build: Build) -> SSAValue:
    return build.reshape(tangents[0], shape_of(node.result.type))


@adjoint(ConcatOp)
def concat(
    node: ConcatOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    axis, start, found = node.axis.value.data, 0, {}
    for i, operand in enumerate(node.operands):
        sizes = shape_of(operand.type)
        if i in wanted:
            starts = [start if d == axis else 0 for d in range(len(sizes))]
            found[i] = build(SliceOp, seed, starts=starts, sizes=sizes)
        start += sizes[axis]
    return found


@tangent(ConcatOp)
def concat_tangent(node: ConcatOp, tangents: Mapping[int, SSAValue], build: Build) -> SSAValue:
    parts = [
        tangents[i] if i in tangents else _zeros(build, v) for i, v in enumerate(node.operands)
    ]
    return build(ConcatOp, *parts, axis=node.axis.value.data)
