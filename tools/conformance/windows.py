"""Pooling, of tensors with channels first and of blocked ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import f32, i8

from ...glow_dialects.glow.pooling import AvgPoolOp, LpPoolOp, MaxPoolOp
from ...glow_dialects.glow_cpu.blocked import BlockedAvgPoolOp, BlockedMaxPoolOp
from ...glow_dialects.quant import QuantizedType
from .cases import FLOATS, UNIFORM, Case, Draw, Row, cases

ROWS = (*UNIFORM, Row((QuantizedType(i8, f32, 0.05, 3),)))

# input, kernel, strides, pads, ceil_mode
POOLS = (
    ((1, 3, 13, 13), (3, 3), (2, 2), (0, 0, 0, 0), False),
    ((2, 5, 7, 11), (2, 2), (2, 2), (0, 0, 0, 0), False),
    ((1, 4, 11, 15), (3, 3), (2, 2), (1, 1, 1, 1), True),
    ((1, 17, 5, 6), (3, 3), (1, 1), (1, 1, 1, 1), False),
    ((2, 3, 7, 9), (7, 9), (1, 1), (0, 0, 0, 0), False),
    ((1, 2, 12, 14), (3, 2), (3, 5), (0, 1, 1, 0), True),
)
OTHER_RANKS = (
    ((2, 3, 29), (4,), (3,), (1, 2), False),
    ((1, 2, 5, 6, 7), (2, 2, 2), (1, 2, 2), (0, 1, 0, 1, 0, 1), False),
)
BLOCKS = (4, 8, 16)


def pools(draw: Draw, block: tuple[int, ...] = (), **properties: Any) -> Iterator[Case]:
    for x, kernel, strides, pads, ceil_mode in (
        *draw.some(POOLS, 2),
        *draw.some(OTHER_RANKS, 1),
    ):
        yield draw.case(
            (*x, *block),
            kernel=kernel,
            strides=strides,
            pads=pads,
            dilations=[1] * len(kernel),
            ceil_mode=ceil_mode,
            **properties,
        )


@cases(MaxPoolOp, rows=ROWS)
def max_pool(draw: Draw) -> Iterator[Case]:
    yield from pools(draw)


@cases(AvgPoolOp)
def avg_pool(draw: Draw) -> Iterator[Case]:
    yield from pools(draw, count_include_pad=bool(draw.rng.integers(2)))


@cases(LpPoolOp, rows=[Row((e,)) for e in FLOATS])
def lp_pool(draw: Draw) -> Iterator[Case]:
    yield from pools(draw, p=int(draw.rng.integers(1, 4)))


@cases(BlockedMaxPoolOp)
def blocked_max_pool(draw: Draw) -> Iterator[Case]:
    yield from pools(draw, tuple(draw.some(BLOCKS, 1)))


@cases(BlockedAvgPoolOp)
def blocked_avg_pool(draw: Draw) -> Iterator[Case]:
    block = tuple(draw.some(BLOCKS, 1))
    yield from pools(draw, block, count_include_pad=bool(draw.rng.integers(2)))
