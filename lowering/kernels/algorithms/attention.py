"""The algorithm of attention."""

from __future__ import annotations

from collections.abc import Sequence

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_nest.affine import Access, Dim, Index, View
from ....glow_dialects.glow_nest.nest import Combine, Reduction
from ....glow_dialects.scalar import Expr, arguments, exp, maximum, select
from ..registry import Kernel, kernel, total
from ..schedules.blocking import queries_together, repays_dense_keys
from .row_blocks import Rows, in_blocks
from .rows import softmax_of_rows

_LEAST_EXPONENT = -64.0
"""
The least exponent of a power of e, relative to the largest in its row, which is 1. Powers with
smaller exponents would not change a sum even in f64. Products with them can be subnormal, and
processors take many times as long for these.
"""


@kernel(AttentionOp, MaskedAttentionOp)
def attention(k: Kernel) -> None:
    """
    Computes, for each image, each head, and a few rows of the query: the scores, the numerators of
    their softmax, and the mean of the values. Memory only ever holds the scores of these rows. Many
    rows read dense copies of the keys and the values of the head; the keys are transposed.
    """
    query, key, value = k.operands[:3]
    element = compute_type(query.element)
    images, rows, heads, inner = query.shape
    columns = key.shape[1]
    count = queries_together(rows)
    n, h = Dim("n", images), Dim("h", heads)
    j, t, d = Dim("j", columns), Dim("t", inner), Dim("d", value.shape[3])
    keys, values = key[[n, j, h, t]], value[[n, j, h, d]]
    copies: list[tuple[list[Dim], Access, Access]] = []
    if repays_dense_keys(rows):
        turned = k.scratch((inner, columns), element)[[t, j]]
        dense = k.scratch((columns, d.size), element)[[j, d]]
        copies = [([t, j], turned, keys), ([j, d], dense, values)]
        keys, values = turned, dense
    powers = k.scratch((count, columns), element)
    peak, share = k.scratch((count,), element), k.scratch((count,), element)

    def visit(at: Rows) -> None:
        (i,) = at.place
        row = at.row
        products = total(Combine.ADD, element, query[[n, i, h, t]], keys)
        mask = [view[[n, h, i, j]] for view in k.operands[3:]]
        _scores(k, row, j, t, products, powers, mask)
        softmax_of_rows(k, row, j, None, powers[[row, j]], peak[[row]], share[[row]], _power())
        means = total(Combine.ADD, element, powers[[row, j]], values)
        place: list[Index] = [n, i, h, d]
        k.reduce([row, d], [j], means, place, [share[[row]]], X * Y)

    with k.repeat(n), k.repeat(h):
        for dims, copy, original in copies:
            k.copy(dims, copy, original)
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
    """Computes `powers[row, j] = products * scale + mask`."""
    scale = k.call.float("scale")

    score, added = arguments(2)
    scaled = score * scale
    score = scaled + added if mask else scaled
    k.map([row, j], powers[[row, j]], mask, score, [t], products)


def _power() -> Expr:
    """Returns `exp(score - peak)`, or zero where that is too small to matter."""
    score, peak = arguments(2)
    below = score - peak
    power = exp(maximum(below, _LEAST_EXPONENT))
    return select(below < _LEAST_EXPONENT, 0.0, power)
