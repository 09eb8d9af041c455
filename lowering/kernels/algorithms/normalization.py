"""Softmax along any axis, and local response normalisation."""

from __future__ import annotations

from collections.abc import Sequence

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.normalization import (
    LocalResponseNormOp,
    LogSoftmaxOp,
    SoftmaxOp,
)
from ....glow_dialects.glow_nest.affine import Dim, View
from ....glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from ....glow_dialects.scalar import Primitive
from ..codegen.algebra import ArithAlgebra, Value
from ..registry import Kernel, kernel, total, view_dims
from .primitives import add, divide, exponential, multiply, square_root, subtract
from .rows import EXPONENTIAL_WEIGHT, softmax_rows


@kernel(SoftmaxOp, LogSoftmaxOp)
def softmax(k: Kernel) -> None:
    """
    Along the last dimension, row by row. Otherwise three passes: the maximum `m` of each row, the
    sum of `exp(x - m)`, and the result. Then exponentials are computed twice rather than kept.
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

    def shifted(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        return [exponential(alg, subtract(alg, values[0], values[1]))]

    _reduce_rows(k, rows, dims[axis], peak, total(Combine.MAXIMUM, element, read))
    terms = Reduction(Combine.ADD, element, (read, peak[rows]), shifted)
    _reduce_rows(k, rows, dims[axis], mass, terms)
    operands = (x[dims], peak[rows], mass[rows])
    body = _logarithm if k.call.operator is LogSoftmaxOp else _quotient
    k.finish(dims, dims, operands, body, EXPONENTIAL_WEIGHT)


def _quotient(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
    x, peak, mass = values
    return [divide(alg, exponential(alg, subtract(alg, x, peak)), mass)]


def _logarithm(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
    x, peak, mass = values
    return [subtract(alg, subtract(alg, x, peak), alg.apply(Primitive.LOG, mass))]


def _reduce_rows(
    k: Kernel, rows: Sequence[Dim], along: Dim, target: View, reduction: Reduction
) -> None:
    k.nest(
        Nest(
            tuple(rows),
            (target[rows],),
            lambda alg, values: values,
            reduction=reduction,
            reduced=(along,),
            weight=1 if reduction.map is None else EXPONENTIAL_WEIGHT,
        )
    )


@kernel(LocalResponseNormOp)
def local_response_norm(k: Kernel) -> None:
    """
    For each image: squares into scratch with zero channels around, then sums of `size` neighbours.
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
        k.map(
            [c, *at],
            squares[[c + low, *at]],
            [x[[n, c, *at]]],
            lambda alg, v: [multiply(alg, v[0], v[0])],
        )
        k.reduce(
            [c, *at],
            [j],
            total(Combine.ADD, element, squares[[c + j, *at]]),
            [n, c, *at],
            [x[[n, c, *at]]],
            _normalized(k),
            weight=10,
        )


def _normalized(k: Kernel):
    """The body `x / (k + alpha / size * sum)**beta` on the sum and `x`."""
    size, alpha, beta, bias = (k.call.get(p) for p in ("size", "alpha", "beta", "k"))

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        squares, x = values
        element = squares.element
        scaled = multiply(alg, squares, alg.number(alpha / size, element))
        base = add(alg, scaled, alg.number(bias, element))
        return [divide(alg, x, _power(alg, base, beta))]

    return body


def _power(alg: ArithAlgebra, base: Value, exponent: float) -> Value:
    """A power; the usual exponents need roots only."""
    if exponent == 1.0:
        return base
    if exponent not in (0.5, 0.75):
        return alg.apply(Primitive.POW, base, alg.number(exponent, base.element))
    root = square_root(alg, base)
    return root if exponent == 0.5 else multiply(alg, root, square_root(alg, root))
