"""Softmax along any axis, and local response normalisation."""

from __future__ import annotations

from collections.abc import Sequence

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X, Y, Z
from ....glow_dialects.glow.normalization import (
    LocalResponseNormOp,
    LogSoftmaxOp,
    SoftmaxOp,
)
from ....glow_dialects.glow_nest.affine import Dim, View
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from ....glow_dialects.scalar import Expr, Primitive, apply, log, sqrt
from ..registry import Kernel, kernel, total, view_dims
from .rows import EXPONENTIAL, softmax_rows


@kernel(SoftmaxOp, LogSoftmaxOp)
def softmax(k: Kernel) -> None:
    """
    Computes softmax: row by row along the last dimension, and otherwise in three passes. The passes
    compute the maximum `m` of each row, the sum of `exp(x - m)`, and the result. They compute
    exponentials twice instead of storing them.
    """
    (x,) = k.operands
    axis = k.call.int("axis")
    contiguous = axis == x.rank - 1 and x.strides[axis] == k.result.strides[axis] == 1
    if contiguous and k.call.operator is SoftmaxOp:
        softmax_rows(k)
        return
    dims = view_dims(x)
    rows = [d for i, d in enumerate(dims) if i != axis]
    element = compute_type(x.element)
    shape = [d.size for d in rows]
    peak, mass = k.scratch(shape, element), k.scratch(shape, element)
    read = x[dims]
    _reduce_rows(k, rows, dims[axis], peak, total(Combine.MAXIMUM, element, read))
    shifted = Body((EXPONENTIAL,), (element,))
    terms = Reduction(Combine.ADD, element, (read, peak[rows]), shifted)
    _reduce_rows(k, rows, dims[axis], mass, terms)
    operands = (x[dims], peak[rows], mass[rows])
    value = X - Y - log(Z) if k.call.operator is LogSoftmaxOp else EXPONENTIAL / Z
    k.finish(dims, dims, operands, value)


def _reduce_rows(
    k: Kernel, rows: Sequence[Dim], along: Dim, target: View, reduction: Reduction
) -> None:
    k.nest(
        Nest(
            tuple(rows),
            (target[rows],),
            Body.passing(target.element),
            reduction=reduction,
            reduced=(along,),
        )
    )


@kernel(LocalResponseNormOp)
def local_response_norm(k: Kernel) -> None:
    """
    Stores, for each image, squares into scratch with zero channels around, and sums `size`
    neighbours.
    """
    (x,) = k.operands
    size = k.call.int("size")
    low = (size - 1) // 2
    _, channels, *spatial = x.shape
    element = compute_type(x.element)
    squares = k.scratch((channels + size - 1, *spatial), element)
    k.fill(squares, 0.0)
    n, c, j = Dim("n", x.shape[0]), Dim("c", channels), Dim("j", size)
    at = [Dim(f"s{i}", s) for i, s in enumerate(spatial)]
    with k.repeat(n):
        k.map([c, *at], squares[[c + low, *at]], [x[[n, c, *at]]], X * X)
        k.reduce(
            [c, *at],
            [j],
            total(Combine.ADD, element, squares[[c + j, *at]]),
            [n, c, *at],
            [x[[n, c, *at]]],
            _normalized(k),
        )


def _normalized(k: Kernel) -> Expr:
    """Returns `x / (k + alpha / size * sum)**beta` of the sum and `x`."""
    size, alpha, beta, bias = (k.call.get(p) for p in ("size", "alpha", "beta", "k"))
    return Y / _power(X * (alpha / size) + bias, beta)


def _power(base: Expr, exponent: float) -> Expr:
    """Returns a power; the usual exponents need only roots."""
    if exponent == 1.0:
        return base
    if exponent not in (0.5, 0.75):
        return apply(Primitive.POW, base, exponent)
    root = sqrt(base)
    return root if exponent == 0.5 else root * sqrt(root)
