"""Convolution by interpolation, with fewer multiplications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerAttr, IntegerType, TensorType, bf16, f32, i16, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ...wording import counted
from ..elements import storage_type
from ..glow.base import AcceptsEpilogue, Node
from ..operator import Call, expect_float, expect_rank, expect_shape, with_shape
from ..syntax import PerDimension

TILES = (2, 4)
"""Sizes of tiles that there are transforms for."""
KERNEL = 3
"""The elements that most kernels have along each dimension."""
MOST_COEFFICIENTS = 3
"""The most coefficients of a phase of a part of a kernel that there are transforms for."""
MOST_AXES = 3
"""The spatial dimensions that there may be."""
PARTS = 3
"""Numbers of bf16 whose sum is any number of f32."""


@irdl_op_definition
class WinogradConvolutionOp(Node):
    """
    Convolution of a blocked `input` [N, C / b, H, W, b] with a filter of 3 x 3, without padding,
    tile by tile of `tile` x `tile` outputs. The result is [N, O / b, H - 2, W - 2, b]. If `pool` is
    more than 1, it is the largest of each `pool` x `pool` outputs instead, as of max pooling with
    that stride, which drops what is left over at the end; it divides `tile`. With a `group` above
    1, each group has whole blocks, and C is the number of input channels of one.

    An input may have one to three spatial dimensions [N, C / b, *spatial, b], with a size of the
    `kernel` for each. At most two of them are transformed, those that save the most
    multiplications. Along them, tiles have `tile` outputs, the kernel is cut into parts of three or
    two elements, and the filter has tile + 2 or tile + 1. Along others, tiles have one output, and
    each element of the kernel is a part (`axes_of`). If there are such, nothing is pooled. The P
    parts are further input channels: the filter [(tile + 2)^2, O / b, P * C, b] has all channels of
    the first part, then those of the next. With `dilations` d, elements of the kernel are d
    elements of the input apart: each d-th output, from one of the first d on, is an image of its
    own for tiles, and nothing is pooled. With `strides` s, parts have s + 1 to 3 * s elements: each
    s-th input, from one of the first s on, has a transform of its own, and the filter has as many
    elements as a tile has inputs.

    `filter` [(tile + 2)^2, O / b, C, b] is transformed: `G g G^T` for each pair of channels. Each
    tile of the input, d, becomes `B^T d B`, of which each element is multiplied by that of the
    filter and summed over the input channels; with that sum M, the outputs are `A^T M A`, plus
    `bias` [O / b, b]. The input counts as zero beyond its end, where the last tiles reach.

    A filter of f32 may also be given as the sum of three parts of bf16, the largest first, with the
    channels of two neighbouring blocks in pairs: [(tile + 2)^2, O / b, ceil(C / 2b), 3, b, b, 2].
    It has one group.
    Then the transformed input may be divided likewise, and of the nine products of parts the six be
    summed that are not below 2^-21 of the whole, on processors that multiply tiles of bf16 (Henry,
    Tang and Heinecke, Leveraging the bfloat16 Artificial Intelligence Datatype, 2019).

    The matrices for parts of three come from the points 0, 1, -1 for tiles of 2 and 0, 5/8, -5/8,
    3/2, -3/2 for tiles of 4, those for parts of two from 0, -1 and 0, 5/4, -5/4, 1/2, all with
    infinity (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015).
    It takes 9 / 4 and 4 times fewer multiplications than the definition; along a single dimension,
    3 / 2 and 2 times. Rounding differs: for inputs of unit variance and up to 256 channels in f32,
    results are within 2e-5 of their root mean square of the exact ones.

    ```mlir
    %r = glow_cpu.winograd_convolution %x, %u, %b tile 4
       : (tensor<1x4x58x58x16xf32>, tensor<36x8x64x16xf32>, tensor<8x16xf32>)
      -> tensor<1x8x56x56x16xf32>
    ```
    """

    name = "glow_cpu.winograd_convolution"

    input = operand_def(TensorType)
    filter = operand_def(TensorType)
    bias = operand_def(TensorType)
    tile = prop_def(IntegerAttr.constr(i64))
    pool = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))
    group = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))
    kernel = prop_def(PerDimension(KERNEL, besides=3, least=1))
    dilations = prop_def(PerDimension(1, besides=3, least=1))
    strides = prop_def(PerDimension(1, besides=3, least=1))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        element = call.element(0)
        expect_float(call)
        tile = _expect_tile(call)
        pool = call.int("pool")
        if pool < 1 or tile % pool:
            raise call.fail(f"expected pool to divide the tile of {tile}, found {pool}")
        kernel = call.ints("kernel")
        batch, inputs, *sizes, lanes = expect_rank(call, 0, len(kernel) + 3, "a blocked input")
        outputs, block = expect_rank(call, 2, 2, "a bias")
        if call.element(2) != element:
            raise call.fail(f"expected a bias with elements {element}, found {call.operands[2]}")
        group = _expect_groups(call, inputs, outputs)
        axes = _expect_axes(call)
        if not may_pool(pool, call):
            raise call.fail(f"expected no pooling with {_window_text(call)}")
        if has_parts(call) and not is_3x3(*window_of(call)):
            raise call.fail(
                f"expected a kernel of 3 x 3 for a filter in parts of bf16, found "
                f"{_window_text(call)}"
            )
        _expect_filter(call, tile_elements(axes), kernel_parts(axes) * inputs // group, lanes)
        counts = _expect_counts(call, sizes, pool)
        return (with_shape(element, [batch, outputs, *counts, block]),)


@irdl_op_definition
class DotWinogradConvolutionOp(Node):
    """
    `glow_cpu.winograd_convolution` of a blocked `input` of bytes [N, C / b, *spatial, b], as exact
    as `glow_cpu.dot_convolution`, for processors that add products of pairs of 16-bit integers.

    The matrices are those of the first of the points 0, 1, -1, 2, -2, multiplied so that all
    transforms are integers. Transformed tiles and the transformed `filter` have 16 bits. The latter
    is [(tile + 2)^2, O / p, P * C / b, b / 2, p, 2] for the parts P of the kernel, with pairs of
    input channels together. Sums are i32 that wrap around. They are too large by a factor of 1 or 2
    for each dimension with tiles of 2, and of 6 or 24 with tiles of 4. So outputs without `bias`
    [O / p, p] are exact within 2^29 for tiles of 2 and 2^25 for tiles of 4.

    ```mlir
    %r = glow_cpu.dot_winograd_convolution %x, %u, %b tile 2
       : (tensor<1x8x58x58x8xui8>, tensor<16x8x8x4x8x2xi16>, tensor<8x8xi32>)
      -> tensor<1x8x56x56x8xi32>
    ```
    """

    name = "glow_cpu.dot_winograd_convolution"

    input = operand_def(TensorType)
    filter = operand_def(TensorType)
    bias = operand_def(TensorType)
    tile = prop_def(IntegerAttr.constr(i64))
    group = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))
    kernel = prop_def(PerDimension(KERNEL, besides=3, least=1))
    dilations = prop_def(PerDimension(1, besides=3, least=1))
    strides = prop_def(PerDimension(1, besides=3, least=1))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        _expect_tile(call)
        stored = storage_type(call.element(0))
        if not isinstance(stored, IntegerType) or stored.width.data != _BYTE:
            raise call.fail(f"expected an input of bytes, found {call.operands[0]}")
        if (call.element(1), call.element(2)) != (i16, i32):
            raise call.fail(
                f"expected a filter of i16 and a bias of i32, found {call.operands[1]} and "
                f"{call.operands[2]}"
            )
        rank = len(call.ints("kernel")) + 3
        batch, inputs, *sizes, lanes = expect_rank(call, 0, rank, "a blocked input")
        outputs, block = expect_rank(call, 2, 2, "a bias")
        if lanes % 2:
            raise call.fail(f"expected blocks of pairs of channels, found {call.operands[0]}")
        group = _expect_groups(call, inputs, outputs)
        axes = _expect_axes(call)
        blocks = kernel_parts(axes) * inputs // group
        wanted = (tile_elements(axes), outputs, blocks, lanes // 2, block, 2)
        expect_shape(call, 1, wanted, "a transformed filter")
        return (with_shape(i32, [batch, outputs, *_expect_counts(call, sizes), block]),)


_BYTE = 8


def _expect_tile(call: Call) -> int:
    tile = call.int("tile")
    if tile not in TILES:
        raise call.fail(f"expected a tile of 2 or 4, found {tile}")
    return tile


def _expect_groups(call: Call, inputs: int, outputs: int) -> int:
    """Expects groups of whole blocks, of so many inputs and outputs; returns their number."""
    group = call.int("group")
    if group < 1 or inputs % group or outputs % group or (group > 1 and has_parts(call)):
        raise call.fail(
            f"expected {counted(group, 'group')} of whole blocks, one for a filter in parts, "
            f"found input {call.operands[0]}, filter {call.operands[1]} and bias "
            f"{call.operands[2]}"
        )
    return group


def _window_text(call: Call) -> str:
    kernel, dilations, strides = map(list, window_of(call))
    return f"a kernel of {kernel}, dilations {dilations} and strides {strides}"


def _expect_axes(call: Call) -> Sequence[Axis]:
    """Expects a kernel that there are transforms for; returns how each dimension is cut."""
    _, dilations, strides = window_of(call)
    axes, found = axes_of_call(call), _window_text(call)
    if len(axes) > MOST_AXES or all(axis.tile == 1 for axis in axes):
        raise call.fail(
            f"expected a kernel of one to three sizes, one of them above the stride, found {found}"
        )
    if any(min(pair) > 1 for pair in zip(dilations, strides, strict=True)):
        raise call.fail(f"expected a dilation or a stride along each dimension, found {found}")
    return axes


def _expect_counts(call: Call, sizes: Sequence[int], pool: int = 1) -> Sequence[int]:
    """
    Expects an input of some spatial sizes to have a whole window; returns those of the result.
    """
    kernel, dilations, strides = window_of(call)
    reach = [(size - 1) * d for size, d in zip(kernel, dilations, strict=True)]
    least = [n + 1 + (pool - 1) * s for n, s in zip(reach, strides, strict=True)]
    if any(n < k for n, k in zip(sizes, least, strict=True)):
        shown = " x ".join(map(str, least))
        raise call.fail(f"expected an input of at least {shown}, found {call.operands[0]}")
    along = zip(sizes, reach, strides, strict=True)
    return [((n - distance - 1) // s + 1) // pool for n, distance, s in along]


@dataclass(frozen=True)
class Axis:
    """The tiles of an image, and the parts of a kernel, along one spatial dimension."""

    tile: int
    """The outputs of a tile: 1 if there is no transform along this dimension."""
    part: int
    """The elements of a part of the kernel: 1 if there is no transform."""
    offsets: Sequence[int]
    """
    Where the parts begin: each `part` elements, but none ends behind the kernel. What two parts
    share is the former one's.
    """
    stride: int = 1

    @property
    def side(self) -> int:
        """The elements of a transformed tile, and the inputs that it reaches over."""
        return self.reach(self.tile)

    @property
    def multiplications(self) -> int:
        """The multiplications for the outputs of a tile."""
        return len(self.offsets) * self.side

    def reach(self, outputs: int) -> int:
        """Returns the inputs that so many outputs of a tile reach over."""
        return (outputs - 1) * self.stride + self.part

    def tiles(self, outputs: int, dilation: int = 1) -> int:
        """Returns the tiles of so many outputs; each phase of a dilation has tiles of its own."""
        phases = (-(-(outputs - first) // dilation) for first in range(dilation))
        return sum(-(-count // self.tile) for count in phases)


def axes_of(
    tile: int, kernel: Sequence[int], strides: Sequence[int] | None = None
) -> Sequence[Axis]:
    """Returns how each dimension is cut for tiles of `tile` outputs; at most two have these."""
    sizes = list(zip(kernel, strides or [1] * len(kernel), strict=True))
    cut = [_fewest(tile, size, stride) for size, stride in sizes]
    share = [axis.multiplications / axis.tile / n for axis, n in zip(cut, kernel, strict=True)]
    # of equal shares, those of the last dimensions, which are near each other in memory
    best = sorted(range(len(kernel)), key=lambda n: (share[n], -n))[:2]
    return [cut[n] if n in best else _whole(*sizes[n]) for n in range(len(kernel))]


def window_of(call: Call) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Returns the kernel, the dilations and the strides of a Winograd convolution."""
    return call.ints("kernel"), call.ints("dilations"), call.ints("strides")


def axes_of_call(call: Call) -> Sequence[Axis]:
    """Returns how a Winograd convolution cuts each dimension."""
    kernel, _, strides = window_of(call)
    return axes_of(call.int("tile"), kernel, strides)


def _fewest(tile: int, size: int, stride: int) -> Axis:
    """Returns the parts of a kernel that take the fewest multiplications, or single elements."""
    parts = range(min(size, MOST_COEFFICIENTS * stride), stride, -1)
    choices = [
        Axis(tile, part, [min(at, size - part) for at in range(0, size, part)], stride)
        for part in parts
    ]
    return min([_whole(size, stride), *choices], key=lambda axis: axis.multiplications / axis.tile)


def _whole(size: int, stride: int) -> Axis:
    """Returns the elements of a kernel as parts, without a transform."""
    return Axis(1, 1, range(size), stride)


def may_pool(pool: int, call: Call) -> bool:
    """Returns whether tiles have whole windows of `pool` outputs along each dimension."""
    _, dilations, _ = window_of(call)
    has_windows = all(axis.tile % pool == 0 for axis in axes_of_call(call))
    return pool == 1 or (max(dilations) == 1 and has_windows)


def is_3x3(kernel: Sequence[int], dilations: Sequence[int], strides: Sequence[int]) -> bool:
    """Returns whether a window has 3 x 3 neighbouring elements, and moves by one."""
    return tuple(kernel) == (KERNEL, KERNEL) and {*dilations, *strides} == {1}


def kernel_parts(axes: Sequence[Axis]) -> int:
    """Returns the number of parts of a kernel."""
    return prod(len(axis.offsets) for axis in axes)


def tile_elements(axes: Sequence[Axis]) -> int:
    """Returns the elements of a transformed tile."""
    return prod(axis.side for axis in axes)


def has_parts(call: Call) -> bool:
    """Returns whether the filter is given as a sum of parts."""
    return len(call.shape(1)) == _RANK_OF_PARTS


_RANK_OF_PARTS = 7


def _expect_filter(call: Call, elements: int, inputs: int, lanes: int) -> None:
    """
    Expects a filter for transformed tiles of `elements` elements and `inputs` blocks of input
    channels.
    """
    outputs, block = call.shape(2)
    wanted, element = (elements, outputs, inputs * lanes, block), call.element(0)
    if has_parts(call):
        wanted = (elements, outputs, -(-inputs // 2), PARTS, lanes, block, 2)
        if element != f32:
            raise call.fail(f"expected an input of f32 for a filter in parts, found {element}")
        element = bf16
    expect_shape(call, 1, wanted, "a transformed filter")
    if call.element(1) != element:
        raise call.fail(f"expected a filter with elements {element}, found {call.operands[1]}")
