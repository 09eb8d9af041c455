"""Operators along dimensions: reductions, softmax, and normalisation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...glow_dialects.glow.normalization import (
    BatchNormOp,
    GroupNormOp,
    LayerNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    RmsNormOp,
    SoftmaxOp,
)
from ...glow_dialects.glow.reduction import ReduceProdOp, Reduction
from .cases import Case, Draw, cases

AXES = (
    ((37,), (0,)),
    ((5, 41), (1,)),
    ((41, 5), (0,)),
    ((3, 7, 5), (0, 2)),
    ((2, 1, 17), (0, 1, 2)),
)
IMAGES = ((1, 7, 5, 3), (2, 3, 11), (3, 1, 2, 13), (2, 17))


@cases(Reduction)
def reduction(draw: Draw) -> Iterator[Case]:
    for shape, axes in draw.some(AXES, 2):
        keep = bool(draw.rng.integers(2))
        yield draw.case(shape, axes=axes, keep_dims=keep)
    yield draw.case((2, 11, 7, 3), axes=(2, 3), keep_dims=True)


@cases(ReduceProdOp)
def product(draw: Draw) -> Iterator[Case]:
    """Draws factors near 1: products of others leave the range of their type."""
    for shape, axes in draw.some(AXES, 2):
        yield draw.case(shape, axes=axes, values=lambda a: np.sign(a) + a / np.asarray(8, a.dtype))


@cases(SoftmaxOp, LogSoftmaxOp)
def softmax(draw: Draw) -> Iterator[Case]:
    for shape, axis in draw.some((((1, 101), 1), ((7, 13), 0), ((3, 5, 1), 2), ((2, 3, 19), 1)), 2):
        yield draw.case(shape, axis=axis, values=lambda a: 3 * a)


@cases(LayerNormOp, RmsNormOp)
def layer_norm(draw: Draw) -> Iterator[Case]:
    operands = len(draw.operator.get_irdl_definition().operands)
    for shape, axis in draw.some((((5, 37), 1), ((2, 3, 41), 2), ((3, 7, 5), 1)), 2):
        row = shape[axis:]
        yield draw.case(shape, *[row] * (operands - 1), axis=axis, constants=range(1, operands))


@cases(GroupNormOp)
def group_norm(draw: Draw) -> Iterator[Case]:
    for shape, groups in draw.some((((2, 6, 5, 3), 3), ((1, 7, 11), 7), ((2, 5, 13), 1)), 2):
        yield draw.case(shape, shape[1:2], shape[1:2], groups=groups, constants=(1, 2))


@cases(LocalResponseNormOp)
def local_response_norm(draw: Draw) -> Iterator[Case]:
    for shape, size in draw.some([(s, n) for s in IMAGES for n in (1, 2, 5)], 2):
        yield draw.case(shape, size=size, alpha=0.3, beta=0.75, k=1.5)


@cases(BatchNormOp)
def batch_norm(draw: Draw) -> Iterator[Case]:
    for shape in draw.some(IMAGES, 2):
        (channels,) = each = shape[1:2]
        variance = draw.rng.uniform(0.5, 2, channels)
        parameters = range(1, 5)
        yield draw.case(shape, *[each] * 4, arrays={4: variance}, constants=parameters)
