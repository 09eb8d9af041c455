"""Products that skip the rows of a matrix whose factor is zero."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from ....glow_dialects.elements import compute_type, element_bytes
from ....glow_dialects.glow_cpu.sparse import SparseVectorMatMulOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, affine
from ....glow_dialects.scalar import Expr, arguments, convert, multiply_add
from ..registry import Kernel, kernel
from ..schedules.blocking import columns_together, list_parts, rows_added_together


@kernel(SparseVectorMatMulOp)
def sparse_vector_matmul(k: Kernel) -> None:
    """
    Lists the places where `x` is not zero. Then, for some of these places at a time, it computes
    `sums[j] += x[t] * weights[t, j]` over some of the columns. Each thread has a part of the list,
    or columns of its own.
    """
    x, weights = k.operands
    inner, columns = weights.shape
    row: list[Index] = [0] * (x.rank - 1)
    t = Dim("t", inner)
    listing = k.list_nonzeros(t, x[[*row, t]])
    lists, together, element = list_parts(inner), rows_added_together(), compute_type(k.element)
    width = columns_together(k.machine, k.threads, columns, lists, element_bytes(element))
    sums = k.scratch((lists, columns), element)

    def visit(start: int, size: int, blocks: int) -> None:
        """Adds the nests for `blocks` blocks of `size` columns, from column `start` on."""
        part, block, j = Dim("part", lists), Dim("p", blocks), Dim("j", size)
        with k.repeat(part, block):
            column = affine(start) + block * size + j
            there = sums[[part, column]]
            k.map([j], there, (), Expr.constant(0, sums.element))
            for count, after in ((together, 0), (1, together)):
                with k.repeat_listed(listing, count, after, part) as places:
                    _add_rows(k, places, j, column, there)

    blocks, rest = divmod(columns, width)
    visit(0, width, blocks)
    if rest:
        visit(blocks * width, rest, 1)

    j = Dim("j", columns)
    k.finish(
        [j], [*row, j], [sums[[part, j]] for part in range(lists)], reduce(add, arguments(lists))
    )


def _add_rows(k: Kernel, places: Sequence[Dim], j: Dim, column: Affine, there: Access) -> None:
    """Adds rows of the matrix to the sums, each row times its element of `x`."""
    x, weights = k.operands
    row: list[Index] = [0] * (x.rank - 1)

    factors = [a for t in places for a in (x[[*row, t]], weights[[t, column]])]
    before, *given = [convert(a, there.element) for a in arguments(1 + len(factors))]
    # the rows are summed first, because adding each to a large sum loses more to rounding
    total = given[1] * given[0]
    for element, factor in zip(given[2::2], given[3::2], strict=True):
        total = multiply_add(factor, element, total)
    k.update([j], there, factors, before + total)
