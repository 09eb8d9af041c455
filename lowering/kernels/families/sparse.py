"""Products that skip the rows of a matrix that meet a zero."""

from __future__ import annotations

from collections.abc import Sequence

from ....glow_dialects.elements import compute_type, element_bytes
from ....glow_dialects.glow.sparse import SparseVectorMatMulOp
from ..affine import Dim, Index, View, affine
from ..algebra import ArithAlgebra, Value
from ..nest import Nest
from ..primitives import add, multiply
from ..registry import Kernel, kernel

_ROWS = 8
"""How many rows are added at a time: each sum is loaded and stored once for all of them."""
_AHEAD_BYTES = 512
"""How far ahead rows are prefetched."""
_FEWEST_COLUMNS = 64
"""Of a thread: shorter parts of rows are read slowly."""


@kernel(SparseVectorMatMulOp)
def sparse_vector_matmul(k: Kernel) -> None:
    """
    First a list of the places where `x` is not zero. Then, for some of these places at a time,
    `sums[j] += x[t] * weights[t, j]` over as many columns as have sums that fit into the nearest
    cache. Each thread has columns of its own.
    """
    x, weights = k.operands
    inner, columns = weights.shape
    row: list[Index] = [0] * (x.rank - 1)
    t = Dim("t", inner)
    listing = k.list_nonzeros(t, x[[*row, t]])
    width = _width(k, columns)
    parts, rest = divmod(columns, width)
    sums = k.scratch((width,), compute_type(k.element))

    def visit(first: Index, size: int) -> None:
        j = Dim("j", size)
        at = affine(first) + j
        k.map([j], sums[[j]], (), lambda alg, _: [alg.number(0, sums.element)], weight=0)
        for together, after in ((_ROWS, 0), (1, _ROWS)):
            with k.repeat_listed(listing, together, after) as places:
                _add_rows(k, places, sums, j, at)
        k.finish([j], [*row, at], [sums[[j]]])

    if parts:
        part = Dim("p", parts)
        with k.repeat(part):
            visit(part * width, width)
    if rest:
        visit(parts * width, rest)


def _width(k: Kernel, columns: int) -> int:
    """How many columns are summed at a time: so many that threads have about as many each."""
    most = k.machine.l1_bytes // 2 // element_bytes(compute_type(k.element))
    threads = k.threads if columns >= _FEWEST_COLUMNS * k.threads else 1
    parts = threads * -(-columns // (threads * most))
    return max(1, columns // max(1, parts))


def _add_rows(k: Kernel, places: Sequence[Dim], sums: View, j: Dim, column: Index) -> None:
    """Adds the rows of the matrix at some places, each times the element of `x` there."""
    x, weights = k.operands
    row: list[Index] = [0] * (x.rank - 1)

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        before, *factors = (alg.convert(v, sums.element) for v in values)
        # their sum first: less is lost to rounding than if each were added to a large sum
        total = multiply(alg, factors[1], factors[0])
        for element, weight in zip(factors[2::2], factors[3::2], strict=True):
            total = alg.multiply_add(weight, element, total)
        return [add(alg, before, total)]

    factors = [a for t in places for a in (x[[*row, t]], weights[[t, column]])]
    operands = (sums[[j]], *factors)
    weight = len(places)
    k.nest(
        Nest((j,), (sums[[j]],), body, operands, in_place=True, weight=weight, ahead=_AHEAD_BYTES)
    )
