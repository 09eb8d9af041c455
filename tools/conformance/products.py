"""Convolutions and matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i8, i16, i32

from ...glow_dialects.elements import is_float
from ...glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ...glow_dialects.glow.transposed import TransposedConvolutionOp
from ...glow_dialects.glow_cpu.packed import PackedMatMulOp
from ...glow_dialects.glow_cpu.rounded import RoundedMatMulOp
from ...glow_dialects.glow_cpu.sparse import SparseVectorMatMulOp
from ...glow_dialects.integers import u8
from ...glow_dialects.quant import QuantizedType
from .cases import FLOATS, UNIFORM, Case, Draw, Row, Values, cases

SUMMED = [Row((a, b, i32), (i32,)) for a, b in ((u8, i8), (i8, i8), (i16, i16))]
"""Products of narrow integers, which are summed in 32 bits."""

WEIGHTS = QuantizedType(i8, f32, 0.02)
ACTIVATIONS = (
    QuantizedType(u8, f32, 0.05, 131),
    QuantizedType(i8, f32, 0.05, 3),
    QuantizedType(i16, f32, 2.0**-12),
)
CONVERTED = [
    Row((x, WEIGHTS, QuantizedType(i32, f32, x.scale_values()[0] * 0.02)), (x,))
    for x in ACTIVATIONS
]
"""Products of quantized operands, which integers can compute."""

# input, filter, strides, pads, dilations, group
CONVOLUTIONS = (
    ((1, 3, 13, 17), (8, 3, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    ((2, 5, 9, 11), (7, 5, 3, 3), (2, 2), (1, 0, 0, 2), (1, 1), 1),
    ((1, 17, 7, 5), (23, 17, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((1, 2, 11, 5), (3, 2, 5, 5), (1, 3), (2, 2, 2, 2), (1, 1), 1),
    ((2, 7, 14, 11), (7, 1, 3, 3), (1, 2), (1, 1, 1, 1), (1, 1), 7),
    ((1, 16, 11, 11), (16, 16, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    ((1, 32, 6, 7), (32, 1, 3, 3), (2, 1), (1, 1, 1, 1), (1, 1), 32),
    ((1, 6, 10, 13), (4, 3, 3, 3), (1, 2), (2, 2, 2, 2), (2, 2), 2),
    ((1, 33, 1, 1), (17, 33, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
)
OTHER_RANKS = (
    ((2, 5, 19), (3, 5, 4), (3,), (0, 5), (2,), 1),
    ((1, 3, 5, 4, 7), (2, 3, 2, 3, 3), (1, 2, 1), (0, 1, 1, 1, 1, 1), (1, 1, 1), 1),
)


def scaled(draw: Draw, terms: int) -> Values:
    """Returns floats whose sums of products of `terms` terms stay near 1; integers as they are."""
    if not is_float(draw.row.operand(0)):
        return lambda a: a
    return lambda a: a / np.asarray(max(1, terms) ** 0.25, a.dtype)


@cases(ConvolutionOp, rows=[*UNIFORM, *SUMMED, *CONVERTED])
def convolution(draw: Draw) -> Iterator[Case]:
    chosen = [*draw.some(CONVOLUTIONS, 3), *draw.some(OTHER_RANKS, 1)]
    for x, w, strides, pads, dilations, group in chosen:
        yield draw.case(
            x,
            w,
            w[:1],
            strides=strides,
            pads=pads,
            dilations=dilations,
            group=group,
            values=scaled(draw, prod(w[1:])),
            constants=(1, 2),
        )


# input, filter, strides, pads, output padding, dilations, group
TRANSPOSED = (
    ((1, 3, 5, 7), (3, 2, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), (1, 1), 1),
    ((2, 7, 3, 4), (7, 5, 4, 1), (1, 3), (0, 0, 2, 0), (0, 2), (1, 1), 1),
    ((1, 6, 5, 3), (6, 1, 2, 3), (3, 1), (0, 1, 0, 0), (0, 0), (2, 1), 3),
    ((2, 5, 11), (5, 3, 4), (2,), (1, 2), (0,), (1,), 1),
)


@cases(TransposedConvolutionOp)
def transposed_convolution(draw: Draw) -> Iterator[Case]:
    for x, w, strides, pads, added, dilations, group in draw.some(TRANSPOSED, 2):
        yield draw.case(
            x,
            w,
            (w[1] * group,),
            strides=strides,
            pads=pads,
            output_padding=added,
            dilations=dilations,
            group=group,
            values=scaled(draw, prod(w[1:])),
            constants=(1, 2),
        )


@cases(FullyConnectedOp, rows=[*UNIFORM, *SUMMED, *CONVERTED])
def fully_connected(draw: Draw) -> Iterator[Case]:
    for m, k, n in draw.some(((1, 67, 10), (1, 5, 3), (7, 33, 21), (2, 1, 1), (3, 16, 32)), 2):
        values = scaled(draw, k)
        yield draw.case((m, k), (n, k), (n,), values=values, constants=(1, 2))


WITHOUT_BIAS = [Row(row.operands[:2], row.results) for row in (*SUMMED, *CONVERTED)]


@cases(MatMulOp, rows=[*UNIFORM, *WITHOUT_BIAS])
def matmul(draw: Draw) -> Iterator[Case]:
    yield from _matrices(draw)


@cases(RoundedMatMulOp, rows=[Row((f32, f32))])
def rounded_matmul(draw: Draw) -> Iterator[Case]:
    yield from _matrices(draw)


def _matrices(draw: Draw) -> Iterator[Case]:
    sizes = (((), 1, 1, 1), ((), 1, 101, 37), ((), 5, 17, 19), ((), 33, 64, 50), ((2, 3), 7, 5, 3))
    for batch, m, k, n in draw.some(sizes, 2):
        turned = [bool(flag) for flag in draw.rng.integers(0, 2, 2)]
        lhs, rhs = (k, m) if turned[0] else (m, k), (n, k) if turned[1] else (k, n)
        yield draw.case(
            (*batch, *lhs),
            (*batch, *rhs),
            transpose_lhs=turned[0],
            transpose_rhs=turned[1],
            values=scaled(draw, k),
            constants=() if batch else (1,),
        )


@cases(PackedMatMulOp)
def packed_matmul(draw: Draw) -> Iterator[Case]:
    for rows, k, (panels, width), columns in draw.some(
        (((3,), 17, (2, 48), 80), ((1, 5), 7, (1, 16), 16), ((13,), 33, (3, 4), 9)), 2
    ):
        yield draw.case(
            (*rows, k),
            (panels, k, width),
            columns=columns,
            values=scaled(draw, k),
            constants=(1,),
        )


@cases(SparseVectorMatMulOp, rows=[Row((element,)) for element in FLOATS])
def sparse_vector_matmul(draw: Draw) -> Iterator[Case]:
    for rows, k, n in draw.some((((1,), 17, 80), ((1, 1), 7, 3), ((), 33, 65), ((1,), 1, 1)), 2):
        scale = scaled(draw, k)
        few = draw.rng.integers(0, 2, (*rows, k))
        yield draw.case(
            (*rows, k),
            (k, n),
            values=lambda a, few=few, scale=scale: scale(a) * (few if a.shape == few.shape else 1),
            constants=(1,),
        )


@cases(AttentionOp, MaskedAttentionOp, rows=[Row((element,)) for element in FLOATS])
def attention(draw: Draw) -> Iterator[Case]:
    """Images, heads, positions of query and key, widths of key and value."""
    sizes = ((1, 2, 7, 9, 4, 3), (2, 1, 1, 13, 5, 17), (1, 3, 17, 5, 11, 1))
    for images, heads, rows, columns, inner, width in draw.some(sizes, 2):
        shapes = [(images, rows, heads, inner), (images, columns, heads, inner)]
        shapes += [(images, columns, heads, width), (images, heads, rows, columns)]
        operands = len(draw.operator.get_irdl_definition().operands)
        yield draw.case(*shapes[:operands], scale=inner**-0.5)
