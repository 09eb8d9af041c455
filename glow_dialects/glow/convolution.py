"""Convolution over any number of spatial dimensions, channels first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ...wording import counted
from ..operator import (
    Call,
    expect_at_least,
    expect_length,
    expect_product,
    expect_rank,
    expect_shape,
    with_shape,
)
from ..syntax import PerDimension
from .base import AcceptsEpilogue
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value


def window_extent(size: int, low: int, high: int, kernel: int, stride: int, dilation: int) -> int:
    """Returns how many windows fit along a padded dimension; at least 0."""
    reach = dilation * (kernel - 1) + 1
    return max(0, (size + low + high - reach) // stride + 1)


@irdl_op_definition
class ConvolutionOp(Structured):
    """
    Cross-correlation of `input` [N, C, D1, ...] and `filter` [O, C / group, K1, ...], plus `bias`
    [O].

    `pads` holds the zeros before each spatial dimension, then those after each. Output channels and
    input channels are split into `group` groups that do not see each other. 16-bit floats
    accumulate in f32. Integers of at most 16 bits, and the stored ones of quantized elements, give
    i32, which wraps around; `bias` is i32 then.

    ```mlir
    %r = glow.convolution %x, %w, %b strides [2, 2] pads [3, 3, 3, 3]
       : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<1x64x112x112xf32>
    ```
    """

    name = "glow.convolution"
    FORMULA: ClassVar[str] = """
        result[n, o, w..] = bias[o] + sum(c, k..)
            input[n, o // (size(filter, 0) // group) * size(filter, 1) + c,
                  w.. * strides + k.. * dilations - low | outside: 0] * filter[o, c, k..]
        for w.. < counts
    """

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        counts = cls.result_shape(call)[2:]
        low = call.ints("pads")[: len(counts)]
        return {**super().numbers(call), "counts": counts, "low": low}

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return expect_product(call, addend=2)

    input = operand_def(TensorType)
    filter = operand_def(TensorType)
    bias = operand_def(TensorType)
    strides = prop_def(PerDimension(1, besides=2))
    pads = prop_def(PerDimension(0, besides=2, times=2))
    dilations = prop_def(PerDimension(1, besides=2))
    group = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        element = expect_product(call, addend=2)
        batch, channels, *sizes = expect_rank(call, 0, range(3, 6), "an input")
        outputs, per_group, *kernel = expect_rank(call, 1, len(sizes) + 2, "a filter")
        expect_shape(call, 2, (outputs,), "a bias")
        group = call.int("group")
        expect_at_least(call, "group", 1)
        if channels != per_group * group or outputs % group:
            raise call.fail(
                f"expected {counted(group, 'group')} of {per_group} input channels and an output "
                f"channel count divisible by {group}, "
                f"found input {call.operands[0]} and filter {call.operands[1]}"
            )
        n = len(sizes)
        strides = expect_length(call, "strides", n)
        dilations = expect_length(call, "dilations", n)
        pads = expect_length(call, "pads", 2 * n)
        expect_at_least(call, "strides", 1)
        expect_at_least(call, "dilations", 1)
        expect_at_least(call, "pads", 0)
        out = [
            window_extent(sizes[d], pads[d], pads[d + n], kernel[d], strides[d], dilations[d])
            for d in range(n)
        ]
        if 0 in out and 0 not in sizes:
            raise call.fail(
                f"expected a filter that fits into the padded input, "
                f"found input {call.operands[0]} and filter {call.operands[1]}"
            )
        return (with_shape(element, [batch, outputs, *out]),)
