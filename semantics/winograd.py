"""
Winograd convolution in numpy: its transforms in float64, rounded once at the end. In float64, those
of integers are exact.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ..glow_dialects.glow_cpu.winograd import (
    PARTS,
    DotWinogradConvolutionOp,
    WinogradConvolutionOp,
    has_parts,
    window_offsets,
)
from ..glow_dialects.operator import Call, element_of
from .arrays import numpy_dtype
from .bf16_parts import pairs_of_bf16, part_bits
from .cook_toom import KERNEL, Matrix, Transforms, integer_transforms, winograd_transforms
from .registry import meaning


def as_array(matrix: Matrix) -> np.ndarray:
    """Returns a matrix of rationals in float64."""
    return np.array([[float(c) for c in row] for row in matrix])


def transform_filter(w: np.ndarray, tile: int) -> np.ndarray:
    """
    Returns the packed filter [O / b, C / b, 3, 3, b, b] of a blocked convolution as that of a
    Winograd convolution, [(tile + 2)^2, O / b, C, b]: `G g G^T` for each pair of channels, computed
    in float64 and rounded once. The parts of a larger kernel are further channels.
    """
    w = _in_windows(w)
    g = as_array(winograd_transforms(tile).filters)
    both = np.kron(g, g)
    outputs, inputs, *_, rows, lanes = w.shape
    flat = w.reshape(outputs, inputs, KERNEL * KERNEL, rows * lanes)
    result = np.empty((len(both), outputs, inputs, rows * lanes), w.dtype)
    for o in range(outputs):
        # one block of output channels at a time stays in the cache
        product = both @ flat[o].astype(np.float64)
        result[:, o] = product.transpose(1, 0, 2)
    return result.reshape(len(both), outputs, inputs * rows, lanes)


def _in_windows(w: np.ndarray) -> np.ndarray:
    """Returns a filter [O / b, C / b, *kernel, b, b] as one of 3 x 3 of more channels."""
    if w.shape[2:-2] == (KERNEL, KERNEL):
        return w
    *_, rows, columns, width, lanes = w.shape
    whole = w.reshape(*w.shape[:2], -1, rows, columns, width, lanes)
    parts: list[np.ndarray] = []
    for i, row in enumerate(window_offsets(rows)):
        for j, column in enumerate(window_offsets(columns)):
            part = whole[:, :, :, row : row + KERNEL, column : column + KERNEL].copy()
            # what a former part has
            part[:, :, :, : KERNEL * i - row] = 0
            part[:, :, :, :, : KERNEL * j - column] = 0
            parts.append(part.swapaxes(1, 2))
    return np.concatenate(parts, 1).reshape(len(w), -1, KERNEL, KERNEL, width, lanes)


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
    m, n, group = call.int("tile"), len(x), call.int("group")
    if has_parts(call):
        u = _sum_of_parts(u, x.shape[1] * x.shape[-1])
    images = [_windows(call, part) for part in np.split(x, group, 1)]
    parts = zip(images, np.split(u, group, 1), strict=True)
    y = np.concatenate([_convolved(m, winograd_transforms(m), v, w) for v, w in parts], 1)
    y += b[:, :, None, None]
    outputs, width, *counts = y.shape[1:]
    pool = call.int("pool")
    if pool > 1:
        kept = [c // pool for c in counts]
        y = y[..., : kept[0] * pool, : kept[1] * pool]
        y = y.reshape(-1, outputs, width, kept[0], pool, kept[1], pool).max((4, 6))
    if x.ndim == 6:
        # [N * D, O / b, b, rows, columns] to [N, O / b, b, D, rows, columns]
        y = np.moveaxis(y.reshape(n, -1, *y.shape[1:]), 1, 3)
    return np.moveaxis(y, 2, -1).astype(numpy_dtype(element_of(call.results[0])))


def _windows(call: Call, x: np.ndarray) -> np.ndarray:
    """
    Returns the parts of the input that the parts of a kernel meet, as images with more channels:
    [N, C / b, *sizes, b] as [N * D, P * C / b, H, W, b].
    """
    *slices, rows, columns = call.ints("kernel")
    if not slices:
        x, slices = x[:, :, None], [1]
    (depth,), lanes = slices, x.shape[-1]
    windows = np.lib.stride_tricks.sliding_window_view(x, depth, axis=2)
    # [N, C / b, D, H, W, b, K] to [N, D, K, C / b, H, W, b]
    windows = windows.transpose(0, 2, 6, 1, 3, 4, 5)
    high, wide = (n - size + KERNEL for n, size in zip(x.shape[3:5], (rows, columns), strict=True))
    parts = [
        windows[..., row : row + high, column : column + wide, :]
        for row in window_offsets(rows)
        for column in window_offsets(columns)
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
    y = np.rint(_convolved(m, t, x, filters) / t.divisor**2).astype(np.int64)
    return np.moveaxis(y + b[:, :, None, None], 2, -1).astype(np.int32)


def _convolved(m: int, t: Transforms, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """
    Returns the convolution of a blocked tensor with a transformed filter [a^2, O / b, C, b] in
    float64, as [N, O / b, b, rows, columns].
    """
    bt, at = as_array(t.inputs), as_array(t.outputs)
    a = m + KERNEL - 1
    n, blocks, *sizes, lanes = x.shape
    counts = [s - KERNEL + 1 for s in sizes]
    tiles = [-(-c // m) for c in counts]
    around = [(0, ts * m + KERNEL - 1 - s) for ts, s in zip(tiles, sizes, strict=True)]
    whole = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *around, (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(whole, (a, a), axis=(2, 3))
    # d [n, block, tile row, tile column, lane, a, a]
    d = windows[:, :, ::m, ::m]
    v = bt @ d @ bt.T
    v = v.transpose(5, 6, 0, 2, 3, 1, 4).reshape(a * a, -1, blocks * lanes)
    _, outputs, _, width = u.shape
    filters = u.astype(np.float64).transpose(0, 2, 1, 3).reshape(a * a, -1, outputs * width)
    products = (v @ filters).reshape(a, a, n, *tiles, outputs * width)
    y = at @ products.transpose(2, 3, 4, 5, 0, 1) @ at.T
    # y [n, tile row, tile column, channel, m, m]
    y = y.transpose(0, 3, 1, 4, 2, 5).reshape(n, outputs, width, tiles[0] * m, tiles[1] * m)
    return y[..., : counts[0], : counts[1]]
