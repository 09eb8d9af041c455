"""Operators that put windows of elements together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..operator import Call, expect_at_least, expect_length, expect_number, with_shape
from ..syntax import PerDimension
from .base import AcceptsEpilogue
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value

_INTS = DenseArrayBase.constr(i64)


@irdl_op_definition
class FoldOp(Structured):
    """
    The sum of all elements of windows that lie at the same place of an image (ONNX `Col2Im`).

    `input` [N, C, K1, ..., L1, ...] has, for each channel, the elements of a window and the windows
    along each dimension. Element `k` of window `l` lies at `l * strides + k * dilations - low`;
    what is not in the image [N, C, *image] is left out.

    ```mlir
    %r = glow.fold %x image [3, 4] strides [1, 2]
       : (tensor<1x8x2x2x2x2xf32>) -> tensor<1x8x3x4xf32>
    ```
    """

    name = "glow.fold"
    FORMULA: ClassVar[str] = """
        result[n, c, w..] = sum(k..)
            (input[n, c, k.., (w.. + low - k.. * dilations) // strides | outside: 0]
                if all((w.. + low - k.. * dilations) % strides == 0) else 0)
        for w.. < image
    """

    input = operand_def(TensorType)
    image = prop_def(_INTS)
    strides = prop_def(PerDimension(1, besides=2))
    low = prop_def(PerDimension(0, besides=2))
    dilations = prop_def(PerDimension(1, besides=2))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        n = len(call.ints("image"))
        return {**super().numbers(call), "w..": n, "k..": n}

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_number(call)
        image = call.ints("image")
        for prop in ("strides", "dilations", "low"):
            expect_length(call, prop, len(image))
        for prop, least in (("image", 0), ("strides", 1), ("dilations", 1), ("low", 0)):
            expect_at_least(call, prop, least)
        shape = call.shape(0)
        if len(shape) != 2 + 2 * len(image):
            raise call.fail(
                f"expected windows of rank {2 + 2 * len(image)}, found {call.operands[0]}"
            )
        return (with_shape(call.element(0), [*shape[:2], *image]),)
