"""Operators that look for extreme elements, and cumulative ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow import indexing as g
from ....glow_dialects.glow.logic import EqualOp
from ..builder import element, rank, shape
from ..node import OnnxNode, converter, normal_axis

_EXTREMES = {"ArgMax": g.ArgMaxOp, "ArgMin": g.ArgMinOp}
_CUMULATIVE = {"CumSum": g.CumSumOp, "CumProd": g.CumProdOp}


@converter(*_EXTREMES)
def arg_extreme(node: OnnxNode) -> SSAValue:
    build, x = node.build, node.input(0)
    axis = node.axis(rank(x))
    last = bool(node.attr("select_last_index", 0))
    found = build.op(_EXTREMES[node.proto.op_type], x, axis=axis, last=last)
    if not node.attr("keepdims"):
        return found
    return build.reshape(found, [1 if d == axis else s for d, s in enumerate(shape(x))])


@converter("Hardmax", since=13)
def hardmax(node: OnnxNode) -> SSAValue:
    """Converts a Hardmax: 1 for the first of the largest elements, 0 for others."""
    return _hardmax(node, node.input(0), node.axis(rank(node.input(0))))


@converter("Hardmax")
def hardmax_of_rows(node: OnnxNode) -> SSAValue:
    """Converts a Hardmax from before opset 13, where the dimensions from `axis` on are one."""
    x = node.input(0)
    axis = node.axis(rank(x))
    rows = int(np.prod(shape(x)[:axis]))
    matrix = node.build.reshape(x, [rows, int(np.prod(shape(x)[axis:]))])
    return node.build.reshape(_hardmax(node, matrix, 1), shape(x))


def _hardmax(node: OnnxNode, x: SSAValue, axis: int) -> SSAValue:
    build, sizes = node.build, shape(x)
    kept = [1 if d == axis else s for d, s in enumerate(sizes)]
    largest = build.reshape(build.op(g.ArgMaxOp, x, axis=axis), kept)
    places = np.arange(sizes[axis]).reshape([-1 if d == axis else 1 for d in range(len(sizes))])
    hot = build.elementwise(EqualOp, largest, build.constant(places))
    return build.cast(hot, element(x))


@converter("TopK")
def top_k(node: OnnxNode) -> list[SSAValue]:
    return _top(node, int(node.attr("k")), smallest=False)


@converter("TopK", since=10)
def top_k_by_input(node: OnnxNode) -> list[SSAValue]:
    return _top(node, int(node.known_number(1)), smallest=not node.attr("largest", 1))


def _top(node: OnnxNode, k: int, smallest: bool) -> list[SSAValue]:
    """Returns values and indices, in order; ONNX leaves the order open if `sorted` is 0."""
    build, x = node.build, node.input(0)
    axis = node.axis(rank(x))
    if not 0 <= k <= shape(x)[axis]:
        raise ModelError(f"expected k in 0 to {shape(x)[axis]}, found {k}")
    indices = build.op(g.TopIndicesOp, x, axis=axis, k=k, smallest=smallest)
    return [build.op(g.GatherElementsOp, x, indices, axis=axis), indices]


@converter(*_CUMULATIVE)
def cumulative(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    axis = normal_axis(int(node.known_number(1)), rank(x))
    flags: dict[str, Any] = {n: bool(node.attr(n)) for n in ("exclusive", "reverse")}
    return node.build.op(_CUMULATIVE[node.proto.op_type], x, axis=axis, **flags)
