"""
Products of narrow operands, for processors that add several of them in each lane of a vector.

Such an instruction adds, in each lane of 32 bits, the products of two neighbours of 16 bits or of
four of 8 bits, so weights lie in pairs or quads of input channels. On processors that multiply
neighbours of 16 bits only, those of 8 bits lie in pairs too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BFloat16Type, IntegerAttr, IntegerType, TensorType, f32, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..elements import storage_type
from ..glow.base import AcceptsEpilogue
from ..glow.structured import Structured
from ..operator import Call, expect_at_least, expect_rank, expect_shape, with_shape
from .blocked import Windowed


def expect_dot(call: Call, terms: int) -> Attribute:
    """
    Returns the element type of sums of `terms` neighbouring products of operands 0 and 1: f32 of
    pairs of bf16, i32 of pairs of i16, and of quads or pairs of i8 or u8 times i8. Of quantized
    numbers, the stored ones count.
    """
    x, w = (storage_type(call.element(i)) for i in (0, 1))
    match x, w:
        case BFloat16Type(), BFloat16Type():
            element, allowed = f32, (2,)
        case IntegerType(width=a), IntegerType(width=b) if a == b and a.data in (8, 16):
            element, allowed = i32, (2,) if a.data == 16 else (4, 2)
            if w != IntegerType(a.data) or (a.data == 16 and x != w):
                raise call.fail(f"expected signed weights and i8, u8 or i16, found {x} and {w}")
        case _:
            raise call.fail(
                f"expected bf16, i16, or 8-bit integers, found {call.operands[0]} and "
                f"{call.operands[1]}"
            )
    if terms not in allowed:
        wanted = " or ".join(map(str, allowed))
        raise call.fail(f"expected weights in groups of {wanted}, found {call.operands[1]}")
    return element


def _expect_sum(call: Call, operand: int, element: Attribute) -> None:
    if call.element(operand) != element:
        raise call.fail(
            f"expected operand {operand} with {element}, found {call.operands[operand]}"
        )


@irdl_op_definition
class DotConvolutionOp(Windowed):
    """
    `glow_cpu.blocked_convolution` of a blocked `input` [N, C / b, *spatial, b] by a `filter`
    [O / p, C / b, *kernel, g, p, t], which has the t input channels of a group together, for panels
    of p output channels. If the g groups are fewer than a block has, its other channels do not
    count.

    Elements are bf16 times bf16 (t = 2) with sums in f32, or u8 or i8 times i8 (t = 4 or 2) and i16
    times i16 (t = 2) with sums in i32, which wrap around. `bias` [blocks, d] and the result
    [N, blocks, *windows, d] have the type of sums; p divides d. Channels beyond the last panel
    are the bias alone. With a `group` above 1, each group has whole blocks of both, and C is the
    number of input channels of one.

    ```mlir
    %r = glow_cpu.dot_convolution %x, %w, %b
       : (tensor<1x4x58x58x16xui8>, tensor<8x4x3x3x4x16x4xi8>, tensor<8x16xi32>)
      -> tensor<1x8x56x56x16xi32>
    ```
    """

    name = "glow_cpu.dot_convolution"

    group = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        n = len(call.ints("strides"))
        batch, channels, *sizes, lanes = expect_rank(call, 0, n + 3, "a blocked input")
        panels, found, *kernel, groups, panel, terms = expect_rank(call, 1, n + 5, "a filter")
        blocks, block = expect_rank(call, 2, 2, "a bias")
        element = expect_dot(call, terms)
        _expect_sum(call, 2, element)
        expect_at_least(call, "group", 1)
        group = call.int("group")
        if found * group != channels or not 0 < groups * terms <= lanes:
            raise call.fail(
                f"expected input and filter with the same channels, "
                f"found input {call.operands[0]} and filter {call.operands[1]}"
            )
        if panel < 1 or block % panel or panels * panel > blocks * block:
            raise call.fail(
                f"expected whole panels of the filter in each block of the bias, "
                f"found filter {call.operands[1]} and bias {call.operands[2]}"
            )
        is_filled = panels * panel == blocks * block and groups * terms == lanes
        if group > 1 and not (is_filled and blocks % group == 0):
            raise call.fail(
                f"expected {group} groups of whole blocks, found filter {call.operands[1]} and "
                f"bias {call.operands[2]}"
            )
        counts = cls._counts(call, sizes, kernel)
        return (with_shape(element, [batch, blocks, *counts, block]),)


@irdl_op_definition
class DotMatMulOp(Structured):
    """
    An `input` [..., K] times a matrix [K, N] that is stored in panels of C columns, with groups of
    t rows together: [ceil(N / C), K / t, C, t]. Element types are those of
    `glow_cpu.dot_convolution`. What the last panel holds beyond column N does not matter.

    ```mlir
    %r = glow_cpu.dot_matmul %x, %w columns 80
       : (tensor<1x128x64xbf16>, tensor<5x32x16x2xbf16>) -> tensor<1x128x80xf32>
    ```
    """

    name = "glow_cpu.dot_matmul"
    FORMULA: ClassVar[str] = """
        result[r.., j] = sum(g, t) input[r.., g * size(weights, 3) + t]
            * weights[j // size(weights, 2), g, j % size(weights, 2), t]
        for j < columns
    """
    RANKS: ClassVar[range] = range(1, 9)

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    columns = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return expect_dot(call, call.shape(1)[-1])

    @classmethod
    def check(cls, call: Call) -> None:
        inner = call.shape(0)[-1]
        panels, _, width, terms = expect_rank(call, 1, 4, "weights")
        expect_dot(call, terms)
        if inner % terms:
            raise call.fail(f"expected a multiple of {terms} terms, found {inner}")
        expect_shape(call, 1, (panels, inner // terms, width, terms), "weights")
        columns = call.int("columns")
        if width < 1 or not (panels - 1) * width < columns <= panels * width:
            raise call.fail(
                f"expected columns that need {panels} panels of {width}, found {columns}"
            )
