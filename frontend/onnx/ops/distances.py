"""Distances between the rows of two matrices."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import SqrtOp
from ....glow_dialects.glow.generic import GenericOp
from ..builder import GraphBuilder
from ..node import CONTRIB, OnnxNode, converter

_SQUARED = "result[n, m] = sum(f) (x[n, f] - y[m, f]) * (x[n, f] - y[m, f])"


def squared_distances(build: GraphBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Returns the squared Euclidean distance of each row of `x` and each row of `y`."""
    properties: dict[str, Any] = {"formula": _SQUARED}
    return build.op(GenericOp, x, y, **properties)


@converter("CDist", domain=CONTRIB)
def distances(node: OnnxNode) -> SSAValue:
    metric = node.attr("metric", "sqeuclidean")
    squared = squared_distances(node.build, node.input(0), node.input(1))
    if metric not in ("euclidean", "sqeuclidean"):
        raise ModelError(f"expected metric euclidean or sqeuclidean, found {metric!r}")
    return squared if metric == "sqeuclidean" else node.build.op(SqrtOp, squared)
