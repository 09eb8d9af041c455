"""Products with weights of a few bits, which stay packed in memory."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, f64, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..integers import u8
from ..operator import Call, expect_float, expect_rank
from .base import AcceptsEpilogue
from .structured import Structured

BYTE = u8
WIDTHS = (2, 4, 8)
"""The numbers of bits that a weight may have."""
INPUT_WIDTHS = (8, 16, 32)
"""The numbers of bits to which numbers of an input may be rounded."""


def unpacked_number(word: str, bits: int, size: int, place: int) -> str:
    """
    Returns, in a formula, the number at a place of `word`, which has `size` bits; the lowest bits
    are the first number.
    """
    number = f"{word} / {2 ** (bits * place)}"
    if place + 1 == size // bits:
        return number
    return f"({number} - {word} / {2 ** (bits * (place + 1))} * {2**bits})"


def unpacked_terms(word: str, bits: int, size: int, x: str, zero: str) -> str:
    """
    Returns the sum, in a formula, of products with the numbers that are packed into `word`, which
    has `size` bits. `x` is the element of the other factor for number `{p}`, `zero` is subtracted
    from each number.
    """
    numbers = (unpacked_number(word, bits, size, p) for p in range(size // bits))
    terms = (f"{x.format(p=p)} * (f32({n}) - f32({zero}))" for p, n in enumerate(numbers))
    return " + ".join(terms)


def expect_bits(call: Call) -> int:
    """Returns the number of bits of a weight. Raises VerifyException if there is no such format."""
    if call.int("bits") not in WIDTHS:
        raise call.fail(f"expected bits to be 2, 4 or 8, found {call.int('bits')}")
    if call.int("input_bits") not in INPUT_WIDTHS:
        raise call.fail(f"expected input_bits to be 8, 16 or 32, found {call.int('input_bits')}")
    return call.int("bits")


@irdl_op_definition
class BlockQuantizedMatMulOp(Structured):
    """
    `input` [..., K] times the transpose of a matrix [N, K] of numbers of `bits` bits. Element
    `[j, t]` of the matrix is `scales[j, b] * (q[j, t] - zero_points[j, b])`, where `b` is the
    number of the block of the row that contains `t`. The numbers `q` are packed into bytes [N,
    blocks, bytes of a block], the first one into the lowest bits. Zero points are [N, blocks], or
    one for all [1, 1]. The last block may be longer than what is left of a row.

    Kernels may round the numbers of a block of `input` to multiples of its largest magnitude
    divided by `2^(input_bits - 1) - 1`. With 32, they do not round.

    ```mlir
    %r = glow.block_quantized_matmul %x, %w, %s, %z bits 4
       : (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<1x1xui8>) -> tensor<2x5xf32>
    ```
    """

    name = "glow.block_quantized_matmul"
    RANKS: ClassVar[range] = range(1, 9)

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    scales = operand_def(TensorType)
    zero_points = operand_def(TensorType)
    bits = prop_def(IntegerAttr.constr(i64))
    input_bits = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(32, i64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def formula_of(cls, call: Call) -> str:
        bits, block = call.int("bits"), cls.block(call)
        per = 8 // bits
        zero = "zero_points[0, 0]" if call.shape(3) == (1, 1) else "zero_points[j, b]"
        x = f"input[r.., b * {block} + c * {per} + {{p}} | outside: 0]"
        terms = unpacked_terms("i32(weights[j, b, c])", bits, 8, x, zero)
        return f"result[r.., j] = sum(b, c) scales[j, b] * ({terms})"

    @staticmethod
    def block(call: Call) -> int:
        """Returns how many numbers a block has."""
        return call.shape(1)[2] * 8 // call.int("bits")

    @classmethod
    def check(cls, call: Call) -> None:
        expect_bits(call)
        expect_float(call)
        if call.element(0) == f64:
            raise call.fail(f"expected an input of at most 32 bits, found {call.operands[0]}")
        columns, blocks, size = expect_rank(call, 1, 3, "weights")
        if call.element(1) != BYTE:
            raise call.fail(f"expected weights of ui8, found {call.operands[1]}")
        inner = call.shape(0)[-1]
        if not size or blocks != -(-inner // cls.block(call)):
            raise call.fail(
                f"expected blocks for rows of {inner} numbers, found {call.operands[1]}"
            )
        if call.shape(2) != (columns, blocks):
            raise call.fail(f"expected {columns}x{blocks} scales, found {call.operands[2]}")
        if call.shape(3) not in ((columns, blocks), (1, 1)):
            raise call.fail(f"expected {columns}x{blocks} zero points, found {call.operands[3]}")
