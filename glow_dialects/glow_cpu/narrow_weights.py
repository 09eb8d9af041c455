"""Products with weights of a few bits, in panels of columns."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..elements import WORD
from ..glow.base import AcceptsEpilogue
from ..glow.narrow_weights import expect_bits, unpacked_terms
from ..glow.structured import Structured
from ..operator import Call, expect_float, expect_rank

WORD_BITS = WORD.width.data


@irdl_op_definition
class PackedBlockQuantizedMatMulOp(Structured):
    """
    `input` [..., K] times a matrix [K, N] of numbers of `bits` bits, in panels of C columns. Words
    [ceil(N/C), blocks, words of a block, C] of 32 bits contain the numbers of neighbouring rows of
    a column, the first one in the lowest bits. A number `q` stands for `scale * (q - zero point)`,
    with scales [ceil(N/C), blocks, C] and zero points of the same shape, or one for all [1, 1, 1].
    `input_bits` is that of `glow.block_quantized_matmul`.

    ```mlir
    %r = glow_cpu.packed_block_quantized_matmul %x, %w, %s, %z columns 5 bits 4
       : (tensor<2x32xf32>, tensor<1x2x2x8xui32>, tensor<1x2x8xf32>, tensor<1x1x1xui8>)
      -> tensor<2x5xf32>
    ```
    """

    name = "glow_cpu.packed_block_quantized_matmul"
    RANKS: ClassVar[range] = range(1, 9)

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    scales = operand_def(TensorType)
    zero_points = operand_def(TensorType)
    columns = prop_def(IntegerAttr.constr(i64))
    bits = prop_def(IntegerAttr.constr(i64))
    input_bits = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(32, i64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def formula_of(cls, call: Call) -> str:
        bits, (_, _, words, width) = call.int("bits"), call.shape(1)
        per = WORD_BITS // bits
        x = f"input[r.., b * {words * per} + c * {per} + {{p}}]"
        at = f"j // {width}", f"j % {width}"
        zero = (
            "zero_points[0, 0, 0]"
            if call.shape(3) == (1, 1, 1)
            else f"zero_points[{at[0]}, b, {at[1]}]"
        )
        word = f"i64(weights[{at[0]}, b, c, {at[1]}])"
        terms = unpacked_terms(word, bits, WORD_BITS, x, zero)
        return f"result[r.., j] = sum(b, c) scales[{at[0]}, b, {at[1]}] * ({terms}) for j < columns"

    @classmethod
    def check(cls, call: Call) -> None:
        bits = expect_bits(call)
        expect_float(call)
        panels, blocks, words, width = expect_rank(call, 1, 4, "weights")
        if call.element(1) != WORD:
            raise call.fail(f"expected weights of ui32, found {call.operands[1]}")
        columns = call.int("columns")
        if width < 1 or not (panels - 1) * width < columns <= panels * width:
            raise call.fail(
                f"expected columns that need {panels} panels of {width}, found {columns}"
            )
        if call.shape(0)[-1] != blocks * words * (WORD_BITS // bits):
            raise call.fail(f"expected rows of {call.operands[1]}, found {call.operands[0]}")
        shape = (panels, blocks, width)
        if call.shape(2) != shape or call.shape(3) not in (shape, (1, 1, 1)):
            raise call.fail(
                f"expected scales and zero points for {call.operands[1]}, "
                f"found {call.operands[2]} and {call.operands[3]}"
            )
