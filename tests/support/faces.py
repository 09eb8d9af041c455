"""Boxes of faces from the outputs of the network ultraface."""

from __future__ import annotations

import numpy as np

LEAST_SCORE = 0.7
LARGEST_OVERLAP = 0.5
SIZE = (320, 240)
"""Width and height of pictures."""


def pixels(picture: np.ndarray) -> np.ndarray:
    """Returns a picture, u8 [240, 320, 3] in RGB, as the network's input: f32 [1, 3, 240, 320]."""
    return ((picture.astype(np.float32) - 127) / 128).transpose(2, 0, 1)[None]


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Returns the intersection over union of two boxes (left, top, right, bottom)."""
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    common = float(np.prod(np.maximum(high - low, 0)))
    areas = [float(np.prod(box[2:] - box[:2])) for box in (a, b)]
    return common / (sum(areas) - common)


def boxes(outputs: list[np.ndarray]) -> list[np.ndarray]:
    """
    Returns the faces in outputs [1, n, 2] of scores (of background and face) and [1, n, 4] of boxes
    in parts of the picture, best first: those that no better one overlaps by more than a half.
    """
    scores, places = sorted((o[0] for o in outputs), key=lambda array: array.shape[1])
    found: list[np.ndarray] = []
    for index in np.argsort(-scores[:, 1], kind="stable"):
        if scores[index, 1] < LEAST_SCORE:
            break
        box = places[index].astype(np.float64)
        if all(overlap(box, other) <= LARGEST_OVERLAP for other in found):
            found.append(box)
    return found
