"""Operators that choose among elements."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.selection import NonMaxSuppressionOp, NonzeroPlacesOp
from ..glow_dialects.operator import Call, shape_of
from .registry import meaning


@meaning(NonzeroPlacesOp)
def nonzero_places(call: Call, x: np.ndarray) -> np.ndarray:
    places = np.flatnonzero(x)
    return np.pad(places, (0, len(x) - len(places)))


@meaning(NonMaxSuppressionOp)
def non_max_suppression(
    call: Call, boxes: np.ndarray, scores: np.ndarray, iou: np.ndarray, least: np.ndarray
) -> np.ndarray:
    result = np.full(shape_of(call.results[0]), -1, np.int64)
    for image, per_class in enumerate(scores):
        corners = _corners(boxes[image], call.get("center"))
        for c, given in enumerate(per_class):
            kept = np.where(given > least[0], given, -np.inf)
            for place in range(result.shape[2]):
                best = int(kept.argmax()) if len(kept) else 0
                if not kept[best : best + 1] > -np.inf:
                    break
                result[image, c, place] = best
                kept[_overlaps(corners, corners[:, best], iou[0])] = -np.inf
                kept[best] = -np.inf
    return result


def _corners(boxes: np.ndarray, center: bool) -> np.ndarray:
    """Returns `y0, x0, y1, x1` and the area of each box, as rows."""
    if center:
        x, y, width, height = boxes.T
        half = np.float32(0.5)
        y0, x0, y1, x1 = y - height * half, x - width * half, y + height * half, x + width * half
    else:
        y0, x0, y1, x1 = boxes.T
        y0, y1 = np.minimum(y0, y1), np.maximum(y0, y1)
        x0, x1 = np.minimum(x0, x1), np.maximum(x0, x1)
    return np.stack([y0, x0, y1, x1, (y1 - y0) * (x1 - x0)])


def _overlaps(a: np.ndarray, b: np.ndarray, iou: np.float32) -> np.ndarray:
    """Returns which boxes `a` overlap the box `b` by more than a part."""
    height = np.maximum(np.minimum(a[2], b[2]) - np.maximum(a[0], b[0]), np.float32(0))
    width = np.maximum(np.minimum(a[3], b[3]) - np.maximum(a[1], b[1]), np.float32(0))
    shared = height * width
    return (a[4] > 0) & (b[4] > 0) & (shared / (a[4] + b[4] - shared) > iou)
