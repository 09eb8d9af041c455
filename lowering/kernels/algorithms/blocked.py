"""Convolutions and changes of layout on blocks of channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from ....glow_dialects.elements import compute_type, element_bytes
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_cpu.blocked import (
    BlockedConvolutionOp,
    PackChannelsOp,
    UnpackChannelsOp,
    is_blocked_input,
)
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, View, affine
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.glow_nest.simplification import RECORDS
from ....glow_dialects.operator import Call
from ....glow_dialects.scalar import Expr, arguments
from ..codegen.types import memory_type, value_type
from ..registry import Kernel, kernel, total
from ..schedules.blocking import rows_packed_together
from .formula import formula
from .row_blocks import Rows, each_panel, in_blocks

_LEAST_READERS = 4
"""Blocks of results that read an image; fewer do not repay packing it."""


@kernel(BlockedConvolutionOp)
def convolution(k: Kernel) -> None:
    """Computes the formula, or convolutions of 1 x 1 by copies of a few pixels at a time."""
    if (points := _packed_points(k)) is None:
        formula(k)
    else:
        _by_packed_points(k, *points)


def _packed_points(k: Kernel) -> tuple[Sequence[int], Sequence[int], int] | None:
    """
    Returns the number of rows of pixels and the sizes of a row, the strides between pixels, and how
    many rows are packed at a time; None unless each pixel of the result depends on one of the image
    alone, and it pays off.
    """
    x, filters, _ = k.operands
    blocks, kernel_size = k.result.shape[1], prod(filters.shape[2:-2])
    if not is_blocked_input(k.call) or x.element != k.element or blocks < _LEAST_READERS:
        return None
    if k.call.int("group") > 1 or kernel_size > 1:
        return None
    sizes, strides = k.result.shape[2:-1], k.call.ints("strides")
    is_dense = prod(strides) == 1
    views = [x, *k.elementwise_views]
    if is_dense and all(
        v.strides[d] == v.strides[d + 1] * x.shape[d + 1]
        for v in views
        for d in range(2, x.rank - 2)
    ):
        sizes, strides = (prod(sizes),), (1,)
    size = element_bytes(x.element)
    row_bytes = prod(sizes[1:]) * x.shape[-1] * size
    plane_bytes = x.strides[1] * size
    together = rows_packed_together(
        k.machine, x.shape[1], plane_bytes, sizes[0], row_bytes, not is_dense
    )
    return None if together is None else (sizes, strides, together)


def _by_packed_points(
    k: Kernel, sizes: Sequence[int], strides: Sequence[int], together: int
) -> None:
    """Computes a convolution of 1 x 1 from dense copies of a few rows of pixels at a time."""
    x, filters, bias = k.operands
    n = Dim("n", x.shape[0])
    inner = [Dim(f"w{i}", size) for i, size in enumerate(sizes[1:])]
    shape = (filters.shape[1], together, *sizes[1:], x.shape[-1])
    packed = k.scratch(shape, x.element)
    # the index of the last of joined dimensions alone moves through all pixels
    zeros: list[Index] = [0] * (x.rank - 3 - len(sizes))

    def visit(rows: Rows) -> None:
        ob, o = Dim("ob", k.result.shape[1]), Dim("o", k.result.shape[-1])
        cb, c = Dim("cb", filters.shape[1]), Dim("c", filters.shape[-2])
        pixel = [*rows.place, *inner]
        source = [affine(p) * s for p, s in zip(pixel, strides, strict=True)]
        copied = [cb, rows.row, *inner, c]
        k.copy(copied, packed[copied], x[[n, cb, *zeros, *source, c]])
        factors = packed[copied], filters[[ob, cb, *[0] * (x.rank - 3), c, o]]
        sums = total(Combine.ADD, compute_type(k.element), *factors)
        place: list[Index] = [n, ob, *zeros, *pixel, o]
        k.finish([ob, rows.row, *inner, o], place, [bias[[ob, o]]], X + Y, [cb, c], sums)

    with k.repeat(n):
        in_blocks(k, Rows((), 0, Dim("i", sizes[0])), together, visit)


def windows(
    call: Call, counts: Sequence[int], kernel_sizes: Sequence[int]
) -> tuple[list[Dim], list[Dim], list[Affine]]:
    """
    Returns loop variables over windows and over offsets in them, and the places that they read.
    """
    window = [Dim(f"w{i}", size) for i, size in enumerate(counts)]
    offset = [Dim(f"k{i}", size) for i, size in enumerate(kernel_sizes)]
    steps = zip(window, offset, call.ints("strides"), call.ints("dilations"), strict=True)
    return window, offset, [w * s + i * d for w, i, s, d in steps]


@kernel(PackChannelsOp)
def pack(k: Kernel) -> None:
    """
    Packs the full blocks, then the lanes of the last block that have a channel, and fills the other
    lanes.
    """
    (x,) = k.operands
    y = k.result
    block, full, rest = y.shape[-1], *divmod(x.shape[1], y.shape[-1])
    if rest and block in RECORDS and memory_type(x.element) == value_type(x.element):
        _pack_records(k)
        return
    for dims, packed, plain in _blocks(k, y, x):
        k.copy(dims, packed, plain)
    if rest:
        n, *space = _pixels(x)
        e = Dim("e", block - rest)
        empty: list[Index] = [n, full, *space, e + rest]
        k.map([n, *space, e], y[empty], (), Expr.constant(0, y.element))


def _pixels(plain: View) -> list[Dim]:
    """Returns loop variables over the images of a tensor and the pixels of an image."""
    return [Dim("n", plain.shape[0]), *(Dim(f"s{i}", s) for i, s in enumerate(plain.shape[2:]))]


def _blocks(k: Kernel, packed: View, plain: View) -> Iterator[tuple[list[Dim], Access, Access]]:
    """
    Yields the loops over the full blocks, then those over the channels of the last block, with both
    places of an element.
    """
    n, *space = _pixels(plain)
    block, names = packed.shape[-1], ("b", "c")
    for b, (*blocks, c) in each_panel(k, plain.shape[1], block, in_nest=True, names=names):
        place = packed[[n, b, *space, c]], plain[[n, b * block + c, *space]]
        yield [n, *blocks, *space, c], *place


def _pack_records(k: Kernel) -> None:
    """Packs blocks of few channels: all channels of a block at once."""
    (x,) = k.operands
    y = k.result
    channels = x.shape[1]
    n, *space = _pixels(x)
    block = y.shape[-1]
    for b in range(y.shape[1]):
        present = range(b * block, min(channels, (b + 1) * block))
        missing = [Expr.constant(0, y.element)] * (block - len(present))
        reads = [x[[n, c, *space]] for c in present]
        writes = [y[[n, b, *space, c]] for c in range(block)]
        k.map_all([n, *space], writes, reads, [*arguments(len(reads)), *missing])


@kernel(UnpackChannelsOp)
def unpack(k: Kernel) -> None:
    """Unpacks the full blocks, then the lanes of the last block that have a channel."""
    for dims, packed, plain in _blocks(k, k.operands[0], k.result):
        k.copy(dims, plain, packed)
