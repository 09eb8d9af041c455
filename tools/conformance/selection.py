"""Operators that choose among elements, and random numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import f32, i1

from ...glow_dialects.glow.random import WORD, RandomBitsOp
from ...glow_dialects.glow.selection import NonMaxSuppressionOp, NonzeroPlacesOp
from .cases import INTEGERS, Case, Draw, Row, cases


@cases(NonzeroPlacesOp, rows=[Row((e,)) for e in (*INTEGERS, i1)])
def nonzero_places(draw: Draw) -> Iterator[Case]:
    for count in draw.some((0, 1, 7, 64, 131), 2):
        yield draw.case((count,), values=lambda a: a if a.dtype == bool else a % 2)


@cases(NonMaxSuppressionOp, rows=[Row((f32,))])
def non_max_suppression(draw: Draw) -> Iterator[Case]:
    """Yields boxes that overlap, with few different scores, so that some are equal."""
    for images, classes, count, most in draw.some(((1, 1, 1, 1), (2, 3, 7, 3), (1, 2, 131, 20)), 2):
        rng = draw.rng
        given = {
            0: rng.uniform(0, 1, (images, count, 4)).astype(np.float32),
            1: np.round(rng.uniform(0, 1, (images, classes, count)), 1).astype(np.float32),
            2: np.array([rng.uniform(0, 0.5)], np.float32),
            3: np.array([0.35], np.float32),
        }
        shapes = [a.shape for a in given.values()]
        yield draw.case(*shapes, most=most, center=bool(rng.integers(2)), arrays=given)


@cases(RandomBitsOp, rows=[Row((WORD,))])
def random_bits(draw: Draw) -> Iterator[Case]:
    for count in draw.some((1, 37), 1):
        words = {
            i: draw.rng.integers(0, 2**32, (count,), np.uint32, endpoint=False) for i in range(4)
        }
        yield draw.case(*[(count,)] * 4, second=bool(draw.rng.integers(2)), arrays=words)
