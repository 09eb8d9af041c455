"""Convolutions and changes of layout on blocks of channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute

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
    """Computes the formula, or convolutions of 1 x 1 from dense copies of a few rows of pixels."""
    if (together := _rows_packed_together(k)) is None:
        formula(k)
        return
    x, filters, bias = k.operands
    for at in by_packed_points(k, together, x.element):
        ob, o = Dim("ob", k.result.shape[1]), Dim("o", k.result.shape[-1])
        cb, c = Dim("cb", filters.shape[1]), Dim("c", filters.shape[-2])
        factors = at.read(cb, c), filters[[ob, cb, *[0] * (x.rank - 3), c, o]]
        sums = total(Combine.ADD, compute_type(k.element), *factors)
        place = [at.image, ob, *at.place, o]
        k.finish([ob, *at.loops, o], place, [bias[[ob, o]]], X + Y, [cb, c], sums)


def _rows_packed_together(k: Kernel) -> int | None:
    """
    Returns how many rows of pixels are packed at a time; None unless each pixel of the result
    depends on one of the image alone, and it pays off.
    """
    x, filters, _ = k.operands
    blocks, kernel_size = k.result.shape[1], prod(filters.shape[2:-2])
    if not is_blocked_input(k.call) or x.element != k.element or blocks < _LEAST_READERS:
        return None
    if k.call.int("group") > 1 or kernel_size > 1:
        return None
    (rows, *row), strides = point_sizes(k)
    size = element_bytes(x.element)
    row_bytes, plane_bytes = prod(row) * x.shape[-1] * size, x.strides[1] * size
    is_strided = prod(strides) > 1
    return rows_packed_together(k.machine, x.shape[1], plane_bytes, rows, row_bytes, is_strided)


def point_sizes(k: Kernel) -> tuple[Sequence[int], Sequence[int]]:
    """
    Returns the pixels of the result of a convolution of 1 x 1, as the number of rows and the sizes
    of a row, and the distances between pixels of the image. They are one dimension where all
    tensors of the kernel permit that.
    """
    x, sizes, strides = k.operands[0], k.result.shape[2:-1], k.call.ints("strides")
    if prod(strides) == 1 and all(
        v.strides[d] == v.strides[d + 1] * x.shape[d + 1]
        for v in [x, *k.elementwise_views]
        for d in range(2, x.rank - 2)
    ):
        return (prod(sizes),), (1,)
    return sizes, strides


@dataclass(frozen=True)
class Points:
    """Some pixels of the result, and where they read."""

    image: Dim
    loops: Sequence[Dim]
    """The loops over the pixels of an image."""
    place: Sequence[Index]
    """The place of a pixel in an image of the result."""
    x: View
    """[N, C / b, *spatial, b], or the same of one image, without its dimension"""
    source: Sequence[Index]
    """The place that a pixel reads in an image of `x`."""
    images: Sequence[Dim] = ()
    """The loop over images, if `x` has their dimension."""

    def read(self, block: Index, channel: Index) -> Access:
        return self.x[[*self.images, block, *self.source, channel]]


def by_packed_points(k: Kernel, together: int, element: Attribute) -> Iterator[Points]:
    """
    Yields some rows of pixels at a time, which read a dense copy with elements of some type that is
    made before.
    """
    x, ((count, *row), strides) = k.operands[0], point_sizes(k)
    n, cb, c = Dim("n", x.shape[0]), Dim("cb", x.shape[1]), Dim("c", x.shape[-1])
    inner = [Dim(f"w{i}", size) for i, size in enumerate(row)]
    copy = k.scratch((cb.size, together, *row, c.size), element)
    # the index of the last of joined dimensions alone moves through all pixels
    zeros: list[Index] = [0] * (x.rank - 3 - len(strides))
    with k.repeat(n):
        for rows in in_blocks(k, Rows((), 0, Dim("i", count)), together):
            pixel, loops = [*rows.place, *inner], [rows.row, *inner]
            source = [affine(p) * s for p, s in zip(pixel, strides, strict=True)]
            k.copy([cb, *loops, c], copy[[cb, *loops, c]], x[[n, cb, *zeros, *source, c]])
            yield Points(n, loops, [*zeros, *pixel], copy, loops)


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
    n, *space = _pixels(x)
    block = y.shape[-1]
    for b in range(y.shape[1]):
        present = range(b * block, min(x.shape[1], (b + 1) * block))
        missing = [Expr.constant(0, y.element)] * (block - len(present))
        reads = [x[[n, c, *space]] for c in present]
        writes = [y[[n, b, *space, c]] for c in range(block)]
        k.map_all([n, *space], writes, reads, [*arguments(len(reads)), *missing])


@kernel(UnpackChannelsOp)
def unpack(k: Kernel) -> None:
    """Unpacks the full blocks, then the lanes of the last block that have a channel."""
    for dims, packed, plain in _blocks(k, k.operands[0], k.result):
        k.copy(dims, plain, packed)
