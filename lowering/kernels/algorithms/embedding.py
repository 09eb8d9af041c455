"""Sums of quantized rows that indices in memory name, from one offset to the next."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from xdsl.dialects.builtin import f16, f32, i32, i64
from xdsl.ir import Attribute

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow.elementwise import X
from ....glow_dialects.glow.embedding import FusedEmbeddingBagOp
from ....glow_dialects.glow_nest.affine import Access, Dim, Index, View, affine
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine, Range, Reduction
from ....glow_dialects.scalar import arguments, convert, maximum, minimum, multiply_add, select
from ..registry import Kernel, kernel


@kernel(FusedEmbeddingBagOp)
def fused_embedding_bag(k: Kernel) -> None:
    """
    Adds quantized rows. Each of the numbers of a byte has a sum, and the offsets of rows have one
    for all numbers.
    """
    data, indices, weights, offsets = k.operands
    bits, size = k.call.int("bits"), FusedEmbeddingBagOp.number_bytes(k.call)
    per, b, c = 8 // bits, Dim("b", k.result.shape[0]), Dim("c", size)
    t = Dim("t", indices.shape[0])
    rows = _clamped(k, indices, data.shape[0])
    row = rows[[t]]

    def of_row(column: Index, read_as: Attribute | None = None) -> Access:
        """Returns an element of the row that index `t` names, or bytes of it as a type."""
        return replace(data.chosen([row, column], unsigned=True), read_as=read_as)

    stored = f16 if k.call.get("half") else f32
    scale, offset = of_row(size, stored), of_row(size + element_bytes(stored), stored)
    factor = weights[[t if weights.shape == indices.shape else 0]]
    byte, s, o, w = arguments(4)
    s, o = (convert(a, f32) * w for a in (s, o))
    # bits from the lowest on, up to those of each number: sums of these tell the numbers apart
    parts = [convert(byte, i32) & (2 ** (bits * i) - 1) for i in range(1, per)]
    values = (*(convert(n, f32) * s for n in (*parts, byte)), o)
    sums = Body(values, (f32,) * len(values))
    *given, start = arguments(per + 1)
    apart = [given[0], *(upper - lower for lower, upper in pairwise(given))]
    values = [multiply_add(n, 2.0 ** -(bits * i), start) for i, n in enumerate(apart)]
    reduction = Reduction(Combine.ADD, f32, (of_row(c), scale, offset, factor), sums)
    places = [[b, affine(c) * per + i] for i in range(per)]
    bag = Range(t, offsets[[b]], offsets[[affine(b) + 1]])
    k.finish_tile([b, c], places, [], values, [t], reduction, bag)


def _clamped(k: Kernel, indices: View, size: int) -> View:
    """
    Returns indices counted from the front, which are not negative, in temporary memory: each is
    clamped once, though the sums of a bag look at it again for each part of a row.
    """
    t, element = Dim("t", indices.shape[0]), i32 if size <= 2**31 else i64
    rows, index = k.scratch(indices.shape, element), convert(X, i64)
    from_front = select(index < 0, index + size, index)
    clamped = minimum(maximum(from_front, 0), max(0, size - 1))
    k.map([t], rows[[t]], (indices[[t]],), convert(clamped, element))
    return rows
