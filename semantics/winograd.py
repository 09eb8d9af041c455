"""
Winograd convolution in numpy: its transforms in float64, rounded once at the end. In float64, those
of integers are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import product
from math import prod

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike

from ..glow_dialects.glow_cpu.winograd import (
    PARTS,
    Axis,
    DotWinogradConvolutionOp,
    WinogradConvolutionOp,
    axes_of,
    axes_of_call,
    has_parts,
    window_of,
)
from ..glow_dialects.operator import Call, element_of, shape_of
from .arrays import numpy_dtype
from .bf16_parts import pairs_of_bf16, part_bits
from .cook_toom import Matrix, Transforms, integer_transforms, winograd_transforms
from .registry import meaning


def as_array(matrix: Matrix) -> np.ndarray:
    """Returns a matrix of rationals in float64."""
    return np.array([[float(c) for c in row] for row in matrix])


def transform_filter(w: np.ndarray, tile: int, strides: Sequence[int] | None = None) -> np.ndarray:
    """
    Returns the packed filter [O / b, C / b, *kernel, b, b] of a blocked convolution as that of a
    Winograd convolution, such as [(tile + 2)^2, O / b, C, b] for a kernel of 3 x 3: `G g G^T` for
    each pair of channels, computed in float64 and rounded once. The parts of a larger kernel are
    further channels.
    """
    axes = axes_of(tile, w.shape[2:-2], strides)
    u = _transformed_filter(_in_windows(w, axes), map(transforms_of, axes), w.dtype)
    elements, outputs, inputs, rows, lanes = u.shape
    return u.reshape(elements, outputs, inputs * rows, lanes)


def _transformed_filter(
    w: np.ndarray, transforms: Iterable[Transforms], dtype: DTypeLike
) -> np.ndarray:
    """
    Returns the transform [elements, O / b, C / b, ...] of a filter [O / b, C / b, *kernel, ...]
    with matrices for each dimension of the kernel.
    """
    matrices = [as_array(t.filters) for t in transforms]
    outputs, inputs, *rest = w.shape
    whole, inside = reduce(np.kron, matrices), rest[len(matrices) :]
    flat = w.reshape(outputs, inputs, whole.shape[1], prod(inside))
    result = np.empty((len(whole), outputs, inputs, prod(inside)), dtype)
    for o in range(outputs):
        # one block of output channels at a time stays in the cache
        result[:, o] = (whole @ flat[o].astype(np.float64)).transpose(1, 0, 2)
    return result.reshape(len(whole), outputs, inputs, *inside)


def transforms_of(axis: Axis) -> Transforms:
    """Returns the matrices of one dimension."""
    return winograd_transforms(axis.tile, axis.part, axis.stride)


def integer_transforms_of(axis: Axis) -> Transforms:
    """Returns the same for bytes."""
    return integer_transforms(axis.tile, axis.part, axis.stride)


def integer_divisor(axes: Sequence[Axis]) -> int:
    """Returns the number by which outputs of bytes are too large before they are divided."""
    return prod(integer_transforms_of(axis).divisor for axis in axes)


def _in_windows(w: np.ndarray, axes: Sequence[Axis]) -> np.ndarray:
    """
    Returns a filter [O / b, C / b, *kernel, ...] as one of more channels, whose kernel is a single
    part.
    """
    parts: list[np.ndarray] = []
    for places in product(*(enumerate(axis.offsets) for axis in axes)):
        part = w[_part(places, [axis.part for axis in axes])]
        for n, ((i, at), axis) in enumerate(zip(places, axes, strict=True)):
            shared = axis.part * i - at
            if shared:
                # what a former part has
                part = part.copy()
                np.moveaxis(part, n + 2, 0)[:shared] = 0
        parts.append(part)
    return np.concatenate(parts, 1) if len(parts) > 1 else w


def _part(places: Sequence[tuple[int, int]], sizes: Sequence[int]) -> tuple[slice, ...]:
    """Returns the index of a part, of some sizes and at some places, of a blocked tensor."""
    windows = [slice(at, at + size) for (_, at), size in zip(places, sizes, strict=True)]
    return slice(None), slice(None), *windows


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


def transform_dot_filter(
    w: np.ndarray, tile: int, strides: Sequence[int] | None = None
) -> np.ndarray:
    """
    Returns the filter of bytes [O / p, C / b, *kernel, g, p, 2] of a convolution of pairs as that
    of a Winograd convolution of integers, such as [(tile + 2)^2, O / p, C / b, g, p, 2] for a
    kernel of 3 x 3.
    """
    axes = axes_of(tile, w.shape[2:-3], strides)
    return _transformed_filter(_in_windows(w, axes), map(integer_transforms_of, axes), np.int16)


@meaning(WinogradConvolutionOp)
def winograd_convolution(call: Call, x: np.ndarray, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    if has_parts(call):
        u = _sum_of_parts(u, x.shape[1] * x.shape[-1])
    pool = call.int("pool")
    y = _by_phases(call, x, u, transforms_of, pool) + b.reshape(*b.shape, *[1] * (x.ndim - 3))
    if pool > 1:
        batch, outputs, width, rows, columns = y.shape
        y = y.reshape(batch, outputs, width, rows // pool, pool, columns // pool, pool).max((4, 6))
    return np.moveaxis(y, 2, -1).astype(numpy_dtype(element_of(call.results[0])))


def _by_phases(
    call: Call,
    x: np.ndarray,
    u: np.ndarray,
    transforms: Callable[[Axis], Transforms],
    pool: int = 1,
) -> np.ndarray:
    """Returns the convolution without bias and pooling, as `_convolved` does."""
    _, dilations, _ = window_of(call)
    batch, outputs, *counts, width = shape_of(call.results[0])
    # what is left over at the end is not pooled
    y = np.empty((batch, outputs, width, *(n * pool for n in counts)))
    for first in product(*map(range, map(min, dilations, y.shape[3:]))):
        phase = [slice(n, None, d) for n, d in zip(first, dilations, strict=True)]
        part = y[(..., *phase)]
        image = x[(slice(None), slice(None), *phase)]
        found = _by_groups(call, image, u, transforms)
        part[...] = found[(..., *map(slice, part.shape[3:]))]
    return y


def _by_groups(
    call: Call, x: np.ndarray, u: np.ndarray, transforms: Callable[[Axis], Transforms]
) -> np.ndarray:
    """Returns the convolution without dilations, bias and pooling, as `_convolved` does."""
    group, axes = call.int("group"), axes_of_call(call)
    images = [_windows(axes, call.ints("kernel"), part) for part in np.split(x, group, 1)]
    parts = zip(images, np.split(u, group, 1), strict=True)
    matrices = list(map(transforms, axes))
    return np.concatenate([_convolved(axes, matrices, v, w) for v, w in parts], 1)


def _windows(axes: Sequence[Axis], kernel: Sequence[int], x: np.ndarray) -> np.ndarray:
    """
    Returns what the parts of a kernel meet of an input [N, C / b, *sizes, b], as more channels
    [N, P * C / b, *sizes, b].
    """
    sizes = [
        n - size + axis.part for n, size, axis in zip(x.shape[2:-1], kernel, axes, strict=True)
    ]
    places = product(*(enumerate(axis.offsets) for axis in axes))
    return np.concatenate([x[_part(place, sizes)] for place in places], 1)


@meaning(DotWinogradConvolutionOp)
def dot_winograd_convolution(call: Call, x: np.ndarray, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    elements, outputs, _, _, width, _ = u.shape
    filters = u.transpose(0, 1, 2, 3, 5, 4).reshape(elements, outputs, -1, width)
    y = _by_phases(call, x, filters, integer_transforms_of)
    y = np.rint(y / integer_divisor(axes_of_call(call))).astype(np.int64) + b.reshape(
        *b.shape, *[1] * (x.ndim - 3)
    )
    return np.moveaxis(y, 2, -1).astype(np.int32)


def _convolved(
    axes: Sequence[Axis], transforms: Sequence[Transforms], x: np.ndarray, u: np.ndarray
) -> np.ndarray:
    """
    Returns the convolution of a blocked tensor with a transformed filter [a^2, O / b, C, b] in
    float64, as [N, O / b, b, *counts].
    """
    n, blocks, *sizes, lanes = x.shape
    sides, steps = [axis.side for axis in axes], [axis.tile for axis in axes]
    counts = [(s - axis.part) // axis.stride + 1 for s, axis in zip(sizes, axes, strict=True)]
    tiles = [-(-c // m) for c, m in zip(counts, steps, strict=True)]
    covered = [axis.reach(ts * axis.tile) for ts, axis in zip(tiles, axes, strict=True)]
    around = [(0, max(0, whole - s)) for whole, s in zip(covered, sizes, strict=True)]
    whole = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *around, (0, 0)])
    spatial = range(2, 2 + len(axes))
    windows = np.lib.stride_tricks.sliding_window_view(whole, sides, axis=tuple(spatial))
    # d [n, block, *tiles, lane, *sides]
    moves = [axis.tile * axis.stride for axis in axes]
    places = [slice(0, (n - 1) * move + 1, move) for n, move in zip(tiles, moves, strict=True)]
    d = windows[(slice(None), slice(None), *places)]
    v = _transformed(d, [t.inputs for t in transforms])
    inside = range(v.ndim - len(axes), v.ndim)
    v = v.transpose(*inside, 0, *spatial, 1, inside[0] - 1)
    v = v.reshape(prod(sides), -1, blocks * lanes)
    _, outputs, _, width = u.shape
    filters = u.astype(np.float64).transpose(0, 2, 1, 3).reshape(len(v), -1, outputs * width)
    products = np.moveaxis((v @ filters).reshape(len(v), n, -1, outputs * width), 0, -1)
    products = products.reshape(n, *tiles, outputs * width, *sides)
    y = _transformed(products, [t.outputs for t in transforms])
    # y [n, *tiles, channel, *steps] to [n, channel, tile, step, tile, step, ..]
    pairs = [p for i in range(len(axes)) for p in (1 + i, 2 + len(axes) + i)]
    y = y.transpose(0, 1 + len(axes), *pairs)
    ends = [ts * m for ts, m in zip(tiles, steps, strict=True)]
    return y.reshape(n, outputs, width, *ends)[(..., *map(slice, counts))]


def _transformed(tiles: np.ndarray, matrices: Sequence[Matrix]) -> np.ndarray:
    """Returns the products of matrices with tiles along each of their last dimensions."""
    for number, matrix in enumerate(matrices):
        axis = tiles.ndim - len(matrices) + number
        tiles = np.moveaxis(np.moveaxis(tiles, axis, -1) @ as_array(matrix).T, -1, axis)
    return tiles
