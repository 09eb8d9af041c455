"""Convolution over any number of spatial dimensions, channels first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ...wording import counted
from ..operator import (
    Call,
    expect_at_least,
    expect_product,
    expect_rank,
)
from ..syntax import PerDimension
from .base import AcceptsEpilogue
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value


Ints: TypeAlias = "DenseArrayBase[IntegerType]"


def window_extent(size: int, low: int, high: int, kernel: int, stride: int, dilation: int) -> int:
    """Returns how many windows fit along a padded dimension; at least 0."""
    reach = dilation * (kernel - 1) + 1
    return max(0, (size + low + high - reach) // stride + 1)


def window(besides: int) -> tuple[Ints, Ints, Ints]:
    """Returns the properties `strides`, `pads` and `dilations`, of all dimensions but some."""
    # windows of symbolic sizes have no use, so readers take these as numbers
    return (  # pyright: ignore[reportReturnType]
        prop_def(PerDimension(1, besides, least=1)),
        prop_def(PerDimension(0, besides, times=2, least=0)),
        prop_def(PerDimension(1, besides, least=1)),
    )


def spatial(call: Call) -> Mapping[str, tuple[int, ...]]:
    """
    Returns the sizes of the spatial dimensions, and what `pads` says is before and after each.
    """
    pads = call.ints("pads")
    n = len(pads) // 2
    return {"sizes": call.shape(0)[2 : 2 + n], "low": pads[:n], "high": pads[n:]}


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
        for w.. * strides + k.. * dilations < sizes + low + high
    """
    RANKS: ClassVar[range] = range(3, 6)

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        return {**super().numbers(call), **spatial(call)}

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return expect_product(call, addend=2)

    @classmethod
    def check(cls, call: Call) -> None:
        expect_product(call, addend=2)
        expect_at_least(call, "group", 1)
        channels, group = call.shape(0)[1], call.int("group")
        outputs, per_group, *_ = expect_rank(call, 1, len(call.shape(0)), "a filter")
        if channels != per_group * group or outputs % group:
            raise call.fail(
                f"expected {counted(group, 'group')} of {per_group} input channels and an output "
                f"channel count divisible by {group}, "
                f"found input {call.operands[0]} and filter {call.operands[1]}"
            )

    input = operand_def(TensorType)
    filter = operand_def(TensorType)
    bias = operand_def(TensorType)
    strides, pads, dilations = window(besides=2)
    group = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())
