"""Products that skip the rows of a matrix that meet a zero."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from ....glow_dialects.elements import compute_type, element_bytes
from ....glow_dialects.glow_cpu.sparse import SparseVectorMatMulOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, affine
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.scalar import Expr, arguments, convert, multiply_add
from ..registry import Kernel, kernel

_ROWS = 8
"""How many rows are added at a time: each sum is loaded and stored once for all of them."""
_AHEAD_BYTES = 512
"""How far ahead rows are prefetched."""
_FEWEST_COLUMNS = 64
"""Of a thread: shorter parts of rows are read slowly."""
_PARTS = 2
"""Of the list, each with sums of its own: two threads read whole rows, which is faster than parts
of all rows."""
_FEWEST_ROWS = 1024
"""Of a part, if none met a zero."""


@kernel(SparseVectorMatMulOp)
def sparse_vector_matmul(k: Kernel) -> None:
    """
    First a list of the places where `x` is not zero. Then, for some of these places at a time,
    `sums[j] += x[t] * weights[t, j]` over as many columns as have sums that fit into the nearest
    cache. Each thread has a part of the list, or columns of its own.
    """
    x, weights = k.operands
    inner, columns = weights.shape
    row: list[Index] = [0] * (x.rank - 1)
    t = Dim("t", inner)
    listing = k.list_nonzeros(t, x[[*row, t]])
    lists = _PARTS if inner >= _PARTS * _FEWEST_ROWS else 1
    width = _width(k, columns, lists)
    sums = k.scratch((lists, columns), compute_type(k.element))

    def visit(start: int, size: int, blocks: int) -> None:
        """Blocks of as many columns, from one on."""
        part, block, j = Dim("part", lists), Dim("p", blocks), Dim("j", size)
        with k.repeat(part), k.repeat(block):
            column = affine(start) + block * size + j
            there = sums[[part, column]]
            k.map([j], there, (), Expr.constant(0, sums.element))
            for together, after in ((_ROWS, 0), (1, _ROWS)):
                with k.repeat_listed(listing, together, after, part) as places:
                    _add_rows(k, places, j, column, there)

    blocks, rest = divmod(columns, width)
    visit(0, width, blocks)
    if rest:
        visit(blocks * width, rest, 1)

    j = Dim("j", columns)
    k.finish(
        [j], [*row, j], [sums[[part, j]] for part in range(lists)], reduce(add, arguments(lists))
    )


def _width(k: Kernel, columns: int, lists: int) -> int:
    """How many columns are summed at a time: threads have about as many each."""
    most = max(1, k.machine.l1_bytes // 2 // element_bytes(compute_type(k.element)))
    threads = -(-k.threads // lists)
    threads = threads if columns >= _FEWEST_COLUMNS * threads else 1
    parts = threads * max(1, -(-columns // (threads * most)))
    return max(1, columns // parts)


def _add_rows(k: Kernel, places: Sequence[Dim], j: Dim, column: Affine, there: Access) -> None:
    """Adds rows of the matrix, each times the element of `x` there, to sums."""
    x, weights = k.operands
    row: list[Index] = [0] * (x.rank - 1)

    factors = [a for t in places for a in (x[[*row, t]], weights[[t, column]])]
    operands = (there, *factors)
    before, *given = [convert(a, there.element) for a in arguments(len(operands))]
    # their sum first: less is lost to rounding than if each were added to a large sum
    total = given[1] * given[0]
    for element, weight in zip(given[2::2], given[3::2], strict=True):
        total = multiply_add(weight, element, total)
    body = Body((before + total,), (there.element,))
    k.nest(Nest((j,), (there,), body, operands, in_place=True, ahead=_AHEAD_BYTES))
