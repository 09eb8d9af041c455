"""Products with weights of a few bits, which are unpacked in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import add

from xdsl.dialects.builtin import f32, i32

from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_cpu.narrow_weights import WORD_BITS, PackedBlockQuantizedMatMulOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, affine
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.product_costs import repays_unpacking
from ....glow_dialects.scalar import (
    Expr,
    Primitive,
    apply,
    arguments,
    convert,
    maximum,
    multiply_add,
)
from ..registry import Kernel, kernel, total
from ..schedules.blocking import rows_of_panels, words_together
from .row_blocks import Rows, each_panel, for_rows

_BYTE_BITS, _HALF_BITS = 8, 16
_LEAST = 1e-30
"""Blocks of an input whose numbers are smaller are rounded as if this were the largest number."""


@kernel(PackedBlockQuantizedMatMulOp)
def matmul(k: Kernel) -> None:
    """
    Computes `y[r, j]` as the sum over blocks of `scale * (sum(q * x) - zero point * sum(x))`. Many
    rows meet panels that are unpacked before; few rows, and those of bytes where the machine
    multiplies these, meet words, a few at a time.
    """
    x, words = k.operands[:2]
    columns, width = k.call.int("columns"), words.shape[3]
    together = rows_of_panels(k.machine, prod(x.shape[:-1]), x.shape[-1])
    for rows in for_rows(k, x.rank - 1, x, together):
        many = repays_unpacking(rows.row.size, k.call.int("input_bits"), k.machine)
        product = _unpacked_product(k, rows) if many else _word_product(k, rows)
        for panel, (*panels, j) in each_panel(k, columns, width, in_nest=True, names=("p", "j")):
            product(panel, panels, j)


Product = Callable[[Affine, Sequence[Dim], Dim], None]
"""Adds the product with a panel, or with several in loops, of which it computes columns."""


def _factor(bits: int, place: int) -> float:
    """Returns what the bits of a number in its word are as an integer, if the number is 1."""
    return 1.0 if bits * (place + 1) == WORD_BITS else 2.0 ** (bits * place)


def _number(word: Expr, bits: int, place: int) -> Expr:
    """Returns the number at a place of a word, times its factor, as f32."""
    if bits * (place + 1) == WORD_BITS:
        # as a signed integer, which converts in one instruction, it would be negative
        word = word >> (bits * place)
    else:
        word = word & ((2**bits - 1) << (bits * place))
    return convert(convert(word, i32), f32)


def _pair(word: Expr, bits: int, place: int) -> tuple[Expr, int]:
    """
    Returns the numbers at a place of both halves of a word, each shifted to the left, and by how
    many bits. One shift of a word serves all numbers of a byte.
    """
    byte, shift = divmod(bits * place, _BYTE_BITS)
    if byte:
        word = word >> (byte * _BYTE_BITS)
    mask = ((2**bits - 1) << shift) * (1 + (1 << _HALF_BITS))
    return convert(word & mask, i32), shift


def _quad(word: Expr, bits: int, place: int) -> Expr:
    """Returns the numbers at a place of all bytes of a word."""
    if place:
        word = word >> (bits * place)
    return convert(word & ((2**bits - 1) * 0x01010101), i32)


def _parameters(k: Kernel, panel: Affine, b: Dim, j: Dim) -> list[Access]:
    """Returns the scale and the zero point of a block of a column."""
    _, _, scales, zeros = k.operands
    one = zeros.shape == (1, 1, 1)
    return [scales[[panel, b, j]], zeros[[0, 0, 0] if one else [panel, b, j]]]


@dataclass(frozen=True)
class _Steps:
    """The steps in which some rows meet the words of columns: parts of blocks."""

    b: Dim
    c: Dim
    """The part of a block."""
    together: int
    """The number of words of a part."""
    places: int
    """The number of numbers in a word."""

    def word(self, u: Index) -> Affine:
        """Returns the number of a word of a part in its block."""
        return affine(self.c) * self.together + u


@dataclass(frozen=True)
class _Factors:
    """The rows of the input, prepared for the words that they meet."""

    reads: Sequence[Access]
    """The factors of the numbers of a part, word by word."""
    total: Access
    """The sum of the numbers of a part."""
    scales: Sequence[Access] = ()
    """The number that all of these are multiplied with, if there is one."""


def _word_product(k: Kernel, rows: Rows) -> Product:
    """Returns the way to multiply a few rows with words."""
    words = k.operands[1]
    _, blocks, size, width = words.shape
    bits, row = k.call.int("bits"), rows.row
    wide = k.call.int("input_bits") > _HALF_BITS
    together = 1 if wide else words_together(size)
    steps = _Steps(Dim("b", blocks), Dim("c", size // together), together, WORD_BITS // bits)
    part, adds_quads = k.call.int("input_bits"), k.machine.byte_dot(unsigned=True) is not None
    if bits == _BYTE_BITS and not adds_quads:
        part = _HALF_BITS  # two products of unsigned bytes and signed ones may exceed 16 bits
    if wide:
        dot = _dot
    elif part == _HALF_BITS:
        dot = _pair_dot
    else:
        dot = _quad_dot if adds_quads else _byte_pairs_dot
    factors = _divided_factors(k, rows, steps) if wide else _rounded_factors(k, rows, steps, part)

    def product(panel: Affine, panels: Sequence[Dim], j: Dim) -> None:
        reads = (
            *(words[[panel, steps.b, steps.word(u), j]] for u in range(together)),
            *(*_parameters(k, panel, steps.b, j), factors.total, *factors.scales, *factors.reads),
        )
        given = arguments(len(reads))
        scale, zero, sum_of_inputs = given[together : together + 3]
        scale = convert(scale, f32)
        if factors.scales:
            scale = scale * given[together + 3]
        sums = dot(given[:together], given[-len(factors.reads) :], bits)
        value = multiply_add(-convert(zero, f32), sum_of_inputs, sums) * scale
        reduction = total(Combine.ADD, f32, *reads, value=value)
        place = [*rows.place, panel * width + j]
        k.finish([row, *panels, j], place, (), X, [steps.b, steps.c], reduction)

    return product


def _dot(words: Sequence[Expr], factors: Sequence[Expr], bits: int) -> Expr:
    """
    Returns the sum of products with the numbers of a word. A number is converted where it is in its
    word; its factor is divided by the power of two that this multiplies it with.
    """
    (word,), value = words, Expr.constant(0.0, f32)
    for place, factor in enumerate(factors):
        value = multiply_add(_number(word, bits, place), factor, value)
    return value


def _divided_factors(k: Kernel, rows: Rows, steps: _Steps) -> _Factors:
    """
    Returns the numbers of rows that meet a word, each divided by the factor of its place in it.
    """
    x, row, bits = k.operands[0], rows.row, k.call.int("bits")
    at = [row, steps.b, steps.c]
    places = range(steps.places)
    divided = k.scratch((*(d.size for d in at), len(places)), f32)
    sums = k.scratch([d.size for d in at], f32)
    first = (affine(steps.b) * steps.c.size + steps.c) * len(places)
    elements = [x[[*rows.place, first + place]] for place in places]
    for i, element in enumerate(elements):
        k.map(at, divided[[*at, i]], [element], convert(X, f32) * (1 / _factor(bits, i)))
    wide = [convert(a, f32) for a in arguments(len(elements))]
    k.map(at, sums[at], elements, reduce(add, wide))
    return _Factors([divided[[*at, i]] for i in places], sums[at])


def _pair_dot(words: Sequence[Expr], factors: Sequence[Expr], bits: int) -> Expr:
    """Returns the sum of products of numbers of words with pairs of integers, as f32."""
    places, sums = _HALF_BITS // bits, dict[int, Expr]()
    for i, factor in enumerate(factors):
        pair, shift = _pair(words[i // places], bits, i % places)
        sums[shift] = apply(
            Primitive.MULTIPLY_ADD_PAIRS, pair, factor, sums.get(shift, Expr.constant(0, i32))
        )
    whole = [s >> shift if shift else s for shift, s in sums.items()]
    return convert(reduce(add, whole), f32)


def _quad_dot(words: Sequence[Expr], factors: Sequence[Expr], bits: int) -> Expr:
    """Returns the sum of products of numbers of words with quads of integers, as f32."""
    places, value = _BYTE_BITS // bits, Expr.constant(0, i32)
    for i, factor in enumerate(factors):
        quad = _quad(words[i // places], bits, i % places)
        value = apply(Primitive.MULTIPLY_ADD_QUADS, quad, factor, value)
    return convert(value, f32)


def _byte_pairs_dot(words: Sequence[Expr], factors: Sequence[Expr], bits: int) -> Expr:
    """
    Returns the same on machines that add two products of bytes in 16 bits, in which as many are
    added as do not overflow.
    """
    places, value, part = _BYTE_BITS // bits, Expr.constant(0, i32), Expr.constant(0, i32)
    most = (2 ** (_HALF_BITS - 1) - 1) // (2 * (2**bits - 1) * (2 ** (_BYTE_BITS - 1) - 1))
    for i, factor in enumerate(factors):
        part = apply(
            Primitive.MULTIPLY_ADD_BYTES, _quad(words[i // places], bits, i % places), factor, part
        )
        if (i + 1) % most == 0 or i + 1 == len(factors):
            value = apply(Primitive.MULTIPLY_ADD_PAIRS, part, 1 + (1 << _HALF_BITS), value)
            part = Expr.constant(0, i32)
    return convert(value, f32)


def _rounded_factors(k: Kernel, rows: Rows, steps: _Steps, width: int) -> _Factors:
    """
    Returns the numbers of rows as integers of `width` bits, as many in 32 bits as fit: those that
    lie at one place of equal parts of a word. Each block of a row has its own scale.
    """
    x, row = k.operands[0], rows.row
    together, parts = steps.together, WORD_BITS // width
    block, places = steps.c.size * together * steps.places, steps.places // parts
    most_terms = together * steps.places * (2**_BYTE_BITS - 1)
    levels = min(2 ** (width - 1) - 1, (2**31 - 1) // most_terms)
    per_block = [row, steps.b]
    largest = k.scratch((row.size, steps.b.size), f32)
    t = Dim("t", block)
    element = x[[*rows.place, affine(steps.b) * block + t]]
    reduction = total(Combine.MAXIMUM, f32, element, value=abs(convert(X, f32)))
    k.map(per_block, largest[per_block], (), maximum(X, _LEAST), [t], reduction)
    integers = k.scratch((row.size, steps.b.size, block), i32)
    rounded = apply(Primitive.ROUND_EVEN, convert(X, f32) * (float(levels) / Y))
    read = [element, largest[per_block]]
    k.map([*per_block, t], integers[[*per_block, t]], read, convert(rounded, i32))

    at = [*per_block, steps.c]
    joined = k.scratch((*(d.size for d in at), together, places), i32)
    u, m = Dim("u", together), Dim("m", places)
    first = steps.word(u) * steps.places + m
    numbers = [integers[[*per_block, first + i * places]] for i in range(parts)]
    fields = [(a & (2**width - 1)) << (i * width) for i, a in enumerate(arguments(parts))]
    value = reduce(lambda a, b: a | b, fields)
    k.map([*at, u, m], joined[[*at, u, m]], numbers, value)
    sums, scales = k.scratch([d.size for d in at], f32), k.scratch(largest.shape, f32)
    n = Dim("n", together * steps.places)
    terms = total(Combine.ADD, i32, integers[[*per_block, affine(steps.c) * n.size + n]])
    k.map(at, sums[at], (), convert(X, f32), [n], terms)
    k.map(per_block, scales[per_block], [largest[per_block]], X * (1 / levels))
    reads = [joined[[*at, i, place]] for i in range(together) for place in range(places)]
    return _Factors(reads, sums[at], [scales[per_block]])


def _unpacked_product(k: Kernel, rows: Rows) -> Product:
    """Returns the way to multiply many rows with panels that are unpacked before."""
    x, words = k.operands[:2]
    _, blocks, size, width = words.shape
    bits, inner = k.call.int("bits"), x.shape[-1]
    places = range(WORD_BITS // bits)
    unpacked = k.scratch((inner, width), f32)

    def product(panel: Affine, panels: Sequence[Dim], j: Dim) -> None:
        b, c, t = Dim("b", blocks), Dim("c", size), Dim("t", inner)
        word, scale, zero = arguments(3)
        scale, zero = convert(scale, f32), convert(zero, f32)
        values = [
            multiply_add(_number(word, bits, place), 1 / _factor(bits, place), -zero) * scale
            for place in places
        ]
        column = affine(b) * (size * len(places)) + affine(c) * len(places)
        writes = [unpacked[[column + place, j]] for place in places]
        reads = (words[[panel, b, c, j]], *_parameters(k, panel, b, j))
        with k.repeat(*panels):
            k.map_all([b, c, j], writes, reads, values)
            products = total(Combine.ADD, f32, x[[*rows.place, t]], unpacked[[t, j]])
            k.finish([rows.row, j], [*rows.place, panel * width + j], (), X, [t], products)

    return product
