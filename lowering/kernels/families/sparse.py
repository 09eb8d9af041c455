"""Products that skip the rows of a matrix that meet a zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import f32, i32

from ....glow_dialects.elements import compute_type, element_bytes
from ....glow_dialects.glow.sparse import (
    GROUP_COLUMNS,
    SPARE_BITS,
    WORD_LANES,
    WORDS,
    SparseVectorMatMulOp,
    SparseVectorWordsMatMulOp,
)
from ....glow_dialects.scalar import Primitive
from ..affine import Affine, Dim, Index, View, affine
from ..algebra import ArithAlgebra, Value
from ..nest import Body, Nest
from ..primitives import add, multiply
from ..registry import Kernel, kernel

_ROWS = 8
"""How many rows are added at a time: each sum is loaded and stored once for all of them."""
_AHEAD_BYTES = 512
"""How far ahead rows are prefetched."""
_WORDS_AHEAD_BYTES = 1024
"""How far ahead rows in words are prefetched, of which each place takes longer."""
_FEWEST_COLUMNS = 64
"""Of a thread: shorter parts of rows are read slowly."""
_PARTS = 2
"""Of the list, each with sums of its own: two threads read whole rows, which is faster than parts
of all rows."""
_FEWEST_ROWS = 1024
"""Of a part, if none met a zero."""


@kernel(SparseVectorMatMulOp)
def sparse_vector_matmul(k: Kernel) -> None:
    """
    First a list of the places where `x` is not zero. Then, for some of these places at a time,
    `sums[j] += x[t] * weights[t, j]` over as many columns as have sums that fit into the nearest
    cache. Each thread has a part of the list, or columns of its own.
    """
    _multiply(k, k.operands[1].shape[1], 1, _add_rows)


@kernel(SparseVectorWordsMatMulOp)
def sparse_vector_words_matmul(k: Kernel) -> None:
    """The same with groups of columns. What integers stand for is taken into account at the end."""
    factor = k.call.float("scale")

    def scaled(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        return [multiply(alg, values[0], alg.number(factor, f32))]

    _multiply(k, k.call.int("columns"), GROUP_COLUMNS, _add_words, scaled)


AddRows: TypeAlias = "Callable[[Kernel, Sequence[Dim], View, Dim, int, Affine], None]"
"""Adds the rows at some places to the sums of a part, of so many units of columns from one on."""


def _multiply(
    k: Kernel, columns: int, unit: int, add_rows: AddRows, body: Body | None = None
) -> None:
    """The product with a matrix of so many columns, of which `unit` are read together."""
    x = k.operands[0]
    row: list[Index] = [0] * (x.rank - 1)
    t = Dim("t", x.shape[-1])
    listing = k.list_nonzeros(t, x[[*row, t]])
    lists = _PARTS if t.size >= _PARTS * _FEWEST_ROWS else 1
    units = _units(k, columns, unit, lists)
    all_units = -(-columns // unit)
    sums = k.scratch((lists, all_units * unit), compute_type(k.element))

    def visit(start: int, size: int, blocks: int) -> None:
        """Blocks of as many units of columns, from one on."""
        part, block, every = Dim("part", lists), Dim("p", blocks), Dim("j", size * unit)
        with k.repeat(part), k.repeat(block):
            first = affine(start) + block * size
            zero = sums[[part, first * unit + every]]
            k.map([every], zero, (), lambda alg, _: [alg.number(0, sums.element)], weight=0)
            for together, after in ((_ROWS, 0), (1, _ROWS)):
                with k.repeat_listed(listing, together, after, part) as places:
                    add_rows(k, places, sums, part, size, first)

    blocks, rest = divmod(all_units, units)
    visit(0, units, blocks)
    if rest:
        visit(blocks * units, rest, 1)

    def total(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        result = values[0]
        for value in values[1:]:
            result = add(alg, result, value)
        return [result] if body is None else body(alg, [result])

    j = Dim("j", columns)
    k.finish([j], [*row, j], [sums[[part, j]] for part in range(lists)], total)


def _units(k: Kernel, columns: int, unit: int, lists: int) -> int:
    """How many units of columns are summed at a time: threads have about as many each."""
    units = -(-columns // unit)
    most = max(1, k.machine.l1_bytes // 2 // element_bytes(compute_type(k.element)) // unit)
    threads = -(-k.threads // lists)
    threads = threads if columns >= _FEWEST_COLUMNS * threads else 1
    parts = threads * -(-units // (threads * most))
    return max(1, units // max(1, parts))


def _add_rows(
    k: Kernel, places: Sequence[Dim], sums: View, part: Dim, size: int, first: Affine
) -> None:
    """Adds rows of the matrix, each times the element of `x` there."""
    x, weights = k.operands
    row: list[Index] = [0] * (x.rank - 1)
    j = Dim("j", size)

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        before, *factors = (alg.convert(v, sums.element) for v in values)
        return [_sum(alg, before, factors[::2], factors[1::2])]

    factors = [a for t in places for a in (x[[*row, t]], weights[[t, first + j]])]
    there = sums[[part, first + j]]
    operands = (there, *factors)
    weight = len(places)
    k.nest(Nest((j,), (there,), body, operands, in_place=True, weight=weight, ahead=_AHEAD_BYTES))


def _add_words(
    k: Kernel, places: Sequence[Dim], sums: View, part: Dim, groups: int, first: Affine
) -> None:
    """
    Adds rows of the matrix in groups of words: first those that are in the high bits of words, the
    low bits of which come together meanwhile.
    """
    x, weights = k.operands
    row: list[Index] = [0] * (x.rank - 1)
    group, lane = Dim("g", groups), Dim("l", WORD_LANES)
    column = (first + group) * GROUP_COLUMNS + lane
    columns = [sums[[part, column + w * WORD_LANES]] for w in range(WORDS + 1)]
    words = [weights[[t, first + group, w, lane]] for w in range(WORDS) for t in places]
    n = len(places)

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        before, factors, bits = values[: WORDS + 1], values[WORDS + 1 :][:n], values[-len(words) :]
        added: list[Value] = []
        last = [alg.number(0, i32)] * n
        for w in range(WORDS):
            line = bits[w * n : (w + 1) * n]
            numbers = [alg.convert(_masked(alg, word, ~_SPARE), f32) for word in line]
            added.append(_sum(alg, before[w], factors, numbers))
            last = [
                alg.apply(Primitive.OR, _shifted(alg, rest), _masked(alg, word, _SPARE))
                for rest, word in zip(last, line, strict=True)
            ]
        numbers = [alg.convert(_shifted(alg, rest), f32) for rest in last]
        return [*added, _sum(alg, before[-1], factors, numbers)]

    operands = (*columns, *(x[[*row, t]] for t in places), *words)
    nest = Nest(
        (group, lane),
        tuple(columns),
        body,
        operands,
        in_place=True,
        weight=8 * n,
        ahead=_WORDS_AHEAD_BYTES,
    )
    k.nest(nest)


def _sum(
    alg: ArithAlgebra, before: Value, factors: Sequence[Value], numbers: Sequence[Value]
) -> Value:
    """
    `before` and products. Their sum comes first: less is lost to rounding than if each were added
    to a large sum.
    """
    total = multiply(alg, numbers[0], factors[0])
    for factor, number in zip(factors[1:], numbers[1:], strict=True):
        total = alg.multiply_add(number, factor, total)
    return add(alg, before, total)


_SPARE = (1 << SPARE_BITS) - 1


def _masked(alg: ArithAlgebra, word: Value, mask: int) -> Value:
    return alg.apply(Primitive.AND, word, alg.number(mask, i32))


def _shifted(alg: ArithAlgebra, word: Value) -> Value:
    return multiply(alg, word, alg.number(1 << SPARE_BITS, i32))
