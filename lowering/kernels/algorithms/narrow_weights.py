"""Products with weights of a few bits, which are unpacked in registers."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod
from operator import add

from xdsl.dialects.builtin import f32, i32

from ....glow_dialects.glow_cpu.narrow_weights import WORD_BITS, PackedBlockQuantizedMatMulOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, affine
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from ....glow_dialects.scalar import Expr, Primitive, apply, arguments, convert, multiply_add
from ..registry import Kernel, kernel, total
from ..schedules.blocking import repays_unpacking, rows_of_panels
from .row_blocks import Rows, for_rows


@kernel(PackedBlockQuantizedMatMulOp)
def matmul(k: Kernel) -> None:
    """
    Computes `y[r, j]` as the sum over blocks of `scale * (sum(q * x) - zero point * sum(x))`, word
    by word. A number `q` is converted where it is in its word, and `x` is divided by the
    power of two that this multiplies it with. Many rows meet panels that are unpacked before.
    """
    x, words = k.operands[:2]
    panels, _, _, width = words.shape
    rest = k.call.int("columns") - (panels - 1) * width
    full = panels if rest == width else panels - 1

    def visit(rows: Rows) -> None:
        make = _unpacked_product if repays_unpacking(rows.row.size) else _word_product
        product = make(k, rows)
        if full:
            product(Dim("p", full), 0, width)
        if rest < width:
            product(Dim("p", 1), panels - 1, rest)

    together = rows_of_panels(k.machine, prod(x.shape[:-1]), x.shape[-1])
    for_rows(k, x.rank - 1, [x], together, visit)


Product = Callable[[Dim, int, int], None]
"""Adds the product with some panels, from one on, of which it computes the first columns."""


def _factor(bits: int, place: int) -> float:
    """Returns what the bits of a number in its word are as an integer, if the number is 1."""
    return 1.0 if bits * (place + 1) == WORD_BITS else 2.0 ** (bits * place)


def _number(word: Expr, bits: int, place: int) -> Expr:
    """Returns the number at a place of a word, times its factor, as f32."""
    if bits * (place + 1) == WORD_BITS:
        # as a signed integer, which converts in one instruction, it would be negative
        word = apply(Primitive.SHIFT_RIGHT, word, bits * place)
    else:
        word = apply(Primitive.AND, word, (2**bits - 1) << (bits * place))
    return convert(convert(word, i32), f32)


def _parameters(k: Kernel, panel: Affine, b: Dim, j: Dim) -> list[Access]:
    """Returns the scale and the zero point of a block of a column."""
    _, _, scales, zeros = k.operands
    one = zeros.shape == (1, 1, 1)
    return [scales[[panel, b, j]], zeros[[0, 0, 0] if one else [panel, b, j]]]


def _word_product(k: Kernel, rows: Rows) -> Product:
    """Returns the way to multiply a few rows with words."""
    x, words = k.operands[:2]
    _, blocks, size, _ = words.shape
    bits, row = k.call.int("bits"), rows.row
    places = range(WORD_BITS // bits)
    b, c = Dim("b", blocks), Dim("c", size)
    column = affine(b) * (size * len(places)) + affine(c) * len(places)
    elements = [x[[*rows.place, column + place]] for place in places]
    divided = k.scratch((len(places), row.size, blocks, size), f32)
    sums = k.scratch((row.size, blocks, size), f32)
    for place, element in zip(places, elements, strict=True):
        value = convert(Expr.argument(0), f32) * (1 / _factor(bits, place))
        k.map([row, b, c], divided[[place, row, b, c]], [element], value)
    wide = [convert(a, f32) for a in arguments(len(places))]
    k.map([row, b, c], sums[[row, b, c]], elements, reduce(add, wide))

    def product(p: Dim, first: int, columns: int) -> None:
        j, panel = Dim("j", columns), affine(p) + first
        word, scale, zero, total, *given = arguments(4 + len(places))
        value = -convert(zero, f32) * total
        for place, element in zip(places, given, strict=True):
            value = multiply_add(_number(word, bits, place), element, value)
        reads = (
            *(words[[panel, b, c, j]], *_parameters(k, panel, b, j), sums[[row, b, c]]),
            *(divided[[place, row, b, c]] for place in places),
        )
        body = Body((value * convert(scale, f32),), (f32,))
        reduction = Reduction(Combine.ADD, f32, reads, body)
        place = [*rows.place, panel * words.shape[-1] + j]
        k.reduce([row, p, j], [b, c], reduction, place)

    return product


def _unpacked_product(k: Kernel, rows: Rows) -> Product:
    """Returns the way to multiply many rows with panels that are unpacked before."""
    x, words = k.operands[:2]
    _, blocks, size, width = words.shape
    bits, inner = k.call.int("bits"), x.shape[-1]
    places = range(WORD_BITS // bits)
    unpacked = k.scratch((inner, width), f32)

    def product(p: Dim, first: int, columns: int) -> None:
        j, panel = Dim("j", columns), affine(p) + first
        b, c, t = Dim("b", blocks), Dim("c", size), Dim("t", inner)
        word, scale, zero = arguments(3)
        scale, zero = convert(scale, f32), convert(zero, f32)
        values = [
            multiply_add(_number(word, bits, place), 1 / _factor(bits, place), -zero) * scale
            for place in places
        ]
        column = affine(b) * (size * len(places)) + affine(c) * len(places)
        writes = tuple(unpacked[[column + place, j]] for place in places)
        reads = (words[[panel, b, c, j]], *_parameters(k, panel, b, j))
        with k.repeat(p):
            body = Body(tuple(values), (f32,) * len(places))
            k.nest(Nest((b, c, j), writes, body, reads))
            products = total(Combine.ADD, f32, x[[*rows.place, t]], unpacked[[t, j]])
            k.reduce([rows.row, j], [t], products, [*rows.place, panel * width + j])

    return product
