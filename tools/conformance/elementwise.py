"""Data-parallel operators: any shape, and numbers where the operator is defined."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from xdsl.dialects.builtin import f32, i1, i8, i16, i32

from ...glow_dialects.elements import is_float
from ...glow_dialects.glow import arithmetic
from ...glow_dialects.glow import inverse_functions as inverse
from ...glow_dialects.glow.base import DataParallel
from ...glow_dialects.glow.logic import BitcastOp, CastOp, SelectOp, ShiftLeftOp, ShiftRightOp
from ...glow_dialects.glow.quantization import (
    DequantizeOp,
    FakeQuantizeOp,
    QuantizeOp,
    RescaleOp,
    StorageCastOp,
)
from ...glow_dialects.integers import u8
from ...glow_dialects.quant import QuantizedType
from ...table import Table
from .cases import ELEMENTS, FLOATS, INTEGERS, Case, Draw, Row, Values, cases

SHAPES = ((), (1,), (7,), (67,), (3, 1, 5), (2, 3, 11, 1), (13, 17))
_DOMAINS: Table[type[DataParallel], Values] = Table("a domain", inherited=True)


def domain(*operators: type[DataParallel]) -> Callable[[Values], Values]:
    """Registers the domain of operators: a function that moves random numbers into it."""
    return _DOMAINS.entry(*operators)


@domain(arithmetic.LogOp, arithmetic.SqrtOp, arithmetic.PowOp)
def positive(array: np.ndarray) -> np.ndarray:
    return np.abs(array) + np.asarray(0.25, array.dtype)


@domain(arithmetic.DivOp, arithmetic.RemOp)
def nonzero(array: np.ndarray) -> np.ndarray:
    return np.where(array == 0, np.ones_like(array), array)


@domain(inverse.AsinOp, inverse.AcosOp, inverse.AtanhOp)
def within_one(array: np.ndarray) -> np.ndarray:
    return array * np.asarray(0.25, array.dtype)


@domain(inverse.AcoshOp)
def above_one(array: np.ndarray) -> np.ndarray:
    return np.abs(array) + np.asarray(1.25, array.dtype)


def anywhere(array: np.ndarray) -> np.ndarray:
    return array


@cases(DataParallel)
def elementwise(draw: Draw) -> Iterator[Case]:
    operands = len(draw.operator.get_irdl_definition().operands)
    for shape in draw.some(SHAPES, 2):
        values = _DOMAINS.get(draw.operator, anywhere)
        yield draw.case(*[shape] * operands, values=values)


@cases(SelectOp, rows=[Row((i1, element, element)) for element in ELEMENTS])
def select(draw: Draw) -> Iterator[Case]:
    for shape in draw.some(SHAPES, 2):
        yield draw.case(shape, shape, shape)


@cases(CastOp, rows=[Row((a,), (b,)) for a in ELEMENTS for b in ELEMENTS if a != b])
def cast(draw: Draw) -> Iterator[Case]:
    """
    Draws floats in the range of every integer type, because conversions of others are not defined.
    """
    source = draw.row.operand(0)
    (shape,) = draw.some(SHAPES, 1)
    values = (lambda a: 40 * np.abs(a)) if is_float(source) else anywhere
    yield draw.case(shape, result=shape, values=values)


@cases(BitcastOp, rows=[Row((a,), (b,)) for a, b in ((f32, i32), (i8, u8), (u8, i8))])
def bitcast(draw: Draw) -> Iterator[Case]:
    for shape in draw.some(SHAPES, 2):
        yield draw.case(shape, result=shape)


@cases(ShiftLeftOp, ShiftRightOp, rows=[Row((element,)) for element in INTEGERS])
def shift(draw: Draw) -> Iterator[Case]:
    """Shifts by fewer bits than the operands have."""
    for shape in draw.some(SHAPES, 2):
        bits = draw.rng.integers(0, 8, shape)
        yield draw.case(shape, shape, arrays={1: bits})


def quantized_types() -> list[QuantizedType]:
    """Returns types per tensor and per axis, with and without a zero point, of several widths."""
    return [
        QuantizedType(i8, f32, 0.05, 3),
        QuantizedType(u8, f32, 0.03, 128),
        QuantizedType(i16, f32, 2.0**-12),
        QuantizedType(i32, f32, 1e-8),
        QuantizedType(i8, f32, [0.1, 0.5, 0.01], [1, 0, -7], axis=1),
    ]


PER_AXIS_SHAPES = ((5, 3, 7), (1, 3), (2, 3, 1, 13))
"""Shapes with a dimension 1 as long as there are scales."""


def _conversion_shapes(draw: Draw) -> list[tuple[int, ...]]:
    types = (*draw.row.operands, *draw.row.results)
    per_axis = any(isinstance(t, QuantizedType) and t.is_per_axis for t in types)
    return draw.some(PER_AXIS_SHAPES if per_axis else SHAPES, 2)


@cases(QuantizeOp, rows=[Row((e,), (q,)) for q in quantized_types() for e in FLOATS])
def quantize(draw: Draw) -> Iterator[Case]:
    for shape in _conversion_shapes(draw):
        yield draw.case(shape, result=shape, values=lambda a: 4 * a)


@cases(DequantizeOp, rows=[Row((q,), (q.expressed,)) for q in quantized_types()])
def dequantize(draw: Draw) -> Iterator[Case]:
    for shape in _conversion_shapes(draw):
        yield draw.case(shape, result=shape)


@cases(FakeQuantizeOp, rows=[Row((e,)) for e in FLOATS])
def fake_quantize(draw: Draw) -> Iterator[Case]:
    for shape in draw.some(SHAPES, 2):
        scales = draw.rng.uniform(0.05, 0.5, shape)
        zero_points = draw.rng.integers(-9, 9, shape)
        yield draw.case(shape, shape, shape, arrays={1: scales, 2: zero_points})


@cases(
    StorageCastOp,
    rows=[
        row for q in quantized_types() for row in (Row((q,), (q.storage,)), Row((q.storage,), (q,)))
    ],
)
def storage_cast(draw: Draw) -> Iterator[Case]:
    for shape in _conversion_shapes(draw):
        yield draw.case(shape, result=shape)


ACCUMULATORS = (i32, QuantizedType(i32, f32, 1e-4), QuantizedType(i8, f32, 0.05, 3))
TARGETS = (QuantizedType(i8, f32, 0.05, 3), QuantizedType(u8, f32, 0.03, 128))


@cases(RescaleOp, rows=[Row((a, i32), (q,)) for a in ACCUMULATORS for q in TARGETS])
def rescale(draw: Draw) -> Iterator[Case]:
    """Draws rescaling by multipliers of 31 bits, to about the range of the result."""
    for shape in draw.some(SHAPES, 2):
        multipliers = draw.rng.integers(1 << 30, (1 << 31) - 1, shape)
        shifts = draw.rng.integers(31, 40, shape)
        yield draw.case(shape, shape, shape, result=shape, arrays={1: multipliers, 2: shifts})
