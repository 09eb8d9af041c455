"""Products of groups of neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from xdsl.dialects.builtin import bf16, f32, i8, i16, i32

from ...glow_dialects.elements import is_float
from ...glow_dialects.glow_cpu.dot import DotConvolutionOp, DotMatMulOp
from ...glow_dialects.glow_cpu.winograd import TILES, DotWinogradConvolutionOp
from ...glow_dialects.integers import u8
from ...semantics.winograd import transform_dot_filter
from .blocked import WINDOWS
from .cases import Case, Draw, Row, cases
from .products import scaled

ELEMENTS = ((bf16, bf16, f32), (u8, i8, i32), (i8, i8, i32), (i16, i16, i32))
ROWS = [Row((a, b, total), (total,)) for a, b, total in ELEMENTS]
PANELS = (4, 8, 16)
DOT_WINDOWS = (
    ((7, 13), (3, 3), (1, 1), (1, 1)),
    ((3, 3), (3, 3), (1, 1), (1, 1)),
    ((9, 11), (5, 3), (1, 2), (1, 1)),
    ((13,), (3,), (1,), (2,)),
    ((4, 5, 6), (2, 3, 3), (1, 1, 1), (1, 1, 1)),
)


def groups(draw: Draw) -> tuple[int, ...]:
    """Returns the sizes of groups: 8-bit elements have groups of 4 or pairs."""
    element = draw.row.operand(0)
    return (2,) if is_float(element) or element == i16 else (4, 2)


@cases(DotConvolutionOp, rows=ROWS)
def dot_convolution(draw: Draw) -> Iterator[Case]:
    for sizes, kernel, strides, dilations in draw.some(WINDOWS, 2):
        for terms in groups(draw):
            for panel in PANELS:
                yield draw.case(
                    (1, 2, *sizes, 16),
                    (3, 2, *kernel, 16 // terms, panel, terms),
                    (3, panel),
                    strides=strides,
                    dilations=dilations,
                    values=scaled(draw, 32 * prod(kernel)),
                    constants=(1, 2),
                )
            yield draw.case(
                (1, 4, *sizes, 16),
                (6, 2, *kernel, 16 // terms, 16, terms),
                (6, 16),
                strides=strides,
                dilations=dilations,
                group=2,
                values=scaled(draw, 32 * prod(kernel)),
                constants=(1, 2),
            )


@cases(DotWinogradConvolutionOp, rows=[Row((x, i16, i32), (i32,)) for x in (u8, i8)])
def dot_winograd_convolution(draw: Draw) -> Iterator[Case]:
    for tile, panel in product(TILES, draw.some(PANELS, 2)):
        sizes, kernel, strides, dilations = draw.some(DOT_WINDOWS, 1)[0]
        group = int(draw.rng.integers(1, 3))
        narrow = draw.array((3 * group, 2, *kernel, 4, panel, 2), i8)
        filters = transform_dot_filter(narrow, tile, strides)
        yield draw.case(
            (1, 2 * group, *sizes, 8),
            filters.shape,
            (3 * group, panel),
            tile=tile,
            group=group,
            kernel=list(kernel),
            strides=list(strides),
            dilations=list(dilations),
            arrays={1: filters},
            constants=(1, 2),
        )


@cases(DotMatMulOp, rows=[Row(row.operands[:2], row.results) for row in ROWS])
def dot_matmul(draw: Draw) -> Iterator[Case]:
    for rows, count, columns in draw.some((((3,), 9, 37), ((1, 7), 3, 5), ((13,), 1, 80)), 2):
        for terms in groups(draw):
            for panel in PANELS:
                inner = count * terms
                yield draw.case(
                    (*rows, inner),
                    (-(-columns // panel), count, panel, terms),
                    columns=columns,
                    values=scaled(draw, inner),
                    constants=(1,),
                )
