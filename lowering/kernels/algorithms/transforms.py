"""
Products with small constant matrices as straight-line code.

Points come in pairs p, -p. In B^T, the two rows of such a pair agree in every other coefficient and
have opposite signs in the rest. So their results are the sum and the difference of two partial
sums. In A^T, the same holds for columns: each row needs only the sum or only the difference of the
two inputs. Zeros cost nothing, and a coefficient of 1 or -1 costs no multiplication.

Numbers of f32 can be sums of three parts of bf16 (`semantics.bf16_parts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from xdsl.dialects.builtin import f32

from ....glow_dialects.elements import WORD
from ....glow_dialects.glow_cpu.winograd import PARTS
from ....glow_dialects.glow_nest.affine import Affine, Dim, affine, lookup
from ....glow_dialects.scalar import Expr, bitcast, multiply_add

Row = Sequence[Fraction]
Matrix = Sequence[Row]
Sparse = Sequence[Expr | None] | np.ndarray
"""A vector of values, in which None stands for zero."""
_SIGNS: Matrix = [[Fraction(1), Fraction(1)], [Fraction(1), Fraction(-1)]]
"""The coefficients of a sum and of a difference."""


def combination(row: Row, values: Sparse) -> Expr | None:
    """Returns `sum(row[i] * values[i])`; None if all terms are zero."""
    terms = [(c, v) for c, v in zip(row, values, strict=True) if c and v is not None]
    # terms without a factor come first, so that each multiplication can be fused with an addition
    terms.sort(key=lambda term: (term[0] != 1, term[0] != -1))
    total: Expr | None = None
    for coefficient, value in terms:
        if coefficient == 1:
            total = value if total is None else total + value
        elif coefficient == -1:
            total = -value if total is None else total - value
        elif total is None:
            total = value * float(coefficient)
        else:
            total = multiply_add(value, float(coefficient), total)
    return total


def by_row_pairs(values: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Returns the product of a matrix whose rows come in pairs, such as B^T, with a vector."""
    result: list[Expr | None] = []
    for rows in _in_pairs(matrix):
        result += _sum_and_difference([combination(row, values) for row in rows])
    return np.array(result, object)


def by_column_pairs(values: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Returns the product of a matrix whose columns come in pairs, such as A^T, with a vector."""
    kept: list[Row] = []
    inputs: list[Expr | None] = []
    for columns in _in_pairs(list(zip(*matrix, strict=True))):
        inputs += _sum_and_difference(values[len(kept) : len(kept) + len(columns)])
        kept += columns
    return np.array([combination(row, inputs) for row in zip(*kept, strict=True)], object)


def _in_pairs(rows: Matrix) -> Iterator[Matrix]:
    """Yields the parts of each pair of rows as `_split` returns them, and each other row alone."""
    place = 0
    while place < len(rows):
        pair = rows[place : place + 2]
        found = (_split(*pair) if len(pair) == 2 else None) or pair[:1]
        yield found
        place += len(found)


def _sum_and_difference(values: Sparse) -> list[Expr | None]:
    """Returns the sum and the difference of two values, and one value alone as it is."""
    if len(values) == 1:
        return list(values)
    return [combination(signs, values) for signs in _SIGNS]


def _split(a: Row, b: Row) -> tuple[Row, Row] | None:
    """
    Returns rows e, o with `a = e + o` and `b = e - o`, neither of them zero, without a common
    nonzero place.
    """
    if any(x not in (y, -y) for x, y in zip(a, b, strict=True)):
        return None
    even = [x if x == y else Fraction(0) for x, y in zip(a, b, strict=True)]
    odd = [x if x != y else Fraction(0) for x, y in zip(a, b, strict=True)]
    return (even, odd) if any(even) and any(odd) else None


# parts of filters


def steps_of(name: str, offsets: Sequence[int]) -> Sequence[tuple[Affine, Affine]]:
    """
    Returns numbers of parts and their offsets: those of a loop if the offsets are evenly spaced,
    so that one nest computes them all, or else constants.
    """
    distances = {b - a for a, b in pairwise(offsets)}
    if len(distances) != 1:
        return [(affine(i), affine(offset)) for i, offset in enumerate(offsets)]
    (distance,), part = distances, Dim(name, len(offsets))
    return [(affine(part), part * distance)]


# numbers in parts

_HIGH = 0xFFFF0000
_WIDTH = 16

PAIRS = ((2, 0), (0, 0), (1, 0), (1, 1), (0, 1), (0, 2))
"""The pairs of parts whose products count, in an order in which neighbouring pairs share a part."""


def pairs_of_parts() -> tuple[Dim, Affine, Affine]:
    """Returns a dimension over products of parts, and which part each takes of both factors."""
    dim = Dim("parts", len(PAIRS))
    left, right = (lookup(dim, parts) for parts in zip(*PAIRS, strict=True))
    return dim, left, right


def words_of_parts(first: Expr, second: Expr | None = None) -> list[Expr]:
    """
    Returns the parts of two f32 numbers as words. Each word has a part of the first number in its
    low half and a part of the second in its high half. A missing second number is zero.
    """
    low = (part >> _WIDTH for part in _parts_of(first))
    if second is None:
        return list(low)
    return [a | b for a, b in zip(low, _parts_of(second), strict=True)]


def _parts_of(value: Expr) -> Iterator[Expr]:
    """Yields the parts of a number as bits, the largest first; the last one is the whole rest."""
    for _ in range(PARTS - 1):
        high = bitcast(value, WORD) & _HIGH
        value = value - bitcast(high, f32)
        yield high
    yield bitcast(value, WORD)
