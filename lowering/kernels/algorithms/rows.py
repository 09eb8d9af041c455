"""
Operators on rows: softmax along the last dimension, layer and RMS normalisation; and on groups.

Rows are visited a few at a time. Several passes over so few rows find them in the nearest cache,
and reductions of several rows hide each other's latency.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.normalization import GroupNormOp, LayerNormOp, RmsNormOp
from ....glow_dialects.timings import TIMINGS
from ..affine import Access, Affine, Dim
from ..codegen.algebra import ArithAlgebra, Value
from ..nest import Body, Combine, Nest, Reduction
from ..registry import Kernel, kernel, total, view_dims
from .primitives import add, divide, exponential, multiply, square_root, subtract
from .row_blocks import Rows, for_rows

ROWS = 4
"""How many rows are visited at a time."""
EXPONENTIAL_WEIGHT = TIMINGS.elementary_operations


def _count(shape: Sequence[int]) -> int:
    """How many rows of a tensor with these leading dimensions are visited at a time."""
    return max(1, min(ROWS, prod(shape)))


def store_reduction(
    k: Kernel,
    dims: Sequence[Dim],
    reduced: Sequence[Dim],
    reduction: Reduction,
    target: Access,
    body: Body = lambda _, values: values,
    operands: Sequence[Access] = (),
    weight: int = 1,
) -> None:
    """`target = body(reduction, operands)` at each point of `dims`."""
    nest = Nest(
        tuple(dims), (target,), body, tuple(operands), reduction, tuple(reduced), weight=weight
    )
    k.nest(nest)


# softmax


def softmax_rows(k: Kernel) -> None:
    """For each row: its maximum, the exponentials of what is below it, their sum, and quotients."""
    (x,) = k.operands
    element = compute_type(x.element)
    j = Dim("j", x.shape[-1])
    count = _count(x.shape[:-1])
    powers = k.scratch((count, j.size), element)
    peak, share = k.scratch((count,), element), k.scratch((count,), element)

    def visit(rows: Rows) -> None:
        i = rows.row
        read = x[[*rows.place, j]]
        softmax_of_rows(k, i, j, read, powers[[i, j]], peak[[i]], share[[i]], _power)
        k.finish([i, j], [*rows.place, j], [powers[[i, j]], share[[i]]], _product)

    for_rows(k, x.rank - 1, [x], count, visit)


def softmax_of_rows(
    k: Kernel,
    i: Dim,
    j: Dim,
    x: Access | None,
    powers: Access,
    peak: Access,
    share: Access,
    power: Body,
) -> None:
    """
    `powers = power(x, peak)`, where `peak` is the maximum of row `i`, and
    `share = 1 / sum(powers)`. Without `x`, `powers` itself is read.
    """
    element = powers.element
    read = powers if x is None else x
    # a NaN in the row shows in the sum
    store_reduction(k, [i], [j], total(Combine.LARGEST_NUMBER, element, read), peak)
    in_place = x is None
    k.nest(
        Nest((i, j), (powers,), power, (read, peak), in_place=in_place, weight=EXPONENTIAL_WEIGHT)
    )
    store_reduction(k, [i], [j], total(Combine.ADD, element, powers), share, _inverse)


def _power(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
    return [exponential(alg, subtract(alg, values[0], values[1]))]


def _inverse(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
    return [divide(alg, alg.number(1.0, values[0].element), values[0])]


def _product(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
    return [multiply(alg, values[0], values[1])]


# normalisation


@kernel(LayerNormOp)
def layer_norm(k: Kernel) -> None:
    """For each row: its mean, the mean square of what is left, and the result."""
    x, scale, bias = k.operands
    axis = k.call.int("axis")
    columns = view_dims(scale, "j")
    element = compute_type(x.element)
    count = _count(x.shape[:axis])
    mean, factor = k.scratch((count,), element), k.scratch((count,), element)

    def visit(rows: Rows) -> None:
        i, at = rows.row, [*rows.place, *columns]
        _moments(k, [i], columns, x[at], mean[[i]], factor[[i]])
        operands = [x[at], mean[[i]], factor[[i]], scale[columns], bias[columns]]
        k.finish([i, *columns], at, operands, _standardized, weight=4)

    for_rows(k, axis, [x], count, visit)


@kernel(RmsNormOp)
def rms_norm(k: Kernel) -> None:
    """For each row: its mean square, and the result."""
    x, scale = k.operands
    axis = k.call.int("axis")
    columns = view_dims(scale, "j")
    element = compute_type(x.element)
    count = _count(x.shape[:axis])
    factor = k.scratch((count,), element)

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        return [multiply(alg, multiply(alg, values[0], values[1]), values[2])]

    def visit(rows: Rows) -> None:
        i, at = rows.row, [*rows.place, *columns]
        squares = total(Combine.ADD, element, x[at], x[at])
        store_reduction(k, [i], columns, squares, factor[[i]], _inverse_root(k, columns))
        k.finish([i, *columns], at, [x[at], factor[[i]], scale[columns]], body, weight=2)

    for_rows(k, axis, [x], count, visit)


@kernel(GroupNormOp)
def group_norm(k: Kernel) -> None:
    """For each group of each image: mean, mean square of what is left, and the result."""
    x, scale, bias = k.operands
    groups = k.call.int("groups")
    n, g = Dim("n", x.shape[0]), Dim("g", groups)
    c = Dim("c", x.shape[1] // groups)
    at = [Dim(f"s{i}", s) for i, s in enumerate(x.shape[2:])]
    channel = Affine({g: c.size, c: 1})
    element = compute_type(x.element)
    mean, factor = k.scratch((), element), k.scratch((), element)
    with k.repeat(n), k.repeat(g):
        read = x[[n, channel, *at]]
        _moments(k, [], [c, *at], read, mean[()], factor[()])
        operands = [read, mean[()], factor[()], scale[[channel]], bias[[channel]]]
        k.finish([c, *at], [n, channel, *at], operands, _standardized, weight=4)


def _moments(
    k: Kernel,
    rows: Sequence[Dim],
    reduced: Sequence[Dim],
    x: Access,
    mean: Access,
    factor: Access,
) -> None:
    """The mean, and `1 / sqrt(variance + epsilon)`."""
    element = mean.element
    count = max(1, prod(d.size for d in reduced))

    def average(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        return [multiply(alg, values[0], alg.number(1 / count, element))]

    def square(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        centred = subtract(alg, values[0], values[1])
        return [multiply(alg, centred, centred)]

    store_reduction(k, rows, reduced, total(Combine.ADD, element, x), mean, average)
    squares = Reduction(Combine.ADD, element, (x, mean), square)
    store_reduction(k, rows, reduced, squares, factor, _inverse_root(k, reduced))


def _inverse_root(k: Kernel, reduced: Sequence[Dim]) -> Body:
    """From a sum of squares: `1 / sqrt(mean + epsilon)`."""
    epsilon = k.call.float("epsilon")
    count = max(1, prod(d.size for d in reduced))

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        element = values[0].element
        mean = multiply(alg, values[0], alg.number(1 / count, element))
        root = square_root(alg, add(alg, mean, alg.number(epsilon, element)))
        return [divide(alg, alg.number(1.0, element), root)]

    return body


def _standardized(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
    x, mean, factor, scale, bias = values
    normal = multiply(alg, subtract(alg, x, mean), factor)
    return [alg.multiply_add(normal, scale, bias)]
