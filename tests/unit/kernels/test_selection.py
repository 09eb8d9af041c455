"""Operators that choose among elements: kernels, and numpy or onnxruntime as their oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from glow.glow_dialects.glow.random import RandomBitsOp
from glow.glow_dialects.glow.selection import NonMaxSuppressionOp, NonzeroPlacesOp
from glow.tests.support.operator_kernels import check
from glow.tests.support.oracle import run_node


@pytest.mark.parametrize("count", [0, 1, 5, 67])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64], ids=str)
def test_places(rng: np.random.Generator, count: int, dtype: Any):
    x = rng.integers(0, 2, count).astype(dtype)
    check(NonzeroPlacesOp, x)
    found, wanted = run_node(NonzeroPlacesOp, x), np.flatnonzero(x)
    assert found[: len(wanted)].tolist() == wanted.tolist()
    assert not found[len(wanted) :].any()


@pytest.mark.parametrize(
    ("images", "classes", "count", "most"), [(1, 1, 1, 1), (2, 3, 7, 5), (1, 2, 131, 131)]
)
@pytest.mark.parametrize("center", [False, True])
def test_suppression(
    rng: np.random.Generator, images: int, classes: int, count: int, most: int, center: bool
):
    boxes = rng.uniform(0, 1, (images, count, 4)).astype(np.float32)
    # few different scores, so that the first of equal ones counts; one that never is a candidate
    scores = np.round(rng.uniform(0, 1, (images, classes, count)), 1).astype(np.float32)
    scores[0, 0, -1] = np.nan
    given = (boxes, scores, np.array([0.3], np.float32), np.array([0.25], np.float32))
    check(NonMaxSuppressionOp, *given, most=most, center=center)


@pytest.mark.parametrize(("most", "wanted"), [(7, 7), (100, 11)])
def test_suppression_of_crowds(rng: np.random.Generator, most: int, wanted: int):
    """Many boxes lie around a few places; of each crowd, one stays."""
    centers, sizes = np.arange(11) * 100, np.full((1, 700, 2), 50)
    places = centers[rng.integers(0, 11, 700), None] + rng.uniform(-2, 2, (1, 700, 2))
    boxes = np.concatenate([places, sizes], 2).astype(np.float32)
    scores = rng.uniform(0.5, 1, (1, 1, 700)).astype(np.float32)
    given = (boxes, scores, np.array([0.5], np.float32), np.array([0.25], np.float32))
    check(NonMaxSuppressionOp, *given, most=most, center=True)
    (found,) = run_node(NonMaxSuppressionOp, *given, most=most, center=True)[0]
    assert np.count_nonzero(found >= 0) == wanted


def test_empty_boxes_suppress_nothing():
    boxes = np.array([[[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0]]], np.float32)
    scores = np.array([[[1, 2, 3, 3]]], np.float32)
    given = (boxes, scores, np.array([0.5], np.float32), np.array([-np.inf], np.float32))
    check(NonMaxSuppressionOp, *given, most=4)
    assert run_node(NonMaxSuppressionOp, *given, most=4).tolist() == [[[2, 1, 0, -1]]]


VECTORS = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]
"""Counters, keys and results of the authors' own implementation, Random123."""


def test_random_bits_are_those_of_threefry(rng: np.random.Generator):
    given = [np.array([c[i] for c, _, _ in VECTORS], np.uint32) for i in range(2)]
    given += [np.array([key[i] for _, key, _ in VECTORS], np.uint32) for i in range(2)]
    for second in (False, True):
        wanted = np.array([r[second] for _, _, r in VECTORS], np.uint32)
        np.testing.assert_array_equal(run_node(RandomBitsOp, *given, second=second), wanted)
        check(RandomBitsOp, *rng.integers(0, 2**32, (4, 37), np.uint32), second=second)
