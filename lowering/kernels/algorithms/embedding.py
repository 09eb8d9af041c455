"""Sums of rows that indices in memory name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import f32

from ....glow_dialects.elements import WORD, compute_type, element_bytes
from ....glow_dialects.glow.embedding import EmbeddingBagOp, FusedEmbeddingBagOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, Indirect, View, affine
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.machine import LINE_BYTES
from ....glow_dialects.scalar import (
    Expr,
    Primitive,
    apply,
    arguments,
    bitcast,
    convert,
    multiply_add,
    select,
)
from ..registry import Kernel, kernel
from ..schedules.blocking import rows_touched_early


@kernel(EmbeddingBagOp)
def embedding_bag(k: Kernel) -> None:
    """Adds the rows that indices name, in order, to the sums of their bags."""
    data, _, weights, _ = k.operands
    element = compute_type(k.element)
    sums = k.result if k.element == element else k.scratch(k.result.shape, element)
    c = Dim("c", data.shape[1])
    k.fill(sums, 0)

    def add(m: Affine) -> None:
        there = _sum_of_bag(k, sums, m, [c])
        old, new, row_weight = (convert(a, element) for a in arguments(3))
        operands = (there, _element_of_row(k, m, c), weights[[m]])
        body = Body((multiply_add(new, row_weight, old),), (element,))
        k.nest(Nest((c,), (there,), body, operands, in_place=True))

    _for_rows(k, add)
    if sums is not k.result:
        whole = [Dim("b", sums.shape[0]), c]
        k.copy(whole, k.result[whole], sums[whole])


@kernel(FusedEmbeddingBagOp)
def fused_embedding_bag(k: Kernel) -> None:
    """
    Does the same with quantized rows. Offsets have a sum for each bag, and numbers in low bits sums
    apart from those in high bits, until all rows are summed.
    """
    bags, bits = k.result.shape[0], k.call.int("bits")
    per, size = 8 // bits, FusedEmbeddingBagOp.number_bytes(k.call)
    sums = k.scratch((bags, per, size), f32)
    c = Dim("c", size)
    factor, shifts = k.scratch((), f32)[()], k.scratch((bags,), f32)
    k.fill(sums, 0)
    k.fill(shifts, 0)

    def add(m: Affine) -> None:
        _read_scale(k, m, size, factor, _sum_of_bag(k, shifts, m, []))
        *old, number, scale = arguments(per + 2)
        numbers = _numbers_of(number, bits)
        results = (
            multiply_add(convert(n, f32), scale, o) for n, o in zip(numbers, old, strict=True)
        )
        body = Body(tuple(results), (f32,) * per)
        there = tuple(_sum_of_bag(k, sums, m, [part, c]) for part in range(per))
        operands = (*there, _element_of_row(k, m, c), factor)
        k.nest(Nest((c,), there, body, operands, in_place=True))

    _for_rows(k, add)
    b = Dim("b", bags)
    writes = tuple(k.result[[b, affine(c) * per + part]] for part in range(per))
    reads = (shifts[[b]], *(sums[[b, part, c]] for part in range(per)))
    shift, *numbers = arguments(per + 1)
    body = Body(tuple(number + shift for number in numbers), (f32,) * per)
    k.nest(Nest((b, c), writes, body, reads))


def _numbers_of(byte: Expr, bits: int) -> list[Expr]:
    """Returns the numbers in a byte, the one in the lowest bits first."""
    if bits == 8:
        return [byte]
    shifted = (apply(Primitive.SHIFT_RIGHT, byte, at) for at in range(0, 8, bits))
    return [apply(Primitive.AND, number, 2**bits - 1) for number in shifted]


def _for_rows(k: Kernel, add: Callable[[Affine], None]) -> None:
    """Adds the nests for each index in turn, and touches the rows that later indices name."""
    data, indices = k.operands[:2]
    count, later = indices.shape[0], rows_touched_early()
    line = LINE_BYTES // element_bytes(data.element)
    first = max(0, count - later)
    if first:
        m, lines = Dim("m", first), Dim("l", -(-data.shape[1] // line))
        with k.repeat(m):
            k.touch([lines], _element_of_row(k, m + later, lines * line))
            add(affine(m))
    last = Dim("m", count - first)
    with k.repeat(last):
        add(affine(last) + first)


def _read_scale(k: Kernel, m: Affine, start: int, factor: Access, shift: Access) -> None:
    """Computes the scale of a row, times its factor, and adds its offset to the sum of its bag."""
    half, factors = bool(k.call.get("half")), k.operands[2]
    size = 2 if half else 4
    *given, row_weight = arguments(size + 1)
    value = _float(given, half) * row_weight
    reads = (*(_element_of_row(k, m, start + i) for i in range(size)), factors[[m]])
    k.nest(Nest((), (factor,), Body((value,), (f32,)), reads))
    old, *given, row_weight = arguments(size + 2)
    value = multiply_add(_float(given, half), row_weight, old)
    reads = (shift, *(_element_of_row(k, m, start + size + i) for i in range(size)), factors[[m]])
    k.nest(Nest((), (shift,), Body((value,), (f32,)), reads, in_place=True))


def _float(given: Sequence[Expr], half: bool) -> Expr:
    """Returns the float whose bytes are given, the lowest first, as f32."""
    word = convert(given[0], WORD)
    for i, byte in enumerate(given[1:], 1):
        word = _or(word, apply(Primitive.SHIFT_LEFT, convert(byte, WORD), 8 * i))
    return _widened(word) if half else bitcast(word, f32)


def _widened(half: Expr) -> Expr:
    """Returns the f32 equal to the f16 whose bits are given as a word."""
    sign = apply(Primitive.SHIFT_LEFT, apply(Primitive.AND, half, 0x8000), 16)
    rest = apply(Primitive.SHIFT_LEFT, apply(Primitive.AND, half, 0x7FFF), 13)
    # the exponent of f32 is larger by 112; a product also makes subnormal numbers normal
    finite = bitcast(rest, f32) * 2.0**112
    special = bitcast(_or(rest, 0x7F800000), f32)
    is_special = apply(Primitive.EQ, apply(Primitive.AND, half, 0x7C00), 0x7C00)
    magnitude = bitcast(select(is_special, special, finite), WORD)
    return bitcast(_or(sign, magnitude), f32)


def _or(a: Expr, b: Expr | int) -> Expr:
    return apply(Primitive.OR, a, b)


def _element_of_row(k: Kernel, m: Affine, column: Index) -> Access:
    """Returns an element of the row that index `m` names."""
    data, indices = k.operands[:2]
    chosen = Indirect(indices[[m]], data.shape[0], data.strides[0])
    return replace(data[[0, column]], indirect=chosen)


def _sum_of_bag(k: Kernel, sums: View, m: Affine, place: Sequence[Index]) -> Access:
    """Returns an element of the sum to which the row of index `m` belongs."""
    chosen = Indirect(k.operands[3][[m]], sums.shape[0], sums.strides[0])
    return replace(sums[[0, *place]], indirect=chosen)
