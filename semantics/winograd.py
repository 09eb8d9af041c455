"""
Winograd convolution in numpy: its transforms in float64, rounded once at the end. In float64, those
of integers are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import ml_dtypes
import numpy as np

from ..glow_dialects.glow_cpu.winograd import (
    KERNEL,
    PARTS,
    Axis,
    DotWinogradConvolutionOp,
    WinogradConvolutionOp,
    axes_of,
    has_parts,
)
from ..glow_dialects.operator import Call, element_of, shape_of
from .arrays import numpy_dtype
from .bf16_parts import pairs_of_bf16, part_bits
from .cook_toom import Matrix, Transforms, integer_transforms, winograd_transforms
from .registry import meaning


def as_array(matrix: Matrix) -> np.ndarray:
    """Returns a matrix of rationals in float64."""
    return np.array([[float(c) for c in row] for row in matrix])


def transform_filter(w: np.ndarray, tile: int) -> np.ndarray:
    """
    Returns the packed filter [O / b, C / b, *kernel, b, b] of a blocked convolution as that of a
    Winograd convolution, such as [(tile + 2)^2, O / b, C, b] for a kernel of 3 x 3: `G g G^T` for
    each pair of channels, computed in float64 and rounded once. The parts of a larger kernel are
    further channels.
    """
    axes = axes_of(tile, w.shape[2:-2])
    both = np.kron(*(as_array(winograd_transforms(axis.tile).filters) for axis in axes))
    w = _in_windows(w, axes)
    outputs, inputs, _, _, rows, lanes = w.shape
    flat = w.reshape(outputs, inputs, -1, rows * lanes)
    result = np.empty((len(both), outputs, inputs, rows * lanes), w.dtype)
    for o in range(outputs):
        # one block of output channels at a time stays in the cache
        product = both @ flat[o].astype(np.float64)
        result[:, o] = product.transpose(1, 0, 2)
    return result.reshape(len(both), outputs, inputs * rows, lanes)


def _in_windows(w: np.ndarray, axes: Sequence[Axis]) -> np.ndarray:
    """
    Returns a filter [O / b, C / b, *kernel, b, b] as one of more channels, whose kernel is one part
    along both axes.
    """
    row, column = axes
    *spatial, width, lanes = (1, *w.shape[2:])
    if tuple(spatial[-2:]) == (row.part, column.part) and prod(spatial[:-2]) == 1:
        return w.reshape(*w.shape[:2], row.part, column.part, width, lanes)
    whole = w.reshape(*w.shape[:2], -1, *spatial[-2:], width, lanes)
    parts: list[np.ndarray] = []
    for i, top in enumerate(row.offsets):
        for j, left in enumerate(column.offsets):
            part = whole[:, :, :, top : top + row.part, left : left + column.part].copy()
            # what a former part has
            part[:, :, :, : row.part * i - top] = 0
            part[:, :, :, :, : column.part * j - left] = 0
            parts.append(part.swapaxes(1, 2))
    return np.concatenate(parts, 1).reshape(len(w), -1, row.part, column.part, width, lanes)


def filter_in_parts(u: np.ndarray, lanes: int) -> np.ndarray:
    """
    Returns a transformed filter [a^2, O / b, C, b] of f32 as the sum of parts of bf16 for an input
    in blocks of `lanes` channels, [a^2, O / b, ceil(C / 2 lanes), 3, lanes, b, 2].
    """
    elements, outputs, inputs, block = u.shape
    pairs = -(-inputs // (2 * lanes))
    result = np.empty((elements, outputs, pairs, PARTS, lanes, block, 2), ml_dtypes.bfloat16)
    missing = 2 * lanes * pairs - inputs
    for e in range(elements):
        # one element at a time stays in the cache
        plane = np.pad(u[e], [(0, 0), (0, missing), (0, 0)]) if missing else u[e]
        for i, bits in enumerate(part_bits(plane)):
            split = bits.reshape(outputs, pairs, 2, lanes, block)
            result[e, :, :, i] = pairs_of_bf16(split[:, :, 0], split[:, :, 1])
    return result


def _sum_of_parts(w: np.ndarray, inputs: int) -> np.ndarray:
    """Returns the inverse of `filter_in_parts`, in float64."""
    u = w.astype(np.float64).sum(3).transpose(0, 1, 2, 5, 3, 4)
    return u.reshape(*u.shape[:2], -1, u.shape[-1])[:, :, :inputs]


def transform_dot_filter(w: np.ndarray, tile: int) -> np.ndarray:
    """
    Returns the filter of bytes [O / p, C / b, 3, 3, g, p, 2] of a convolution of pairs as that of a
    Winograd convolution of integers, [(tile + 2)^2, O / p, C / b, g, p, 2].
    """
    g = as_array(integer_transforms(tile).filters)
    both = np.kron(g, g)
    outputs, inputs, *_ = w.shape
    flat = w.reshape(outputs, inputs, KERNEL * KERNEL, -1)
    result = np.empty((len(both), outputs, inputs, flat.shape[-1]), np.int16)
    for o in range(outputs):
        # one panel at a time stays in the cache
        result[:, o] = (both @ flat[o].astype(np.float64)).transpose(1, 0, 2)
    return result.reshape(len(both), outputs, inputs, *w.shape[4:])


@meaning(WinogradConvolutionOp)
def winograd_convolution(call: Call, x: np.ndarray, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    n, group = len(x), call.int("group")
    axes = axes_of(call.int("tile"), call.ints("kernel"))
    if has_parts(call):
        u = _sum_of_parts(u, x.shape[1] * x.shape[-1])
    images = [_windows(call, axes, part) for part in np.split(x, group, 1)]
    parts = zip(images, np.split(u, group, 1), strict=True)
    transforms = [winograd_transforms(axis.tile) for axis in axes]
    y = np.concatenate([_convolved(axes, transforms, v, w) for v, w in parts], 1)
    y += b[:, :, None, None]
    outputs, width, *counts = y.shape[1:]
    pool = call.int("pool")
    if pool > 1:
        kept = [c // pool for c in counts]
        y = y[..., : kept[0] * pool, : kept[1] * pool]
        y = y.reshape(-1, outputs, width, kept[0], pool, kept[1], pool).max((4, 6))
    # [N * D, O / b, b, rows, columns] to [N, O / b, D, rows, columns, b]
    y = np.moveaxis(y.reshape(n, -1, *y.shape[1:]), (1, 3), (2, -1))
    result = call.results[0]
    return y.reshape(shape_of(result)).astype(numpy_dtype(element_of(result)))


def _windows(call: Call, axes: Sequence[Axis], x: np.ndarray) -> np.ndarray:
    """
    Returns the parts of the input that the parts of a kernel meet, as images with more channels:
    [N, C / b, *sizes, b] as [N * D, P * C / b, H, W, b].
    """
    *slices, rows, columns = (1, 1, *call.ints("kernel"))
    *_, depth, high, wide, lanes = (1, 1, *x.shape[2:])
    x = x.reshape(*x.shape[:2], depth, high, wide, lanes)
    windows = np.lib.stride_tricks.sliding_window_view(x, slices[-1], axis=2)
    # [N, C / b, D, H, W, b, K] to [N, D, K, C / b, H, W, b]
    windows = windows.transpose(0, 2, 6, 1, 3, 4, 5)
    row, column = axes
    high, wide = high - rows + row.part, wide - columns + column.part
    parts = [
        windows[..., top : top + high, left : left + wide, :]
        for top in row.offsets
        for left in column.offsets
    ]
    return np.concatenate(parts, 2).reshape(
        windows.shape[0] * windows.shape[1], -1, high, wide, lanes
    )


@meaning(DotWinogradConvolutionOp)
def dot_winograd_convolution(call: Call, x: np.ndarray, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    m = call.int("tile")
    t = integer_transforms(m)
    planes, outputs, _, _, width, _ = u.shape
    filters = u.transpose(0, 1, 2, 3, 5, 4).reshape(planes, outputs, -1, width)
    axes = axes_of(m, (KERNEL, KERNEL))
    y = np.rint(_convolved(axes, (t, t), x, filters) / t.divisor**2).astype(np.int64)
    return np.moveaxis(y + b[:, :, None, None], 2, -1).astype(np.int32)


def _convolved(
    axes: Sequence[Axis], transforms: Sequence[Transforms], x: np.ndarray, u: np.ndarray
) -> np.ndarray:
    """
    Returns the convolution of a blocked tensor with a transformed filter [a^2, O / b, C, b] in
    float64, as [N, O / b, b, rows, columns].
    """
    n, blocks, *sizes, lanes = x.shape
    sides, steps = [axis.side for axis in axes], [axis.tile for axis in axes]
    counts = [s - axis.part + 1 for s, axis in zip(sizes, axes, strict=True)]
    tiles = [-(-c // m) for c, m in zip(counts, steps, strict=True)]
    covered = [(ts - 1) * m + a for ts, m, a in zip(tiles, steps, sides, strict=True)]
    around = [(0, whole - s) for whole, s in zip(covered, sizes, strict=True)]
    whole = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *around, (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(whole, sides, axis=(2, 3))
    # d [n, block, tile row, tile column, lane, *sides]
    d = windows[:, :, :: steps[0], :: steps[1]]
    v = _both(d, [t.inputs for t in transforms])
    v = v.transpose(5, 6, 0, 2, 3, 1, 4).reshape(prod(sides), -1, blocks * lanes)
    _, outputs, _, width = u.shape
    filters = u.astype(np.float64).transpose(0, 2, 1, 3).reshape(len(v), -1, outputs * width)
    products = (v @ filters).reshape(*sides, n, *tiles, outputs * width)
    y = _both(products.transpose(2, 3, 4, 5, 0, 1), [t.outputs for t in transforms])
    # y [n, tile row, tile column, channel, *steps]
    y = y.transpose(0, 3, 1, 4, 2, 5)
    high, wide = (ts * m for ts, m in zip(tiles, steps, strict=True))
    return y.reshape(n, outputs, width, high, wide)[..., : counts[0], : counts[1]]


def _both(tiles: np.ndarray, matrices: Sequence[Matrix]) -> np.ndarray:
    """Returns the products of matrices with tiles [..., rows, columns] along both dimensions."""
    rows, columns = map(as_array, matrices)
    return rows @ tiles @ columns.T
