"""
Operators on rows and groups: softmax along the last dimension, layer, RMS and group normalisation.

The algorithms visit a few rows at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X, Y, Z
from ....glow_dialects.glow.normalization import GroupNormOp, LayerNormOp, RmsNormOp, SoftmaxOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.scalar import Expr, arguments, exp, maximum, minimum, multiply_add, sqrt
from ..registry import Kernel, kernel, total, view_dims
from ..schedules.blocking import rows_together
from .formula import formula
from .row_blocks import Rows, for_rows

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

    def visit(rows: Rows) -> None:
        i = rows.row
        read = x[[*rows.place, j]]
        softmax_of_rows(k, i, j, read, powers[[i, j]], peak[[i]], share[[i]], _power(element))
        k.finish([i, j], [*rows.place, j], [powers[[i, j]], share[[i]]], X * Y)

    for_rows(k, x.rank - 1, x, count, visit)


def _power(element: Attribute) -> Expr:
    """Returns the exponential of an element minus the maximum `y` of its row."""
    return power_from(_LEAST_EXPONENT) if element == f32 else exp(X - Y)


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


@kernel(LayerNormOp, keeps_limits=True)
def layer_norm(k: Kernel) -> None:
    """Computes for each row its mean, its variance, and the result."""
    x, scale, bias = k.operands
    axis = k.call.int("axis")
    columns = view_dims(scale, "j")
    element = compute_type(x.element)
    count = rows_together(prod(x.shape[:axis]))
    mean, factor = k.scratch((count,), element), k.scratch((count,), element)

    def visit(rows: Rows) -> None:
        i, at = rows.row, [*rows.place, *columns]
        _moments(k, [i], columns, x[at], mean[[i]], factor[[i]])
        operands = [x[at], mean[[i]], factor[[i]], scale[columns], bias[columns]]
        k.finish([i, *columns], at, operands, _standardized())

    for_rows(k, axis, x, count, visit)


@kernel(RmsNormOp, keeps_limits=True)
def rms_norm(k: Kernel) -> None:
    """Computes for each row its mean square, and the result."""
    x, scale = k.operands
    axis = k.call.int("axis")
    columns = view_dims(scale, "j")
    element = compute_type(x.element)
    count = rows_together(prod(x.shape[:axis]))
    factor = k.scratch((count,), element)

    def visit(rows: Rows) -> None:
        i, at = rows.row, [*rows.place, *columns]
        squares = total(Combine.ADD, element, x[at], x[at])
        k.map([i], factor[[i]], (), _inverse_root(k, columns), columns, squares)
        k.finish([i, *columns], at, [x[at], factor[[i]], scale[columns]], X * Y * Z)

    for_rows(k, axis, x, count, visit)


@kernel(GroupNormOp)
def group_norm(k: Kernel) -> None:
    """Computes for each group of each image its mean, its variance, and the result."""
    x, scale, bias = k.operands
    groups = k.call.int("groups")
    n, g = Dim("n", x.shape[0]), Dim("g", groups)
    c = Dim("c", x.shape[1] // groups)
    at = [Dim(f"s{i}", s) for i, s in enumerate(x.shape[2:])]
    channel = Affine({g: c.size, c: 1})
    element = compute_type(x.element)
    mean, factor = k.scratch((), element), k.scratch((), element)
    with k.repeat(n, g):
        read = x[[n, channel, *at]]
        _moments(k, [], [c, *at], read, mean[()], factor[()])
        operands = [read, mean[()], factor[()], scale[[channel]], bias[[channel]]]
        k.finish([c, *at], [n, channel, *at], operands, _standardized())


def _moments(
    k: Kernel,
    rows: Sequence[Dim],
    reduced: Sequence[Dim],
    x: Access,
    mean: Access,
    factor: Access,
) -> None:
    """Computes the mean, and `1 / sqrt(variance + epsilon)`."""
    element = mean.element
    k.map(rows, mean, (), _mean(reduced), reduced, total(Combine.ADD, element, x))
    centred = X - Y
    squares = total(Combine.ADD, element, x, mean, value=centred * centred)
    k.map(rows, factor, (), _inverse_root(k, reduced), reduced, squares)


def _inverse_root(k: Kernel, reduced: Sequence[Dim]) -> Expr:
    """Returns the inverse root `1 / sqrt(mean + epsilon)` from a sum of squares."""
    return 1.0 / sqrt(_mean(reduced) + k.call.float("epsilon"))


def _mean(reduced: Sequence[Dim]) -> Expr:
    """Returns the mean from a sum."""
    return X * (1 / max(1, prod(d.size for d in reduced)))


def _standardized() -> Expr:
    x, mean, factor, scale, bias = arguments(5)
    return multiply_add((x - mean) * factor, scale, bias)
