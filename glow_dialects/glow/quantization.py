"""Conversion between real and quantized numbers. Scales and zero points are part of the type."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ..operator import Call, element_of, expect_float, shape_of, with_shape
from ..quant import QuantizedType
from .base import Node


def _check_axis(call: Call, quantized: QuantizedType, shape: Sequence[int]) -> None:
    if not quantized.is_per_axis:
        return
    axis, scales = quantized.axis.data, len(quantized.scales)  # pyright: ignore
    if axis >= len(shape) or shape[axis] != scales:
        raise call.fail(
            f"expected {scales} elements in dimension {axis}, found shape {tuple(shape)}"
        )


@irdl_op_definition
class QuantizeOp(Node):
    """
    The nearest quantized number, ties to even, saturating at the storage range.

    ```mlir
    %q = glow.quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.05:3>>
    ```
    """

    name = "glow.quantize"

    input = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_float(call)
        element = element_of(call.results[0])
        if not isinstance(element, QuantizedType):
            raise call.fail(f"expected a result with quantized elements, found {call.results[0]}")
        _check_axis(call, element, call.shape(0))
        return (with_shape(element, call.shape(0)),)


@irdl_op_definition
class DequantizeOp(Node):
    """
    The real number that a quantized one stands for: `(stored - zero_point) * scale`.

    ```mlir
    %x = glow.dequantize %q : (tensor<4x!quant.uniform<i8:f32, 0.05:3>>) -> tensor<4xf32>
    ```
    """

    name = "glow.dequantize"

    input = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        element = call.element(0)
        if not isinstance(element, QuantizedType):
            raise call.fail(f"expected quantized elements, found {call.operands[0]}")
        _check_axis(call, element, shape_of(call.operands[0]))
        return (with_shape(element.expressed, call.shape(0)),)
