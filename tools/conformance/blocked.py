"""Operators on tensors with blocks of channels, which passes make for the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from ...glow_dialects.glow_cpu.blocked import (
    BlockedConvolutionOp,
    BlockedDepthwiseConvolutionOp,
    LaneSumConvolutionOp,
    PackChannelsOp,
    UnpackChannelsOp,
)
from ...glow_dialects.glow_cpu.winograd import (
    WinogradConvolutionOp,
    axes_of,
    kernel_parts,
    tile_elements,
)
from .cases import FLOATS, Case, Draw, Row, cases
from .products import SUMMED, scaled
from .windows import BLOCKS

CHANNELS = ((1, 17, 5, 3), (2, 3, 11), (1, 32, 7, 1), (3, 5))
FLOAT_ROWS = [Row((element,)) for element in FLOATS]

# sizes of the input, of the filter, strides, dilations
WINDOWS = (
    ((13, 7), (3, 3), (1, 1), (1, 1)),
    ((11, 17), (3, 2), (2, 3), (1, 1)),
    ((9, 11), (3, 3), (1, 1), (2, 1)),
    ((5, 3), (1, 1), (1, 1), (1, 1)),
)


@cases(PackChannelsOp)
def pack_channels(draw: Draw) -> Iterator[Case]:
    for shape in draw.some(CHANNELS, 2):
        yield draw.case(shape, block=draw.some(BLOCKS, 1)[0])


@cases(UnpackChannelsOp)
def unpack_channels(draw: Draw) -> Iterator[Case]:
    for batch, channels, *sizes in draw.some(CHANNELS, 2):
        (block,) = draw.some(BLOCKS, 1)
        yield draw.case((batch, -(-channels // block), *sizes, block), channels=channels)


@cases(BlockedConvolutionOp, rows=FLOAT_ROWS)
def blocked_convolution(draw: Draw) -> Iterator[Case]:
    for sizes, kernel, strides, dilations in draw.some(WINDOWS, 2):
        inputs, outputs = (int(n) for n in draw.rng.integers(1, 4, 2))
        (block,) = draw.some(BLOCKS, 1)
        properties = {"strides": strides, "dilations": dilations, "constants": (1, 2)}
        bias = (outputs, block)
        yield draw.case(
            (1, inputs, *sizes, block),
            (outputs, inputs, *kernel, block, block),
            bias,
            values=scaled(draw, inputs * block * prod(kernel)),
            **properties,
        )
        group = int(draw.rng.integers(2, 4))
        yield draw.case(
            (1, group * inputs, *sizes, block),
            (group * outputs, inputs, *kernel, block, block),
            (group * outputs, block),
            values=scaled(draw, inputs * block * prod(kernel)),
            group=group,
            **properties,
        )
        yield draw.case(
            (2, inputs, *sizes),
            (outputs, inputs, *kernel, block),
            bias,
            values=scaled(draw, inputs * prod(kernel)),
            **properties,
        )


@cases(LaneSumConvolutionOp, rows=FLOAT_ROWS)
def lane_sum_convolution(draw: Draw) -> Iterator[Case]:
    for sizes, kernel, strides, dilations in draw.some(WINDOWS, 2):
        inputs, outputs = (int(n) for n in draw.rng.integers(1, 4, 2))
        (block,) = draw.some(BLOCKS, 1)
        yield draw.case(
            (2, inputs, *sizes, block),
            (outputs, inputs, *kernel, block),
            (outputs,),
            values=scaled(draw, inputs * block * prod(kernel)),
            strides=strides,
            dilations=dilations,
            constants=(1, 2),
        )


@cases(BlockedDepthwiseConvolutionOp, rows=[*FLOAT_ROWS, *SUMMED])
def blocked_depthwise_convolution(draw: Draw) -> Iterator[Case]:
    for sizes, kernel, strides, dilations in draw.some(WINDOWS, 2):
        (block,) = draw.some(BLOCKS, 1)
        yield draw.case(
            (2, 3, *sizes, block),
            (3, *kernel, block),
            (3, block),
            strides=strides,
            dilations=dilations,
            values=scaled(draw, prod(kernel)),
            constants=(1, 2),
        )


@cases(WinogradConvolutionOp, rows=FLOAT_ROWS)
def winograd_convolution(draw: Draw) -> Iterator[Case]:
    for rows, columns in draw.some(((7, 13), (3, 3), (9, 6), (5, 17)), 2):
        yield _winograd(draw, (1, 2, rows, columns, 16), draw.some((2, 4), 1)[0], (3, 3))
    yield _winograd(draw, (1, 4, 7, 9, 16), 4, (3, 3), group=2)
    yield _winograd(draw, (2, 1, 4, 7, 6, 16), 2, (3, 3, 3))
    yield _winograd(draw, (1, 2, 21, 16), 4, (5,), dilations=[2])
    yield _winograd(draw, (1, 1, 12, 9, 16), 2, (3, 4), strides=[2, 2])


def _winograd(
    draw: Draw,
    shape: Sequence[int],
    tile: int,
    kernel: Sequence[int],
    group: int = 1,
    **options: Any,
) -> Case:
    plain = {name: [1] * len(kernel) for name in ("dilations", "strides")}
    axes = axes_of(tile, kernel, options.get("strides"))
    channels = kernel_parts(axes) * shape[1] * shape[-1] // group
    return draw.case(
        shape,
        (tile_elements(axes), 3 * group, channels, shape[-1]),
        (3 * group, shape[-1]),
        tile=tile,
        group=group,
        kernel=list(kernel),
        **{**plain, **options},
        values=scaled(draw, channels * 9),
        constants=(1, 2),
    )
