"""
Derivatives of roots of sums of squares.

The derivative of a root is infinite at 0, but there all squares are 0, and so are their
derivatives. The norm is smallest there, so 0 is a subgradient, which PyTorch takes as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from xdsl.ir import SSAValue

from ....glow_dialects.glow.arithmetic import MulOp, SqrtOp
from ....glow_dialects.glow.logic import EqualOp, SelectOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ..rewriting import Build, defining_op
from .data_parallel import data_parallel_adjoint, data_parallel_tangent
from .registry import adjoint, tangent


def _is_norm(node: SqrtOp) -> bool:
    total = defining_op(node.operands[0], ReduceSumOp)
    square = None if total is None else defining_op(total.operands[0], MulOp)
    return square is not None and square.operands[0] is square.operands[1]


def _zero_at_zero(node: SqrtOp, value: SSAValue, build: Build) -> SSAValue:
    zero = build.splat(0.0, value.type)
    return build(SelectOp, build(EqualOp, node.results[0], zero), zero, value)


@adjoint(SqrtOp)
def root_adjoint(
    node: SqrtOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    found = data_parallel_adjoint(node, seed, wanted, build)
    if not _is_norm(node):
        return found
    return {i: _zero_at_zero(node, value, build) for i, value in found.items()}


@tangent(SqrtOp)
def root_tangent(node: SqrtOp, tangents: Mapping[int, SSAValue], build: Build) -> SSAValue | None:
    found = data_parallel_tangent(node, tangents, build)
    return _zero_at_zero(node, found, build) if found is not None and _is_norm(node) else found
