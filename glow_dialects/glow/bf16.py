"""
Products of bf16 operands that accumulate in f32, for processors with an instruction for them.

Such an instruction adds, in each lane, the products of two neighbouring bf16, so weights lie in
pairs of input channels. `glow-use-bf16` makes these operators.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, bf16, f32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..operator import Call, expect_rank, expect_shape, with_shape
from .base import AcceptsEpilogue, Node
from .blocked import Windowed

PAIR = 2


def _expect_elements(call: Call, expected: Sequence[Attribute]) -> None:
    for i, element in enumerate(expected):
        if call.element(i) != element:
            raise call.fail(f"expected operand {i} with {element}, found {call.operands[i]}")


@irdl_op_definition
class Bf16ConvolutionOp(Windowed):
    """
    `glow.blocked_convolution` of a blocked bf16 `input` [N, C / b, *spatial, b] by a bf16 `filter`
    [O / b, C / b, *kernel, b / 2, b, 2], which has the two input channels of a pair together. The
    `bias` [O / b, b], sums and the result [N, O / b, *windows, b] are f32.

    ```mlir
    %r = glow.bf16_convolution %x, %w, %b {dilations = array<i64: 1, 1>,
           strides = array<i64: 1, 1>}
       : (tensor<1x4x58x58x16xbf16>, tensor<8x4x3x3x8x16x2xbf16>, tensor<8x16xf32>)
      -> tensor<1x8x56x56x16xf32>
    ```
    """

    name = "glow.bf16_convolution"

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        _expect_elements(call, (bf16, bf16, f32))
        n = len(call.ints("strides"))
        batch, channels, *sizes, lanes = expect_rank(call, 0, n + 3, "a blocked input")
        blocks, _, *kernel, _pairs, block, _ = expect_rank(call, 1, n + 5, "a filter")
        if lanes % PAIR:
            raise call.fail(f"expected an even number of channels in a block, found {lanes}")
        expect_shape(call, 1, (blocks, channels, *kernel, lanes // PAIR, block, PAIR), "a filter")
        expect_shape(call, 2, (blocks, block), "a bias")
        counts = cls._counts(call, sizes, kernel)
        return (with_shape(f32, [batch, blocks, *counts, block]),)


@irdl_op_definition
class Bf16MatMulOp(Node):
    """
    A bf16 `input` [..., K] times a bf16 matrix [K, N] that is stored in panels of C columns, with
    pairs of rows together: [N / C, K / 2, C, 2]. Sums and the result are f32.

    ```mlir
    %r = glow.bf16_matmul %x, %w
       : (tensor<1x128x64xbf16>, tensor<5x32x16x2xbf16>) -> tensor<1x128x80xf32>
    ```
    """

    name = "glow.bf16_matmul"

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        _expect_elements(call, (bf16, bf16))
        *rows, inner = expect_rank(call, 0, range(1, 9), "an input")
        panels, _, width, _ = expect_rank(call, 1, 4, "weights")
        if inner % PAIR:
            raise call.fail(f"expected an even number of terms, found {inner}")
        expect_shape(call, 1, (panels, inner // PAIR, width, PAIR), "weights")
        return (with_shape(f32, [*rows, panels * width]),)
