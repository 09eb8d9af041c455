"""
The matrices of fast convolution by interpolation, in exact rationals.

The Cook-Toom construction (Winograd, Arithmetic Complexity of Computations, 1980; Lavin and Gray,
Fast Algorithms for Convolutional Neural Networks, 2015; Blahut, Fast Algorithms for Signal
Processing, 2010, chapter 5): a product of polynomials of degrees m - 1 and r - 1 is known from its
values at m + r - 1 points, infinity among them. Transposed, that gives m outputs of a correlation
with r coefficients, by m + r - 1 multiplications:

    y = A^T ((G g) * (B^T d))            y [m], g [r], d [m + r - 1]
    Y = A^T ((G g G^T) * (B^T d B)) A    for two dimensions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import isqrt, lcm
from types import MappingProxyType

from ..glow_dialects.glow_cpu.winograd import KERNEL

Row = tuple[Fraction, ...]
Matrix = tuple[Row, ...]

POINTS: Mapping[int, tuple[Fraction, ...]] = MappingProxyType(
    {
        2: (Fraction(0), Fraction(-1)),
        3: (Fraction(0), Fraction(1), Fraction(-1)),
        4: (Fraction(0), Fraction(5, 4), Fraction(-5, 4), Fraction(1, 2)),
        5: (Fraction(0), Fraction(5, 8), Fraction(-5, 8), Fraction(3, 2), Fraction(-3, 2)),
    }
)
"""
Finite points by their number: for tiles of 2 or 4 outputs and 2 or 3 coefficients. The five round a
third to a fifth as much as 0, 1, -1, 2, -2 do, and every coefficient of B^T and A^T is still exact
in f32.
"""


INTEGER_POINTS: Mapping[int, tuple[Fraction, ...]] = MappingProxyType(
    {n: tuple(map(Fraction, (0, 1, -1, 2, -2)[:n])) for n in POINTS}
)
"""The same for integers, whose matrices B^T and A^T have small integers."""
_WORD, _BYTE = 2**15 - 1, 2**7
"""The largest word, and the largest absolute value of a signed byte."""


@dataclass(frozen=True)
class Transforms:
    """The matrices of m outputs of a correlation with r coefficients; a = m + r - 1."""

    inputs: Matrix
    """B^T [a, a]."""
    filters: Matrix
    """G [a, r]."""
    outputs: Matrix
    """A^T [m, a]."""
    divisor: int = 1
    """The number by which outputs are too large: other than 1 where all matrices are integers."""


@cache
def winograd_transforms(tile: int, coefficients: int = KERNEL, stride: int = 1) -> Transforms:
    """
    Returns the matrices for a tile of outputs that are `stride` inputs apart, with the points of
    `POINTS`.
    """
    return _in_phases(tile, coefficients, stride, POINTS)


def _in_phases(
    tile: int, coefficients: int, stride: int, points: Mapping[int, Sequence[Fraction]]
) -> Transforms:
    """
    Returns the matrices with some points. Each phase of the inputs meets every stride-th
    coefficient: it is a correlation of its own, and the outputs are the sums of those of all
    phases.
    """
    if coefficients == 1:
        return _single(tile)
    if stride == 1:
        return transforms(tile, coefficients, points[tile + coefficients - 2])
    inputs = (tile - 1) * stride + coefficients
    rows: list[Row] = []
    filters: list[Row] = []
    outputs: list[Row] = [()] * tile
    for phase in range(stride):
        part = _in_phases(tile, -(-(coefficients - phase) // stride), 1, points)
        rows += [_apart(row, phase, stride, inputs) for row in part.inputs]
        filters += [_apart(row, phase, stride, coefficients) for row in part.filters]
        outputs = [(*a, *b) for a, b in zip(outputs, part.outputs, strict=True)]
    return Transforms(tuple(rows), tuple(filters), tuple(outputs))


def _single(tile: int) -> Transforms:
    """Returns the matrices for a single coefficient, with which nothing is transformed."""
    unit = tuple(_unit(i, tile) for i in range(tile))
    return Transforms(unit, ((Fraction(1),),) * tile, unit)


def _apart(row: Row, phase: int, stride: int, size: int) -> Row:
    """Returns a row of `size` numbers, of which each stride-th, from `phase` on, is from `row`."""
    found = [Fraction(0)] * size
    found[phase::stride] = row
    return tuple(found)


@cache
def integer_transforms(tile: int, coefficients: int = KERNEL, stride: int = 1) -> Transforms:
    """
    Returns the same in integers, for tiles and filters of bytes: outputs are too large by `divisor`
    along each dimension, and transformed tiles and filters are words of 16 bits.

    A row of G is multiplied by its least common denominator, and further by as much of the
    difference from the other rows as words leave room for. A^T has the rest.
    """
    t = _in_phases(tile, coefficients, stride, INTEGER_POINTS)
    scales = [lcm(*(c.denominator for c in row)) for row in t.filters]
    divisor = lcm(*scales)
    filters: list[tuple[Fraction, ...]] = []
    rests: list[int] = []
    for row, scale in zip(t.filters, scales, strict=True):
        whole = tuple(c * scale for c in row)
        rest, size = divisor // scale, int(sum(map(abs, whole)))
        most = isqrt(_WORD // _BYTE) // size
        factor = max(n for n in range(1, rest + 1) if rest % n == 0 and n <= max(most, 1))
        filters.append(tuple(c * factor for c in whole))
        rests.append(rest // factor)
    outputs = tuple(tuple(c * n for c, n in zip(row, rests, strict=True)) for row in t.outputs)
    return Transforms(t.inputs, tuple(filters), outputs, divisor)


def transforms(m: int, r: int, points: Sequence[Fraction]) -> Transforms:
    """
    Returns the matrices for m outputs and r coefficients from m + r - 2 different points and
    infinity.

    Raises ValueError if there are more or fewer points, or equal ones.
    """
    if len(points) != m + r - 2 or len(set(points)) != len(points):
        raise ValueError(f"expected {m + r - 2} different points, found {len(points)}")
    inputs: list[tuple[Fraction, ...]] = []
    filters: list[tuple[Fraction, ...]] = []
    for point in points:
        others = [p for p in points if p != point]
        # row of B^T: the polynomial that vanishes at the others, whose value here G divides by
        inputs.append((*_from_roots(others), Fraction(0)))
        scale = _value(_from_roots(others), point)
        filters.append(tuple(point**k / scale for k in range(r)))
    inputs.append(_from_roots(points))
    filters.append(_unit(r - 1, r))
    outputs = [(*(point**i for point in points), Fraction(int(i == m - 1))) for i in range(m)]
    return Transforms(tuple(inputs), tuple(filters), tuple(outputs))


def _from_roots(roots: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Coefficients of the product of (x - root), lowest power first."""
    product = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *product]
        scaled = [*(c * root for c in product), Fraction(0)]
        product = [a - b for a, b in zip(shifted, scaled, strict=True)]
    return tuple(product)


def _value(polynomial: Sequence[Fraction], x: Fraction) -> Fraction:
    return sum((c * x**k for k, c in enumerate(polynomial)), Fraction(0))


def _unit(position: int, length: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(int(i == position)) for i in range(length))
