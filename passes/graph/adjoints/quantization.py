"""Adjoint and tangent of fake quantization, which is constant between its steps."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from xdsl.ir import SSAValue

from ....glow_dialects.glow.quantization import FakeQuantizeOp
from ....glow_dialects.operator import element_of
from ....glow_dialects.scalar import Expr
from ..rewriting import Build
from .data_parallel import computed
from .registry import adjoint, tangent


def _passed(node: FakeQuantizeOp, seed: SSAValue, build: Build) -> SSAValue:
    expr = node.straight_through(node.call, Expr.argument(len(node.operands)))
    return computed(node, expr, seed, element_of(node.input.type), build)


@adjoint(FakeQuantizeOp)
def fake_quantize_adjoint(
    node: FakeQuantizeOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    return {0: _passed(node, seed, build)} if 0 in wanted else {}


@tangent(FakeQuantizeOp)
def fake_quantize_tangent(
    node: FakeQuantizeOp, tangents: Mapping[int, SSAValue], build: Build
) -> SSAValue | None:
    return _passed(node, tangents[0], build) if 0 in tangents else None
