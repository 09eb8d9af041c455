"""Operators that read weighted elements at given places, and sums of windows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import i32, i64

from ...glow_dialects.elements import compute_type
from ...glow_dialects.glow.matrix import DeterminantOp
from ...glow_dialects.glow.padding import FoldOp
from ...glow_dialects.glow.pooling import MaxPoolPlacesOp
from ...glow_dialects.glow.resampling import ResampleOp, SampleOp
from .cases import FLOATS, UNIFORM, Case, Draw, Row, cases

INDICES = (i32, i64)


@cases(ResampleOp, rows=[Row((e, i, compute_type(e))) for e in FLOATS for i in INDICES])
def resample(draw: Draw) -> Iterator[Case]:
    """Yields some places lie beyond both ends, where they are clamped."""
    for shape, target, taps in draw.some((((7, 13), 5, 2), ((2, 3, 11), 17, 4), ((5, 1), 3, 1)), 2):
        axis = int(draw.rng.integers(len(shape)))
        places = draw.rng.integers(-2, shape[axis] + 2, (target, taps))
        yield draw.case(shape, places.shape, places.shape, axis=axis, arrays={1: places})


@cases(SampleOp, rows=[Row((e, i, i, compute_type(e))) for e in FLOATS for i in INDICES])
def sample(draw: Draw) -> Iterator[Case]:
    for (n, c, s), results, points, taps in draw.some(
        (((2, 3, 35), 5, 7, 4), ((1, 17, 13), 1, 11, 1)), 1
    ):
        images = draw.rng.integers(-1, n + 1, (results,))
        places = draw.rng.integers(-2, s + 2, (results, points, taps))
        yield draw.case(
            (n, c, s),
            images.shape,
            places.shape,
            places.shape,
            largest=bool(draw.rng.integers(2)),
            arrays={1: images, 2: places},
        )


# input, image, strides, low, dilations
FOLDS = (
    ((1, 3, 2, 2, 3, 2), (4, 5), (1, 2), (0, 1), (1, 2)),
    ((2, 5, 3, 7), (11,), (2,), (1,), (1,)),
)


@cases(FoldOp)
def fold(draw: Draw) -> Iterator[Case]:
    for shape, image, strides, low, dilations in draw.some(FOLDS, 1):
        yield draw.case(shape, image=image, strides=strides, low=low, dilations=dilations)


@cases(DeterminantOp, rows=[Row((e,)) for e in FLOATS])
def determinant(draw: Draw) -> Iterator[Case]:
    """Diagonals are large, so that no difference of equal terms is left."""
    for batch, n in draw.some((((), 1), ((3,), 3), ((2, 1), 5)), 1):
        yield draw.case((*batch, n, n), values=lambda a: a / 8 + np.eye(a.shape[-1]))


@cases(MaxPoolPlacesOp, rows=UNIFORM)
def max_pool_places(draw: Draw) -> Iterator[Case]:
    """Draws the pooled input as well, so windows may be without an element that equals it."""
    yield draw.case(
        (1, 3, 7, 6),
        (1, 3, 3, 3),
        kernel=(2, 3),
        strides=(2, 2),
        pads=(0, 1, 0, 1),
        dilations=(1, 1),
        column_major=bool(draw.rng.integers(2)),
    )
