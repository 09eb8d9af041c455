"""
Operators on rows and groups: softmax along the last dimension, layer, RMS and group normalisation.

The algorithms visit a few rows at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X, Y, Z
from ....glow_dialects.glow.normalization import GroupNormOp, LayerNormOp, RmsNormOp, SoftmaxOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, View
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.scalar import Expr, arguments, exp, maximum, minimum, multiply_add, sqrt
from ..registry import Kernel, kernel, total, view_dims
from ..schedules.blocking import rows_together
from .formula import formula
from .row_blocks import for_rows

_LEAST_EXPONENT = -88.0
"""The least exponent of a power of e in f32: with it, the power is zero."""


# softmax


@kernel(SoftmaxOp, keeps_limits=True)
def softmax(k: Kernel) -> None:
    """
    Computes for each row its maximum, the exponentials of the differences to it, their sum, and the
    quotients. Rows that are not contiguous are computed as their formula says, all at a time.
    """
    (x,) = k.operands
    axis = k.call.int("axis")
    if axis != x.rank - 1 or not x.strides[axis] == k.result.strides[axis] == 1:
        formula(k)
        return
    element = compute_type(x.element)
    j = x.dim("j", -1)
    count = rows_together(prod(x.shape[:-1]))
    powers = k.scratch((count, j.size), element)
    peak, share = k.scratch((count,), element), k.scratch((count,), element)
    power = power_from(_LEAST_EXPONENT) if element == f32 else exp(X - Y)

    for rows in for_rows(k, x.rank - 1, x, count):
        i = rows.row
        read = x[[*rows.place, j]]
        softmax_of_rows(k, i, j, read, powers[[i, j]], peak[[i]], share[[i]], power)
        k.finish([i, j], [*rows.place, j], [powers[[i, j]], share[[i]]], X * Y)


def power_from(least: float) -> Expr:
    """Returns `exp(x - y)`, where y is at least x, and `exp(least)` where that is smaller."""
    return exp(minimum(maximum(X - Y, least), 0.0))


def softmax_of_rows(
    k: Kernel,
    i: Dim,
    j: Dim,
    x: Access | None,
    powers: Access,
    peak: Access,
    share: Access,
    power: Expr,
) -> None:
    """
    Computes `powers = power(x, peak)`, where `peak` is the maximum of row `i`, and
    `share = 1 / sum(powers)`. Without `x`, it reads `powers` itself.
    """
    element = powers.element
    read = powers if x is None else x
    # a NaN in the row shows in the sum
    k.map([i], peak, (), X, [j], total(Combine.LARGEST_NUMBER, element, read))
    k.map_all([i, j], [powers], [read, peak], [power], in_place=x is None)
    k.map([i], share, (), 1.0 / X, [j], total(Combine.ADD, element, powers))


# normalisation


@kernel(LayerNormOp, RmsNormOp, keeps_limits=True)
def normalized_rows(k: Kernel) -> None:
    """Normalises each row, by its mean and variance or by its mean square, and scales it."""
    x, *parameters = k.operands
    axis = k.call.int("axis")
    columns = view_dims(parameters[0], "j")
    count = rows_together(prod(x.shape[:axis]))
    # where there is a bias, there is a mean
    moments = [k.scratch((count,), compute_type(x.element)) for _ in parameters]

    for rows in for_rows(k, axis, x, count):
        at = [*rows.place, *columns]
        _normalize(k, [rows.row], columns, at, moments, [p[columns] for p in parameters])


@kernel(GroupNormOp)
def group_norm(k: Kernel) -> None:
    """Normalises each group of each image by its mean and variance, and scales its channels."""
    x, scale, bias = k.operands
    groups = k.call.int("groups")
    n, g = Dim("n", x.shape[0]), Dim("g", groups)
    c = Dim("c", x.shape[1] // groups)
    at = [Dim(f"s{i}", s) for i, s in enumerate(x.shape[2:])]
    channel = Affine({g: c.size, c: 1})
    moments = [k.scratch((), compute_type(x.element)) for _ in range(2)]
    with k.repeat(n, g):
        parameters = scale[[channel]], bias[[channel]]
        _normalize(k, [], [c, *at], [n, channel, *at], moments, parameters)


def _normalize(
    k: Kernel,
    rows: Sequence[Dim],
    columns: Sequence[Dim],
    at: Sequence[Index],
    moments: Sequence[View],
    parameters: Sequence[Access],
) -> None:
    """
    Computes the mean of rows and `1 / sqrt(variance + epsilon)`, or instead of both of these
    `moments` the second one alone, from the mean square. Then it computes the result.
    """
    x = k.operands[0][at]
    *mean, factor = (moment[rows] for moment in moments)
    share, element = 1 / max(1, prod(d.size for d in columns)), factor.element
    if mean:
        k.map(rows, mean[0], (), X * share, columns, total(Combine.ADD, element, x))
        centred = X - Y
        squares = total(Combine.ADD, element, x, *mean, value=centred * centred)
        *_, scale, bias = arguments(5)
        value = multiply_add((X - Y) * Z, scale, bias)
    else:
        squares = total(Combine.ADD, element, x, x)
        value = X * Y * Z
    inverse_root = 1.0 / sqrt(X * share + k.call.float("epsilon"))
    k.map(rows, factor, (), inverse_root, columns, squares)
    k.finish([*rows, *columns], at, [x, *mean, factor, *parameters], value)
