"""
Products with small constant matrices as straight-line code.

Points come in pairs p, -p. In B^T, the rows of such a pair agree in every other coefficient and are
opposite in the rest, so their results are the sum and the difference of two partial sums. In A^T,
the columns of a pair are so, and each row needs only the sum or only the difference of the two
inputs. Zeros cost nothing, and a coefficient of 1 or -1 costs no multiplication.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from xdsl.ir import Attribute

from ....glow_dialects.scalar import Primitive
from ..codegen.algebra import ArithAlgebra, Value
from .primitives import add, multiply, subtract

Row = Sequence[Fraction]
Matrix = Sequence[Row]
Sparse = Sequence[Value | None]
"""Values of which None stands for zero."""
Transform = Callable[["ArithAlgebra", Matrix, Sparse, Attribute], list["Value | None"]]


def combination(alg: ArithAlgebra, row: Row, values: Sparse, element: Attribute) -> Value | None:
    """`sum(row[i] * values[i])`; None if nothing is left of it."""
    terms = [(c, v) for c, v in zip(row, values, strict=True) if c and v is not None]
    # what is only added comes first, so that multiplications have something to be added to
    terms.sort(key=lambda term: (term[0] != 1, term[0] != -1))
    total: Value | None = None
    for coefficient, value in terms:
        if total is None:
            total = _scaled(alg, coefficient, value, element)
        elif coefficient == 1:
            total = add(alg, total, value)
        elif coefficient == -1:
            total = subtract(alg, total, value)
        else:
            factor = alg.number(float(coefficient), element)
            total = alg.multiply_add(value, factor, total)
    return total


def _scaled(alg: ArithAlgebra, coefficient: Fraction, value: Value, element: Attribute) -> Value:
    if coefficient == 1:
        return value
    if coefficient == -1:
        return alg.apply(Primitive.NEG, value)
    return multiply(alg, value, alg.number(float(coefficient), element))


def by_row_pairs(
    alg: ArithAlgebra, matrix: Matrix, values: Sparse, element: Attribute
) -> list[Value | None]:
    """The product of a matrix whose rows come in pairs, such as B^T, with a vector."""
    result: list[Value | None] = []
    while len(result) < len(matrix):
        k = len(result)
        pair = _split(matrix[k], matrix[k + 1]) if k + 1 < len(matrix) else None
        if pair is None:
            result.append(combination(alg, matrix[k], values, element))
            continue
        even, odd = (combination(alg, row, values, element) for row in pair)
        result += [_sum(alg, even, odd), _difference(alg, even, odd)]
    return result


def by_column_pairs(
    alg: ArithAlgebra, matrix: Matrix, values: Sparse, element: Attribute
) -> list[Value | None]:
    """The product of a matrix whose columns come in pairs, such as A^T, with a vector."""
    columns = list(zip(*matrix, strict=True))
    kept: list[Row] = []
    inputs: list[Value | None] = []
    k = 0
    while k < len(columns):
        pair = _split(columns[k], columns[k + 1]) if k + 1 < len(columns) else None
        if pair is None:
            kept.append(columns[k])
            inputs.append(values[k])
            k += 1
            continue
        kept += pair
        inputs += [_sum(alg, *values[k : k + 2]), _difference(alg, *values[k : k + 2])]
        k += 2
    return [combination(alg, row, inputs, element) for row in zip(*kept, strict=True)]


def _split(a: Row, b: Row) -> tuple[Row, Row] | None:
    """Rows e, o with `a = e + o` and `b = e - o` without a common nonzero place, both not zero."""
    if any(x not in (y, -y) for x, y in zip(a, b, strict=True)):
        return None
    even = [x if x == y else Fraction(0) for x, y in zip(a, b, strict=True)]
    odd = [x if x != y else Fraction(0) for x, y in zip(a, b, strict=True)]
    return (even, odd) if any(even) and any(odd) else None


def _sum(alg: ArithAlgebra, a: Value | None, b: Value | None) -> Value | None:
    if a is None or b is None:
        return b if a is None else a
    return add(alg, a, b)


def _difference(alg: ArithAlgebra, a: Value | None, b: Value | None) -> Value | None:
    if b is None:
        return a
    return alg.apply(Primitive.NEG, b) if a is None else subtract(alg, a, b)


def sandwich(
    alg: ArithAlgebra,
    product: Transform,
    matrix: Matrix,
    tile: Sequence[Sparse],
    element: Attribute,
) -> list[list[Value | None]]:
    """`matrix @ tile @ matrix^T`: columns first, then rows."""
    columns = [product(alg, matrix, column, element) for column in zip(*tile, strict=True)]
    return [product(alg, matrix, row, element) for row in zip(*columns, strict=True)]
