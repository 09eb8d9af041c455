"""
Operators on blocked channel layouts, in which the channels of a vector register lie together.

A blocked tensor [N, ceil(C / b), *spatial, b] holds channel `c` of a tensor [N, C, *spatial] at
block `c // b`, lane `c % b`. Where `b` does not divide C, the last block has lanes of no channel.
`glow-assign-layouts` makes these operators; `b` is the number of lanes of a vector register.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ...wording import counted
from ..glow.base import AcceptsEpilogue, Node
from ..glow.convolution import window, window_extent
from ..glow.pooling import AvgPool, MaxPool, Pool
from ..glow.structured import Structured
from ..operator import (
    Call,
    expect_at_least,
    expect_float,
    expect_least_rank,
    expect_length,
    expect_product,
    expect_rank,
    expect_same_element,
    is_narrow_integer,
    with_shape,
)
from ..syntax import PerDimension

if TYPE_CHECKING:
    from ..formula.indices import Value


def num_blocks(channels: int, block: int) -> int:
    """Returns how many blocks hold `channels` channels."""
    return -(-channels // block)


@irdl_op_definition
class PackChannelsOp(Node):
    """
    A tensor [N, C, *spatial] in the blocked layout [N, ceil(C / block), *spatial, block].

    Lanes of no channel are zero.

    ```mlir
    %r = glow_cpu.pack_channels %x block 16
       : (tensor<1x24x7x7xf32>) -> tensor<1x2x7x7x16xf32>
    ```
    """

    name = "glow_cpu.pack_channels"

    input = operand_def(TensorType)
    block = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        batch, channels, *sizes = expect_least_rank(call, 2, "an input")
        expect_at_least(call, "block", 1)
        block = call.int("block")
        shape = [batch, num_blocks(channels, block), *sizes, block]
        return (with_shape(call.element(0), shape),)


@irdl_op_definition
class UnpackChannelsOp(Node):
    """
    The tensor [N, channels, *spatial] that a blocked tensor [N, B, *spatial, b] holds.

    ```mlir
    %r = glow_cpu.unpack_channels %x channels 24
       : (tensor<1x2x7x7x16xf32>) -> tensor<1x24x7x7xf32>
    ```
    """

    name = "glow_cpu.unpack_channels"

    input = operand_def(TensorType)
    channels = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        batch, blocks, *sizes, block = expect_least_rank(call, 3, "a blocked input")
        channels = call.int("channels")
        if num_blocks(channels, block) != blocks:
            raise call.fail(
                f"expected channels that {blocks} blocks of {block} hold, found {channels}"
            )
        return (with_shape(call.element(0), [batch, channels, *sizes]),)


class Windowed(Node, abc.ABC):
    """The base of convolutions of blocked tensors: windows that stay inside the input."""

    input = operand_def(TensorType)
    filter = operand_def(TensorType)
    bias = operand_def(TensorType)
    strides = prop_def(PerDimension(1, besides=3))
    dilations = prop_def(PerDimension(1, besides=3))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def _counts(cls, call: Call, sizes: Sequence[int], kernel: Sequence[int]) -> list[int]:
        """Returns how many windows there are along each spatial dimension."""
        n = len(sizes)
        strides, dilations = (expect_length(call, p, n) for p in ("strides", "dilations"))
        expect_at_least(call, "strides", 1)
        expect_at_least(call, "dilations", 1)
        counts = [
            window_extent(size, 0, 0, k, s, d)
            for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True)
        ]
        if 0 in counts and 0 not in sizes:
            raise call.fail(
                f"expected a filter that fits into the input, "
                f"found input {call.operands[0]} and filter {call.operands[1]}"
            )
        return counts


class BlockedConvolution(Windowed, Structured, abc.ABC):
    """The base of convolutions of blocked tensors that are stated as formulas."""

    KERNEL_AT: ClassVar[int]
    """The first dimension of the filter that is one of the window."""

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        return {**super().numbers(call), "sizes": cls._sizes(call)}

    @classmethod
    def result_rank(cls, call: Call) -> int:
        return len(call.ints("strides")) + 3

    @classmethod
    def check(cls, call: Call) -> None:
        n = len(call.ints("strides"))
        expect_rank(call, 0, cls.ranks(n), "an input")
        kernel = call.shape(1)[cls.KERNEL_AT : cls.KERNEL_AT + n]
        cls._counts(call, cls._sizes(call), kernel)

    @classmethod
    def ranks(cls, spatial: int) -> range:
        """Returns the ranks that an input with so many spatial dimensions may have."""
        return range(spatial + 3, spatial + 4)

    @classmethod
    def _sizes(cls, call: Call) -> tuple[int, ...]:
        return call.shape(0)[2 : 2 + len(call.ints("strides"))]


@irdl_op_definition
class BlockedConvolutionOp(BlockedConvolution):
    """
    Convolution of a blocked `input` [N, C / a, *spatial, a] without padding.

    `filter` [O / b, C / a, *kernel, a, b] has the input channel before the output channel, `bias`
    is [O / b, b], the result [N, O / b, *windows, b]. With a `group` above 1, each group has whole
    blocks, and C is the number of input channels of one. For few channels, `input` may be plain
    [N, C, *spatial]; then `filter` is [O / b, C, *kernel, b]. 16-bit floats accumulate in f32.

    ```mlir
    %r = glow_cpu.blocked_convolution %x, %w, %b
       : (tensor<1x4x58x58x16xf32>, tensor<8x4x3x3x16x16xf32>, tensor<8x16xf32>)
      -> tensor<1x8x56x56x16xf32>
    ```
    """

    name = "glow_cpu.blocked_convolution"
    KERNEL_AT: ClassVar[int] = 2

    group = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))

    @classmethod
    def formula_of(cls, call: Call) -> str:
        c = ", c" if is_blocked_input(call) else ""
        is_grouped = call.int("group") != 1
        first = "ob // (size(filter, 0) // group) * size(filter, 1) + " if is_grouped else ""
        return f"""
            result[n, ob, w.., o] = (sum(cb, k..{c})
                input[n, {first}cb, w.. * strides + k.. * dilations{c}] * filter[ob, cb, k..{c}, o]
            ) + bias[ob, o]
            for w.. * strides + k.. * dilations < sizes
        """

    @classmethod
    def ranks(cls, spatial: int) -> range:
        return range(spatial + 2, spatial + 4)

    @classmethod
    def check(cls, call: Call) -> None:
        expect_same_element(call)
        expect_float(call)
        expect_at_least(call, "group", 1)
        group, blocks = call.int("group"), call.shape(1)[:2]
        if group > 1 and (blocks[0] % group or call.shape(0)[1] != group * blocks[1]):
            raise call.fail(
                f"expected {counted(group, 'group')} of whole blocks, found input "
                f"{call.operands[0]} and filter {call.operands[1]}"
            )
        super().check(call)


def is_blocked_input(call: Call) -> bool:
    """Returns whether the input of a blocked convolution is blocked, rather than plain."""
    return len(call.shape(0)) == len(call.ints("strides")) + 3


@irdl_op_definition
class BlockedDepthwiseConvolutionOp(BlockedConvolution):
    """
    Convolution of each channel of `input` [N, C / b, *spatial, b] with a filter of its own.

    `filter` is [C / b, *kernel, b], `bias` [C / b, b]. There is no padding. Narrow integers and
    quantized numbers have sums in i32, as in `glow.convolution`.

    ```mlir
    %r = glow_cpu.blocked_depthwise_convolution %x, %w, %b strides [2, 2]
       : (tensor<1x4x58x58x16xf32>, tensor<4x3x3x16xf32>, tensor<4x16xf32>)
      -> tensor<1x4x28x28x16xf32>
    ```
    """

    name = "glow_cpu.blocked_depthwise_convolution"
    KERNEL_AT: ClassVar[int] = 1
    FORMULA: ClassVar[str] = """
        result[n, b, w.., c] = (sum(k..)
            input[n, b, w.. * strides + k.. * dilations, c] * filter[b, k.., c]) + bias[b, c]
        for w.. * strides + k.. * dilations < sizes
    """

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return expect_product(call, addend=2)

    @classmethod
    def check(cls, call: Call) -> None:
        if not is_narrow_integer(call.element(0)):
            expect_float(call)
        super().check(call)


@irdl_op_definition
class LaneSumConvolutionOp(BlockedConvolution):
    """
    Convolution of a blocked `input` [N, C / a, *spatial, a] to channels that fill no block, without
    padding.

    `filter` is [O, C / a, *kernel, a], `bias` [O], and the result is plain: [N, O, *windows]. So
    vectors are those of input channels, whose lanes are added at the end. 16-bit floats accumulate
    in f32.

    ```mlir
    %r = glow_cpu.lane_sum_convolution %x, %w, %b
       : (tensor<1x4x58x58x16xf32>, tensor<3x4x3x3x16xf32>, tensor<3xf32>)
      -> tensor<1x3x56x56xf32>
    ```
    """

    name = "glow_cpu.lane_sum_convolution"
    KERNEL_AT: ClassVar[int] = 2

    strides = prop_def(PerDimension(1, besides=2))
    dilations = prop_def(PerDimension(1, besides=2))
    FORMULA: ClassVar[str] = """
        result[n, o, w..] = (sum(cb, k.., c)
            input[n, cb, w.. * strides + k.. * dilations, c] * filter[o, cb, k.., c]) + bias[o]
        for w.. * strides + k.. * dilations < sizes
    """

    @classmethod
    def result_rank(cls, call: Call) -> int:
        return len(call.ints("strides")) + 2

    @classmethod
    def check(cls, call: Call) -> None:
        expect_same_element(call)
        expect_float(call)
        super().check(call)


class BlockedPool(Pool, abc.ABC):
    """The base of pools of blocked tensors: one dimension more is not spatial."""

    RANKS: ClassVar[range] = range(4, 7)
    LANES: ClassVar[str] = ", l"

    strides, pads, dilations = window(besides=3)
    kernel = prop_def(PerDimension(None, besides=3, least=1))


@irdl_op_definition
class BlockedMaxPoolOp(BlockedPool, MaxPool):
    """
    `glow.max_pool` of a blocked tensor.

    ```mlir
    %r = glow_cpu.blocked_max_pool %x strides [2, 2] kernel [2, 2]
       : (tensor<1x8x4x4x16xf32>) -> tensor<1x8x2x2x16xf32>
    ```
    """

    name = "glow_cpu.blocked_max_pool"


@irdl_op_definition
class BlockedAvgPoolOp(BlockedPool, AvgPool):
    """
    `glow.avg_pool` of a blocked tensor.

    ```mlir
    %r = glow_cpu.blocked_avg_pool %x strides [2, 2] kernel [2, 2]
       : (tensor<1x8x4x4x16xf32>) -> tensor<1x8x2x2x16xf32>
    ```
    """

    name = "glow_cpu.blocked_avg_pool"
