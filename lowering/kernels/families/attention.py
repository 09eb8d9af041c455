"""Attention."""

from __future__ import annotations

from collections.abc import Sequence

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ..affine import Access, Dim, Index, View
from ..algebra import ArithAlgebra, Value
from ..nest import Combine, Reduction
from ..primitives import add, multiply
from ..registry import Kernel, kernel, total
from .row_blocks import Rows, in_blocks
from .rows import softmax_of_rows, store_reduction

_ROWS = 8
"""How many positions of the query are visited at a time."""
_MANY_ROWS = 2 * _ROWS
"""So many rows repay turning the keys around first."""


@kernel(AttentionOp, MaskedAttentionOp)
def attention(k: Kernel) -> None:
    """
    For each image, head, and a few rows of the query: scores, their softmax but for its divisor,
    and the mean of the values. Only the scores of these rows are ever in memory, in a near cache.
    """
    query, key, value = k.operands[:3]
    element = compute_type(query.element)
    images, rows, heads, inner = query.shape
    columns = key.shape[1]
    count = min(_ROWS, rows)
    n, h = Dim("n", images), Dim("h", heads)
    j, t, d = Dim("j", columns), Dim("t", inner), Dim("d", value.shape[3])
    turned = k.scratch((inner, columns), element) if rows >= _MANY_ROWS else None
    powers = k.scratch((count, columns), element)
    peak, share = k.scratch((count,), element), k.scratch((count,), element)

    def visit(at: Rows) -> None:
        (i,) = at.place
        row = at.row
        factor = key[[n, j, h, t]] if turned is None else turned[[t, j]]
        products = total(Combine.ADD, element, query[[n, i, h, t]], factor)
        mask = [view[[n, h, i, j]] for view in k.operands[3:]]
        _scores(k, row, j, t, products, powers, mask)
        softmax_of_rows(k, row, j, None, powers[[row, j]], peak[[row]], share[[row]])
        means = total(Combine.ADD, element, powers[[row, j]], value[[n, j, h, d]])
        place: list[Index] = [n, i, h, d]
        k.reduce([row, d], [j], means, place, [share[[row]]], _scaled)

    with k.repeat(n), k.repeat(h):
        if turned is not None:
            k.copy([t, j], turned[[t, j]], key[[n, j, h, t]])
        in_blocks(k, Rows((), 0, Dim("i", rows)), count, visit)


def _scores(
    k: Kernel,
    row: Dim,
    j: Dim,
    t: Dim,
    products: Reduction,
    powers: View,
    mask: Sequence[Access],
) -> None:
    """`powers[row, j] = products * scale + mask`."""
    scale = k.call.float("scale")

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        scaled = multiply(alg, values[0], alg.number(scale, values[0].element))
        return [scaled if len(values) == 1 else add(alg, scaled, values[1])]

    store_reduction(k, [row, j], [t], products, powers[[row, j]], body, mask)


def _scaled(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
    return [multiply(alg, values[0], values[1])]
