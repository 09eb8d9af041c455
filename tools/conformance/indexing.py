"""Operators that look for elements, or that indices tell what to pick or replace."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import i8, i32, i64

from ...glow_dialects.glow.indexing import (
    REDUCTIONS,
    ArgMaxOp,
    ArgMinOp,
    CumProdOp,
    CumSumOp,
    GatherElementsOp,
    IntLookupTableOp,
    ScatterOp,
    TopIndicesOp,
)
from ...glow_dialects.integers import u8
from .cases import ELEMENTS, FLOATS, INTEGERS, Case, Draw, Row, cases

SHAPES = (((1,), 0), ((37,), 0), ((5, 19), 1), ((19, 5), 0), ((3, 11, 4), 1))


@cases(GatherElementsOp, rows=[Row((e, index)) for e in ELEMENTS for index in (i32, i64)])
def gather_elements(draw: Draw) -> Iterator[Case]:
    """Yields some indices lie beyond both ends, where they are clamped."""
    for shape, axis in draw.some(SHAPES, 1):
        size = shape[axis]
        wanted = [7 if d == axis else s for d, s in enumerate(shape)]
        indices = draw.rng.integers(-2 * size, 2 * size, wanted)
        yield draw.case(shape, wanted, axis=axis, arrays={1: indices})


@cases(IntLookupTableOp, rows=[Row((x, e)) for x in (u8, i8) for e in ELEMENTS])
def int_lookup_table(draw: Draw) -> Iterator[Case]:
    for shape, _ in draw.some(SHAPES, 2):
        yield draw.case(shape, (256,))


@cases(ArgMaxOp, ArgMinOp, rows=[Row((e,)) for e in (*FLOATS, *INTEGERS)])
def extremes(draw: Draw) -> Iterator[Case]:
    """Returns few different numbers, so that some are equal."""
    for shape, axis in draw.some(SHAPES, 2):
        last = bool(draw.rng.integers(2))
        yield draw.case(shape, axis=axis, last=last, values=lambda a: np.round(a) % 5)


@cases(TopIndicesOp, rows=[Row((e,)) for e in (*FLOATS, *INTEGERS)])
def top_indices(draw: Draw) -> Iterator[Case]:
    for shape, axis in draw.some(SHAPES, 2):
        given = {"k": (shape[axis] + 1) // 2, "smallest": bool(draw.rng.integers(2))}
        yield draw.case(shape, axis=axis, values=lambda a: np.round(a) % 5, **given)


@cases(CumSumOp, CumProdOp, rows=[Row((e,)) for e in (*FLOATS, *INTEGERS)])
def cumulative(draw: Draw) -> Iterator[Case]:
    """Numbers whose products stay in the range of their type."""
    for shape, axis in draw.some(SHAPES, 2):
        exclusive, reverse = (bool(n) for n in draw.rng.integers(0, 2, 2))
        yield draw.case(
            shape, axis=axis, exclusive=exclusive, reverse=reverse, values=lambda a: np.sign(a)
        )


@cases(ScatterOp, rows=[Row((e, i, e)) for e in (*FLOATS, *INTEGERS) for i in (i32, i64)])
def scatter(draw: Draw) -> Iterator[Case]:
    """Returns several updates of one row, and rows beyond both ends, which are clamped."""
    for rows, count, columns in draw.some(((5, 11, 1), (7, 3, 37), (1, 5, 4)), 1):
        (reduction,) = draw.some(REDUCTIONS, 1)
        indices = draw.rng.integers(-2 * rows, 2 * rows, count)
        shapes = (rows, columns), (count,), (count, columns)
        yield draw.case(
            *shapes, reduction=reduction, arrays={1: indices}, values=lambda a: np.sign(a)
        )
