"""Operators that read weighted elements at places which other operands give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..elements import compute_type
from ..operator import Call, element_of, expect_axis, expect_float, expect_rank, expect_shape
from .base import AcceptsEpilogue
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value


def _expect_places(call: Call, operand: int) -> None:
    if str(call.element(operand)) not in ("i32", "i64"):
        raise call.fail(f"expected places of i32 or i64, found {call.operands[operand]}")


def _expect_weights(call: Call, operand: int) -> None:
    expect_float(call)
    wanted = compute_type(call.element(0))
    if call.element(operand) != wanted:
        raise call.fail(f"expected weights of {wanted}, found {call.operands[operand]}")


@irdl_op_definition
class ResampleOp(Structured):
    """
    Each slice of the result along `axis` is a weighted sum of slices of `input`: slice `j` sums
    the slices `places[j, t]`, times `weights[j, t]`, over all `t`.

    A place out of range is clamped. `weights` have the type in which elements of `input` compute.
    Interpolations along one dimension are of this form (ONNX `Resize`).

    ```mlir
    %r = glow.resample %x, %places, %weights axis 1
       : (tensor<2x5xf32>, tensor<9x2xi32>, tensor<9x2xf32>) -> tensor<2x9xf32>
    ```
    """

    name = "glow.resample"
    FORMULA: ClassVar[str] = """
        result[a.., j, c..] = sum(t)
            input[a.., clamp(places[j, t], 0, size(input, axis) - 1), c..] * weights[j, t]
    """

    input = operand_def(TensorType)
    places = operand_def(TensorType)
    weights = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        axis = expect_axis(call)
        return {"axis": axis, "a..": axis}

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        axis = expect_axis(call)
        if not call.shape(0)[axis]:
            raise call.fail(
                f"expected an input with elements in dimension {axis}, found {call.operands[0]}"
            )
        places = expect_rank(call, 1, 2, "places")
        expect_shape(call, 2, places, "weights")
        _expect_places(call, 1)
        _expect_weights(call, 2)
        return super().infer(call)


@irdl_op_definition
class SampleOp(Structured):
    """
    Weighted sums of elements of images: point `p` of result `r` sums, over all `t`, the elements
    at `places[r, p, t]` of image `images[r]`, times `weights[r, p, t]`. With `largest`, it is the
    largest of the products instead of their sum.

    `input` [N, C, S] holds the elements of each image in one dimension. Images and places out of
    range are clamped. `weights` have the type in which elements of `input` compute. Interpolation
    at computed points is of this form (ONNX `GridSample`, `RoiAlign`, `DeformConv`).

    ```mlir
    %r = glow.sample %x, %images, %places, %weights
       : (tensor<2x3x35xf32>, tensor<4xi32>, tensor<4x10x4xi32>, tensor<4x10x4xf32>)
       -> tensor<4x3x10xf32>
    ```
    """

    name = "glow.sample"
    FORMULA: ClassVar[str] = """
        result[r, c, p] = sum(t)
            input[clamp(images[r], 0, size(input, 0) - 1), c,
                  clamp(places[r, p, t], 0, size(input, 2) - 1)] * weights[r, p, t]
    """

    input = operand_def(TensorType)
    images = operand_def(TensorType)
    places = operand_def(TensorType)
    weights = operand_def(TensorType)
    largest = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def formula_of(cls, call: Call) -> str:
        return cls.FORMULA.replace("sum(t)", "max(t)") if call.get("largest") else cls.FORMULA

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        images, _, elements = expect_rank(call, 0, 3, "images")
        if not images or not elements:
            raise call.fail(f"expected images with elements, found {call.operands[0]}")
        places = expect_rank(call, 2, 3, "places")
        expect_shape(call, 1, places[:1], "numbers of images")
        expect_shape(call, 3, places, "weights")
        _expect_places(call, 1)
        _expect_places(call, 2)
        if element_of(call.operands[1]) != element_of(call.operands[2]):
            raise call.fail(
                f"expected images and places of one type, found {call.operands[1]} "
                f"and {call.operands[2]}"
            )
        _expect_weights(call, 3)
        if call.get("largest") and not places[2]:
            raise call.fail(f"expected at least one place for each point, found {places}")
        return super().infer(call)
