"""Sums of rows that indices in memory name, from one offset to the next."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import f16, f32, i32
from xdsl.ir import Attribute

from ....glow_dialects.elements import compute_type, element_bytes
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow.embedding import EmbeddingBagOp, FusedEmbeddingBagOp
from ....glow_dialects.glow_nest.affine import Access, Dim, Index, Indirect, affine
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine, Nest, Range, Reduction
from ....glow_dialects.scalar import Expr, Primitive, apply, arguments, convert, multiply_add
from ..registry import Kernel, kernel, total


@kernel(EmbeddingBagOp)
def embedding_bag(k: Kernel) -> None:
    """Adds the rows that the indices of each bag name, times their weights."""
    data = k.operands[0]
    element = compute_type(k.element)
    b, c = Dim("b", k.result.shape[0]), Dim("c", data.shape[1])
    bag = _Bag(k, b)
    products = total(Combine.ADD, element, bag.of_row(c), bag.factor)
    k.reduce([b, c], [bag.t], products, [b, c], value=convert(X, k.element), range=bag.range)


@kernel(FusedEmbeddingBagOp)
def fused_embedding_bag(k: Kernel) -> None:
    """
    Does the same with quantized rows. Where a byte has several numbers, these have sums of their
    own, which are interleaved for each bag.
    """
    bits, size = k.call.int("bits"), FusedEmbeddingBagOp.number_bytes(k.call)
    per, b, c = 8 // bits, Dim("b", k.result.shape[0]), Dim("c", size)
    bag = _Bag(k, b)
    factors = f16 if k.call.get("half") else f32
    scale = bag.of_row(size, factors)
    offset = bag.of_row(size + element_bytes(factors), factors)
    reads = (bag.of_row(c), scale, offset, bag.factor)
    number, s, o, w = arguments(4)
    s, o = (convert(a, f32) * w for a in (s, o))
    if per == 1:
        value = Body((multiply_add(convert(number, f32), s, o),), (f32,))
        k.reduce(
            [b, c], [bag.t], Reduction(Combine.ADD, f32, reads, value), [b, c], range=bag.range
        )
        return
    part = Dim("part", per)
    masks, shift = k.scratch((per,), i32), k.scratch((), f32)
    for i in range(per):
        k.map((), masks[[i]], (), Expr.constant((2**bits - 1) << (bits * i), i32))
    number, s, w, mask = arguments(4)
    there = convert(apply(Primitive.AND, convert(number, i32), mask), f32)
    reads = (bag.of_row(c), scale, bag.factor, masks[[part]])
    value = Body((there * (convert(s, f32) * w),), (f32,))
    offsets = Body((convert(X, f32) * Y,), (f32,))
    sums = k.scratch((per, size), f32)
    with k.repeat(b):
        _sum(k, bag, (), shift[()], Reduction(Combine.ADD, f32, (offset, bag.factor), offsets))
        _sum(k, bag, (part, c), sums[[part, c]], Reduction(Combine.ADD, f32, reads, value))
        places = [[b, affine(c) * per + i] for i in range(per)]
        start, *given = arguments(per + 1)
        # a number is converted where it is in its byte
        values = [multiply_add(n, 2.0 ** -(bits * i), start) for i, n in enumerate(given)]
        k.finish_tile([c], places, [shift[()], *(sums[[i, c]] for i in range(per))], values)


def _sum(k: Kernel, bag: _Bag, dims: tuple[Dim, ...], write: Access, reduction: Reduction) -> None:
    """Adds the nest of a sum over the rows of a bag."""
    body = Body.passing(f32)
    k.nest(Nest(dims, (write,), body, (), reduction, (bag.t,), range=bag.range))


class _Bag:
    """The rows of a bag: those that its indices name."""

    def __init__(self, k: Kernel, b: Dim):
        data, indices, weights, offsets = k.operands
        self.t = Dim("t", indices.shape[0])
        """The number of an index, of all bags."""
        self.range = Range(self.t, offsets[[b]], offsets[[affine(b) + 1]])
        self.factor = weights[[self.t if weights.shape == indices.shape else 0]]
        """The factor of the row."""
        self._data = data
        self._row = Indirect(indices[[self.t]], data.shape[0], data.strides[0])

    def of_row(self, column: Index, read_as: Attribute | None = None) -> Access:
        """Returns an element of the row that index `t` names, or bytes of it as a type."""
        return replace(self._data[[0, column]], indirect=self._row, read_as=read_as)
