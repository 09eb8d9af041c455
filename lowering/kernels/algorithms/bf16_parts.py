"""Numbers of f32 as sums of three parts of bf16; see `semantics.bf16_parts`."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness, f32

from ....glow_dialects.glow_cpu.winograd import PARTS
from ....glow_dialects.scalar import Primitive
from ..affine import Affine, Dim, lookup
from ..codegen.algebra import ArithAlgebra, Value
from .primitives import subtract

WORD = IntegerType(32, Signedness.UNSIGNED)
_HIGH = 0xFFFF0000
_WIDTH = 16

PAIRS = ((2, 0), (0, 0), (1, 0), (1, 1), (0, 1), (0, 2))
"""The parts of two numbers whose products count, so that neighbours share one."""


def pairs_of_parts() -> tuple[Dim, Affine, Affine]:
    """A dimension over products of parts, and which part each takes of both factors."""
    dim = Dim("parts", len(PAIRS))
    left, right = (lookup(dim, parts) for parts in zip(*PAIRS, strict=True))
    return dim, left, right


def words_of_parts(alg: ArithAlgebra, first: Value, second: Value | None) -> list[Value]:
    """
    The parts of two numbers of f32 in words: in each, that of the first number in the low half, of
    the second in the high half. A missing second number is zero.
    """
    words: list[Value] = []
    for number in range(PARTS):
        last = number == PARTS - 1
        a, first = _cut(alg, first, last)
        word = alg.apply(Primitive.SHIFT_RIGHT, a, alg.number(_WIDTH, WORD))
        if second is not None:
            b, second = _cut(alg, second, last)
            word = alg.apply(Primitive.OR, word, b)
        words.append(word)
    return words


def _cut(alg: ArithAlgebra, value: Value, last: bool) -> tuple[Value, Value]:
    """The largest part of a number, as bits, and the rest; all, if it is the last part."""
    bits = alg.bits(value, WORD)
    if last:
        return bits, value
    high = alg.apply(Primitive.AND, bits, alg.number(_HIGH, WORD))
    return high, subtract(alg, value, alg.bits(high, f32))
