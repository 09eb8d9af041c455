"""Convolution as a matrix product of the filter with the windows of the input."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..glow_dialects.glow.convolution import ConvolutionOp
from ..glow_dialects.operator import Call, shape_of
from .registry import factors, meaning, summed


def windows(
    x: np.ndarray,
    kernel: Sequence[int],
    counts: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> np.ndarray:
    """
    Returns a view [..., *kernel, *counts] of `x` [..., *spatial]: all windows, without copying.

    `x` must be large enough for `counts` windows in each dimension.
    """
    n = len(kernel)
    lead, steps = x.shape[:-n], x.strides[-n:]
    within = _apart(steps, dilations, kernel)
    between = _apart(steps, strides, counts)
    return np.lib.stride_tricks.as_strided(
        x, (*lead, *kernel, *counts), (*x.strides[:-n], *within, *between), writeable=False
    )


def _apart(steps: Sequence[int], factors: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Returns strides in bytes; those of one element, which may be of any size, are zero."""
    each = zip(steps, factors, counts, strict=True)
    return [step * factor if count > 1 else 0 for step, factor, count in each]


def pad_spatial(x: np.ndarray, low: Sequence[int], high: Sequence[int], value: float) -> np.ndarray:
    """
    Returns `x` [N, C, *spatial] with `value` around its spatial dimensions; `x` itself if nowhere.
    """
    if not any((*low, *high)):
        return x
    around = [(0, 0), (0, 0), *zip(low, high, strict=True)]
    return np.pad(x, around, constant_values=value)


@meaning(ConvolutionOp)
def convolution(call: Call, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    x, w = factors(call, x, w)
    batch, outputs, *counts = shape_of(call.results[0])
    n = len(counts)
    group, pads = call.int("group"), call.ints("pads")
    filters = w.reshape(group, outputs // group, -1)
    padded = pad_spatial(x, pads[:n], pads[n:], 0)
    result = np.empty((batch, outputs, *counts), x.dtype)
    if not result.size:
        return result.astype(b.dtype)
    view = windows(padded, w.shape[2:], counts, call.ints("strides"), call.ints("dilations"))
    # one image at a time: the windows of a whole batch would take too much memory
    for image, out in zip(view, result, strict=True):
        columns = image.reshape(group, filters.shape[2], prod(counts))
        np.matmul(filters, columns, out=out.reshape(group, outputs // group, -1))
    return summed(call, result, b.reshape(-1, *[1] * n))
