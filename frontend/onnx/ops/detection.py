"""Operators at the end of detectors of objects."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.logic import LessEqualOp
from ....glow_dialects.glow.selection import NonMaxSuppressionOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import rank, shape, size
from ..counted import chosen_places, coordinates
from ..node import OnnxNode, converter


@converter("NonMaxSuppression")
def non_max_suppression(node: OnnxNode) -> SSAValue:
    """Returns a row with image, class and box for each box that stays."""
    build, boxes, scores = node.build, node.input(0), node.input(1)
    if rank(boxes) != 3 or rank(scores) != 3:
        raise ModelError(f"expected boxes and scores of rank 3, found {boxes.type}, {scores.type}")
    limit = 0 if node.optional(2) is None else max(0, int(node.known_number(2)))
    most = min(limit, shape(scores)[2])
    center = bool(node.attr("center_point_box", 0))
    thresholds = [_threshold(node, 3, 0.0), _threshold(node, 4, -inf)]
    found = build.op(NonMaxSuppressionOp, boxes, scores, *thresholds, most=most, center=center)
    if not size(found):
        return build.splat(0, i64, [0, 3])
    flat = build.reshape(found, [size(found)])
    places = chosen_places(build, build.op(LessEqualOp, build.splat_like(0, flat), flat))
    chosen = build.op(GatherOp, flat, places, axis=0)
    rows = [build.reshape(v, [*shape(v), 1]) for v in coordinates(build, places, shape(found))[:2]]
    return build.concat([*rows, build.reshape(chosen, [*shape(chosen), 1])], 1)


def _threshold(node: OnnxNode, index: int, default: float) -> SSAValue:
    value = node.optional(index)
    if value is None:
        return node.build.splat(default, f32, [1])
    return node.build.reshape(value, [1])
