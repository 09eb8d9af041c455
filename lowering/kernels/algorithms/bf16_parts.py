"""Numbers of f32 as sums of three parts of bf16; see `semantics.bf16_parts`."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness, f32

from ....glow_dialects.glow_cpu.winograd import PARTS
from ....glow_dialects.glow_nest.affine import Affine, Dim, lookup
from ....glow_dialects.scalar import Expr, Primitive, apply, bitcast

WORD = IntegerType(32, Signedness.UNSIGNED)
_HIGH = 0xFFFF0000
_WIDTH = 16

PAIRS = ((2, 0), (0, 0), (1, 0), (1, 1), (0, 1), (0, 2))
"""The parts of two numbers whose products count, so that neighbours share one."""


def pairs_of_parts() -> tuple[Dim, Affine, Affine]:
    """Returns a dimension over products of parts, and which part each takes of both factors."""
    dim = Dim("parts", len(PAIRS))
    left, right = (lookup(dim, parts) for parts in zip(*PAIRS, strict=True))
    return dim, left, right


def words_of_parts(first: Expr, second: Expr | None) -> list[Expr]:
    """
    Returns the parts of two numbers of f32 in words: in each, that of the first number in the low
    half, of the second in the high half. A missing second number is zero.
    """
    words: list[Expr] = []
    for number in range(PARTS):
        last = number == PARTS - 1
        a, first = _cut(first, last)
        word = apply(Primitive.SHIFT_RIGHT, a, _WIDTH)
        if second is not None:
            b, second = _cut(second, last)
            word = apply(Primitive.OR, word, b)
        words.append(word)
    return words


def _cut(value: Expr, last: bool) -> tuple[Expr, Expr]:
    """Returns the largest part of a number, as bits, and the rest; all, if it is the last part."""
    bits = bitcast(value, WORD)
    if last:
        return bits, value
    high = apply(Primitive.AND, bits, _HIGH)
    return high, value - bitcast(high, f32)
