"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32, i64

from ...glow_dialects.elements import is_float, storage_type
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ...glow_dialects.quant import QuantizedType
from ...semantics.arrays import make_constant
from .cases import ELEMENTS, UNIFORM, Case, Draw, Row, cases

ROWS = (*UNIFORM, Row((QuantizedType(i8, f32, 0.05, 3),)))
SHAPES = ((1,), (7, 13), (5, 1, 3), (2, 3, 11, 17))


@cases(ConstantOp, rows=ROWS)
def constant(draw: Draw) -> Iterator[Case]:
    for shape in draw.some(SHAPES, 1):
        element = draw.row.result()
        node = make_constant(draw.array(shape, element), element=element)
        yield draw.case(result=shape, value=node.value)


@cases(SplatOp, rows=ROWS)
def splat(draw: Draw) -> Iterator[Case]:
    value = 1.5 if is_float(storage_type(draw.row.result())) else 1
    for shape in draw.some(SHAPES, 1):
        yield draw.case(result=shape, value=value)


@cases(ReshapeOp, rows=ROWS)
def reshape(draw: Draw) -> Iterator[Case]:
    for shape in draw.some(SHAPES, 2):
        yield draw.case(shape, result=(prod(shape[1:]), shape[0]))
    # images of single pixels, after a global pool
    yield draw.case((3, 11, 1, 1), result=(3, 11))


@cases(BroadcastOp, rows=ROWS)
def broadcast(draw: Draw) -> Iterator[Case]:
    options = [((), (3,)), ((7, 1), (2, 7, 5)), ((5, 1, 3), (5, 11, 3)), ((1,), (13, 17))]
    for shape, result in draw.some(options, 2):
        yield draw.case(shape, result=result)


@cases(TransposeOp, rows=ROWS)
def transpose(draw: Draw) -> Iterator[Case]:
    for shape in draw.some(SHAPES[1:], 2):
        permutation = draw.rng.permutation(len(shape))
        yield draw.case(shape, permutation=[int(p) for p in permutation])


@cases(ConcatOp, rows=ROWS)
def concat(draw: Draw) -> Iterator[Case]:
    for shape in draw.some(SHAPES, 2):
        axis = int(draw.rng.integers(len(shape)))
        others = [[*shape[:axis], n, *shape[axis + 1 :]] for n in (1, 5)]
        yield draw.case(shape, *others, axis=axis)


@cases(SliceOp, rows=ROWS)
def cut(draw: Draw) -> Iterator[Case]:
    options = [
        ((7, 13), (2, 1), (3, 4), (1, 3)),
        ((7, 13), (6, 0), (7, 13), (-1, 1)),
        ((5, 1, 3), (1, 0, 2), (2, 1, 2), (2, 1, -2)),
        ((2, 3, 11, 17), (0, 1, 4, 5), (2, 2, 5, 7), (1, 1, 1, 1)),
    ]
    for shape, starts, sizes, strides in draw.some(options, 2):
        yield draw.case(shape, starts=starts, sizes=sizes, strides=strides)


@cases(PadOp, rows=ROWS)
def pad(draw: Draw) -> Iterator[Case]:
    value = -1.5 if is_float(storage_type(draw.row.result())) else 1
    for shape in draw.some(SHAPES, 2):
        low, high = ([int(n) for n in draw.rng.integers(0, 4, len(shape))] for _ in range(2))
        yield draw.case(shape, low=low, high=high, value=value)


@cases(GatherOp, rows=[Row((e, index)) for e in ELEMENTS for index in (i32, i64)])
def gather(draw: Draw) -> Iterator[Case]:
    """Yields gathers; some indices lie beyond both ends, where they are clamped."""
    for shape in draw.some(SHAPES[1:], 1):
        axis = int(draw.rng.integers(len(shape)))
        size = shape[axis]
        indices = draw.rng.integers(-2 * size, 2 * size, (3, 5))
        yield draw.case(shape, indices.shape, axis=axis, arrays={1: np.asarray(indices)})
