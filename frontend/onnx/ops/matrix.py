"""Matrix products."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp, MulOp
from ....glow_dialects.glow.matrix import DeterminantOp, FullyConnectedOp, MatMulOp, pivoted
from ..builder import GraphBuilder, element, rank, shape
from ..known_sizes import broadcast_shape
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from .coordinates import wide_float


@converter("MatMul")
def matmul(node: OnnxNode) -> SSAValue:
    """
    Converts numpy's `matmul`: vectors become matrices, dimensions before the last two broadcast.
    """
    return matrix_product(node.build, node.input(0), node.input(1))


def matrix_product(build: GraphBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """Returns numpy's `matmul` of two values."""
    if not rank(a) or not rank(b):
        raise ModelError(f"expected matrices or vectors, found {a.type} and {b.type}")
    left = build.reshape(a, [1, *shape(a)]) if rank(a) == 1 else a
    right = build.reshape(b, [*shape(b), 1]) if rank(b) == 1 else b
    if shape(left)[-1] != shape(right)[-2]:
        raise ModelError(
            f"expected a right operand with {shape(a)[-1]} rows for {a.type}, found {b.type}"
        )
    product = _batched(build, left, right)
    target = list(shape(product))
    if rank(b) == 1:
        del target[-1]
    if rank(a) == 1:
        del target[-1 if rank(b) == 1 else -2]
    return build.reshape(product, target)


def _batched(build: GraphBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """Returns the product of operands with at least two dimensions."""
    (*batch_a, rows, inner), (*batch_b, _, columns) = shape(a), shape(b)
    if not batch_b:
        # one right matrix for all: all rows together are one left matrix
        flat = build.reshape(a, [prod(batch_a) * rows, inner])
        return build.reshape(build.op(MatMulOp, flat, b), [*batch_a, rows, columns])
    try:
        batch = broadcast_shape([batch_a, batch_b])
    except ValueError:
        raise ModelError(
            f"expected leading dimensions that broadcast to each other, found {a.type} and {b.type}"
        ) from None
    left = build.broadcast(a, [*batch, rows, inner])
    right = build.broadcast(b, [*batch, inner, columns])
    return build.op(MatMulOp, left, right)


@converter("Gemm")
def gemm(node: OnnxNode) -> SSAValue:
    """Returns `alpha * a @ b + beta * c`, where a or b may be transposed and c is broadcast."""
    return general_product(node, node.input(0), node.input(1), node.optional(2))


def general_product(node: OnnxNode, a: SSAValue, b: SSAValue, c: SSAValue | None) -> SSAValue:
    """Returns the `Gemm` that the attributes of `node` describe."""
    build = node.build
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    for operand in (a, b):
        if rank(operand) != 2:
            raise ModelError(f"expected matrices, found {a.type} and {b.type}")
    trans_a, trans_b = bool(node.attr("transA", 0)), bool(node.attr("transB", 0))
    if trans_b and not trans_a and alpha == 1:
        bias = _row_bias(build, c, beta, shape(b)[0])
        if bias is not None or c is None or beta == 0:
            bias = build.splat(0, element(a), [shape(b)[0]]) if bias is None else bias
            return build.op(FullyConnectedOp, a, b, bias)
    product = build.op(MatMulOp, a, b, transpose_lhs=trans_a, transpose_rhs=trans_b)
    if alpha != 1:
        product = build.with_number(MulOp, product, alpha)
    if c is None or beta == 0:
        return product
    scaled = c if beta == 1 else build.with_number(MulOp, c, beta)
    return build.op(AddOp, product, build.broadcast(scaled, shape(product)))


def _row_bias(
    build: GraphBuilder, c: SSAValue | None, beta: float, columns: int
) -> SSAValue | None:
    """Returns `c` as a bias that is the same for all rows; None if it is not."""
    if c is None or beta != 1 or shape(c) not in ((columns,), (1, columns)):
        return None
    return build.reshape(c, [columns])


@converter("Det")
def determinant(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    if rank(x) >= 2 and shape(x)[-1] > DeterminantOp.MOST_ROWS:
        raise Unsupported(f"matrices of more than {DeterminantOp.MOST_ROWS} rows")
    return node.build.op(DeterminantOp, x)


@converter("Inverse", domain=CONTRIB)
def inverse(node: OnnxNode) -> SSAValue:
    """
    Converts the inverse of matrices, by elimination with row pivots in the matrix and the identity
    beside it.
    """
    x = node.input(0)
    *batch, rows, columns = shape(x) if rank(x) >= 2 else (0, 1)
    if rows != columns:
        raise ModelError(f"expected square matrices, found {x.type}")
    if rows > DeterminantOp.MOST_ROWS:
        raise Unsupported(f"matrices of more than {DeterminantOp.MOST_ROWS} rows")
    if 0 in shape(x):
        return x
    build, flat = node.build, [prod(batch), rows, rows]
    steps = [_eliminated("start" if k == 0 else f"solved{k - 1}", k, rows) for k in range(rows)]
    start = f"""start[b, i, j] = x[b, i, min(j, {rows - 1})] if j < {rows}
        else (1 if i == j - {rows} else 0) for j < {2 * rows}"""
    result = f"y[b, i, c] = solved{rows - 1}[b, i, c + {rows}] for c < {rows}"
    text = f"{result} where {'; '.join([start, *steps])}"
    wide = build.cast(x, wide_float(element(x)))
    found = build.formula(text, build.reshape(wide, flat), shape=flat)
    return build.cast(build.reshape(found, shape(x)), element(x))


def _eliminated(rows: str, k: int, count: int) -> str:
    """
    Returns the equations in which row `k` changes places with the one that is largest in column
    `k`, is divided by its element there, and makes the other elements of the column 0.
    """
    return f"""
        {pivoted(rows, k, count, "b")};
        row{k}[b, j] = turned{k}[b, {k}, j] / turned{k}[b, {k}, {k}];
        solved{k}[b, i, j] = row{k}[b, j] if i == {k}
            else turned{k}[b, i, j] - turned{k}[b, i, {k}] * row{k}[b, j]"""
