"""Numbers of f32 as sums of three parts of bf16 (`semantics.bf16_parts`)."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness, f32

from ....glow_dialects.glow_cpu.winograd import PARTS
from ....glow_dialects.glow_nest.affine import Affine, Dim, lookup
from ....glow_dialects.scalar import Expr, Primitive, apply, bitcast

WORD = IntegerType(32, Signedness.UNSIGNED)
_HIGH = 0xFFFF0000
_WIDTH = 16

PAIRS = ((2, 0), (0, 0), (1, 0), (1, 1), (0, 1), (0, 2))
"""The pairs of parts whose products count, in an order in which neighbouring pairs share a part."""


def pairs_of_parts() -> tuple[Dim, Affine, Affine]:
    """Returns a dimension over products of parts, and which part each takes of both factors."""
    dim = Dim("parts", len(PAIRS))
    left, right = (lookup(dim, parts) for parts in zip(*PAIRS, strict=True))
    return dim, left, right


def words_of_parts(first: Expr, second: Expr | None) -> list[Expr]:
    """
    Returns the parts of two f32 numbers as words. Each word has a part of the first number in its
    low half and a part of the second in its high half. A missing second number is zero.
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
    """
    Returns the largest part of a number, as bits, and the rest. The last part is the whole number.
    """
    bits = bitcast(value, WORD)
    if last:
        return bits, value
    high = apply(Primitive.AND, bits, _HIGH)
    return high, value - bitcast(high, f32)
