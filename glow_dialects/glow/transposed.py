"""Transposed convolution over any number of spatial dimensions, channels first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ..operator import (
    Call,
    expect_at_least,
    expect_float,
    expect_rank,
    expect_same_element,
    expect_shape,
)
from ..syntax import PerDimension
from .convolution import spatial, window
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value


def transposed_extent(size: int, kernel: int, stride: int, dilation: int) -> int:
    """
    Returns how many elements `size` inputs reach that spread over a kernel each, `stride` apart.
    """
    return (size - 1) * stride + dilation * (kernel - 1) + 1 if size else 0


@irdl_op_definition
class TransposedConvolutionOp(Structured):
    """
    The transpose of a convolution as a linear map (ONNX `ConvTranspose`): each element of `input`
    [N, C, D1, ...] at `i` adds its product with `filter` [C, O / group, K1, ...] to the results at
    `i * stride + k * dilation`; plus `bias` [O].

    `pads` says how many results are left out before each spatial dimension, then after each.
    `output_padding` results, which are the bias unless a filter reaches them, follow after what is
    left out at the end: a dimension of size D gives `(D - 1) * stride + (K - 1) * dilation + 1 -
    low - high + output_padding`. Output channels and input channels are split into `group` groups
    that do not see each other. 16-bit floats accumulate in f32.

    ```mlir
    %r = glow.transposed_convolution %x, %w, %b strides [2, 2] pads [1, 1, 1, 1]
           output_padding [1, 1]
       : (tensor<1x64x14x14xf32>, tensor<64x32x3x3xf32>, tensor<32xf32>) -> tensor<1x32x28x28xf32>
    ```
    """

    name = "glow.transposed_convolution"
    FORMULA: ClassVar[str] = """
        result[n, o, w..] = bias[o] + sum(c, k..)
            (input[n, o // size(filter, 1) * (size(filter, 0) // group) + c,
                   (w.. + low - k.. * dilations) // strides | outside: 0]
                if all((w.. + low - k.. * dilations) % strides == 0) else 0)
            * filter[o // size(filter, 1) * (size(filter, 0) // group) + c,
                     o % size(filter, 1), k..]
        for w.. < reach + output_padding - low - high, c < size(filter, 0) // group
    """
    RANKS: ClassVar[range] = range(3, 6)

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        geometry = zip(
            *(call.shape(0)[2:], call.shape(1)[2:], call.ints("strides"), call.ints("dilations")),
            strict=True,
        )
        reach = tuple(transposed_extent(*each) for each in geometry)
        return {**super().numbers(call), **spatial(call), "reach": reach}

    input = operand_def(TensorType)
    filter = operand_def(TensorType)
    bias = operand_def(TensorType)
    strides, pads, dilations = window(besides=2)
    output_padding = prop_def(PerDimension(0, besides=2, least=0))
    group = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))
    result = result_def(TensorType)

    @classmethod
    def check(cls, call: Call) -> None:
        expect_same_element(call)
        expect_float(call)
        expect_at_least(call, "group", 1)
        channels, group = call.shape(0)[1], call.int("group")
        inputs, per_group, *kernel = expect_rank(call, 1, len(call.shape(0)), "a filter")
        expect_shape(call, 2, (per_group * group,), "a bias")
        if channels != inputs or channels % group or 0 in kernel:
            raise call.fail(
                f"expected as many input channels as the filter has rows, in {group} groups, "
                f"found input {call.operands[0]} and filter {call.operands[1]}"
            )
