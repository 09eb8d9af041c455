"""Conversion between real and quantized numbers. Scales and zero points are part of the type."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, IntegerType, f64, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ..elements import compute_type, highest, lowest, storage_type
from ..operator import Call, element_of, expect_float, expect_same_element, shape_of
from ..quant import QuantizedType
from ..scalar import Expr, Primitive, apply, convert, select
from .base import DataParallel
from .elementwise import X, Y, Z

_EXACT_IN_F32 = 16
"""Bits of storage up to which stored numbers and their differences are exact in f32."""


def _declared(call: Call) -> Attribute:
    if len(call.results) != 1:
        raise call.fail("expected a result type, which says what to convert to")
    return element_of(call.results[0])


def _quantized(call: Call, t: Attribute, what: str) -> QuantizedType:
    element = element_of(t)
    if not isinstance(element, QuantizedType):
        raise call.fail(f"expected {what} with quantized elements, found {t}")
    return element


def _check_axis(call: Call, quantized: QuantizedType, t: Attribute) -> None:
    """
    Expects one scale for each index of the axis, and none for single elements, which have no place.
    """
    if not quantized.is_per_axis:
        return
    axis, scales = quantized.axis.data, len(quantized.scales)  # pyright: ignore
    shape: Sequence[int] = shape_of(t)
    if axis >= len(shape) or shape[axis] != scales:
        raise call.fail(
            f"expected {scales} elements in dimension {axis}, found shape {tuple(shape)}"
        )


def clamped(x: Expr, low: float, high: float) -> Expr:
    """Returns `x` between `low` and `high`; `low` for NaN."""
    x = select(x > low, x, low)
    return select(x < high, x, high)


@irdl_op_definition
class QuantizeOp(DataParallel):
    """
    The nearest quantized number, ties to even, saturating at the storage range:
    `clamp(round(x / scale) + zero_point)`. NaN gives the smallest stored number.

    The quotient is computed in the compute type of `x`, as ONNX's QuantizeLinear does; for storage
    of more than 16 bits, the zero point is added in f64.

    ```mlir
    %q = glow.quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.05:3>>
    ```
    """

    name = "glow.quantize"

    input = operand_def()
    result = result_def()

    @classmethod
    def depends_on_place(cls, call: Call) -> bool:
        return _quantized(call, call.results[0], "a result").is_per_axis

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        expect_float(call)
        element = _quantized(call, _declared(call), "a result")
        _check_axis(call, element, call.operands[0])
        return element

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        quantized = _quantized(call, call.results[0], "a result")
        (scale,), (zero_point,) = quantized.scale_values(), quantized.zero_point_values()
        low, high = quantized.storage_min.data, quantized.storage_max.data
        if quantized.storage.width.data <= _EXACT_IN_F32:
            # bounds first: then the rest is in range, and one instruction rounds and converts
            bounded = clamped(X / scale, float(low - zero_point), float(high - zero_point))
            steps = convert(apply(Primitive.ROUND_EVEN, bounded), i32)
            return convert(steps + zero_point if zero_point else steps)
        steps = convert(apply(Primitive.ROUND_EVEN, X / scale), f64)
        stored = steps + float(zero_point) if zero_point else steps
        return convert(clamped(stored, float(low), float(high)))


@irdl_op_definition
class DequantizeOp(DataParallel):
    """
    The real number that a quantized one represents: `(stored - zero_point) * scale`, the difference
    exactly and the product in the compute type of the result.

    ```mlir
    %x = glow.dequantize %q : (tensor<4x!quant.uniform<i8:f32, 0.05:3>>) -> tensor<4xf32>
    ```
    """

    name = "glow.dequantize"

    input = operand_def()
    result = result_def()

    @classmethod
    def depends_on_place(cls, call: Call) -> bool:
        return _quantized(call, call.operands[0], "an operand").is_per_axis

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        element = _quantized(call, call.operands[0], "an operand")
        _check_axis(call, element, call.operands[0])
        return element.expressed

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        quantized = _quantized(call, call.operands[0], "an operand")
        (scale,), (zero_point,) = quantized.scale_values(), quantized.zero_point_values()
        return convert(_centred(quantized, zero_point) * scale)


def _centred(quantized: QuantizedType, zero_point: int) -> Expr:
    """Returns the stored number less the zero point, as a real number."""
    real = compute_type(quantized.expressed)
    if not zero_point:
        return convert(X, real)
    if quantized.storage.width.data <= _EXACT_IN_F32:
        return convert(X, real) - float(zero_point)
    return convert(convert(X, i64) - zero_point, real)


@irdl_op_definition
class FakeQuantizeOp(DataParallel):
    """
    The real number that the nearest quantized one represents:
    `(clamp(round(x / scale) + zero_point, least, greatest) - zero_point) * scale`, ties to even.

    Scale and zero point are operands, because a network learns them while it is trained. The result
    is that of `glow.dequantize` after `glow.quantize` of at most 16 bits, to the bit, and of 32
    bits without a zero point. NaN gives the least number. The derivative is that of `x` where
    `round(x / scale) + zero_point` needs no clamping, else 0 (the straight-through estimator:
    Bengio et al., "Estimating or Propagating Gradients Through Stochastic Neurons for Conditional
    Computation", 2013; Jacob et al., "Quantization and Training of Neural Networks for Efficient
    Integer-Arithmetic-Only Inference", 2018, section 3). Scale and zero point have none.

    ```mlir
    %r = glow.fake_quantize %x, %scale, %zero_point least -7 greatest 7
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.fake_quantize"

    input = operand_def()
    scale = operand_def()
    zero_point = operand_def()
    least = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(-128, i64))
    greatest = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(127, i64))
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        expect_float(call)
        low, high = call.int("least"), call.int("greatest")
        if not lowest(i32) <= low < high <= highest(i32):
            raise call.fail(f"expected a least i32 below the greatest one, found {low} and {high}")
        return expect_same_element(call)

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        low, high = float(call.int("least")), float(call.int("greatest"))
        return (clamped(cls._steps(), low, high) - Z) * Y

    @staticmethod
    def _steps() -> Expr:
        """Returns the integer before it is clamped."""
        return apply(Primitive.ROUND_EVEN, X / Y) + Z

    @classmethod
    def straight_through(cls, call: Call, seed: Expr) -> Expr:
        """Returns what the derivative of a result gives to that of `x`, and the reverse."""
        low, high = float(call.int("least")), float(call.int("greatest"))
        above = select(cls._steps() >= low, seed, 0.0)
        return select(cls._steps() <= high, above, 0.0)


@irdl_op_definition
class StorageCastOp(DataParallel):
    """
    The stored numbers of a quantized value, or integers taken for stored numbers: the same bits
    under another type. Either type may be quantized, and their storage types are the same.

    ```mlir
    %s = glow.storage_cast %q : (tensor<4x!quant.uniform<i8:f32, 0.05:3>>) -> tensor<4xi8>
    ```
    """

    name = "glow.storage_cast"

    input = operand_def()
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        result, source = _declared(call), call.element(0)
        if not isinstance(storage_type(source), IntegerType):
            raise call.fail(f"expected quantized or integer elements, found {call.operands[0]}")
        if storage_type(result) != storage_type(source):
            raise call.fail(
                f"expected a result with elements stored as {storage_type(source)}, found {result}"
            )
        return result

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return convert(X)


@irdl_op_definition
class RescaleOp(DataParallel):
    """
    A quantized number from another one, or from an accumulator, by integer arithmetic alone:
    `clamp(((((x - zero_point(x)) * multiplier) >> (shift - 1)) + 1) >> 1) + zero_point)`.

    This multiplies by `multiplier / 2**shift` and rounds to the nearest, halves up (Jacob et al.,
    "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
    2018, section 2.2). `multiplier` and `shift` are i32 with the shape of `x`, as a rule constants
    that are broadcast; `shift` is 1 to 62. Arithmetic is in 64 bits. `x` is i32, which has the zero
    point 0, or quantized per tensor.

    ```mlir
    %q = glow.rescale %acc, %multiplier, %shift : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
      -> tensor<4x!quant.uniform<i8:f32, 0.05:3>>
    ```
    """

    name = "glow.rescale"

    input = operand_def()
    multiplier = operand_def()
    shift = operand_def()
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        source, result = call.element(0), _declared(call)
        if isinstance(source, QuantizedType):
            if source.is_per_axis:
                raise call.fail(f"expected one scale for all elements, found {call.operands[0]}")
        elif source != i32:
            raise call.fail(f"expected i32 or quantized elements, found {call.operands[0]}")
        for i in (1, 2):
            if call.element(i) != i32:
                raise call.fail(f"expected operand {i} with elements i32, found {call.operands[i]}")
        if _quantized(call, result, "a result").is_per_axis:
            raise call.fail(f"expected a result with one scale for all elements, found {result}")
        return result

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        source, result = call.element(0), _quantized(call, call.results[0], "a result")
        wide = convert(X, i64)
        if isinstance(source, QuantizedType) and any(source.zero_point_values()):
            wide = wide - source.zero_point_values()[0]
        product = wide * convert(Y, i64)
        halves = product >> (convert(Z, i64) - 1)
        stored = (halves + 1) >> Expr.constant(1)
        (zero_point,) = result.zero_point_values()
        low, high = result.storage_min.data, result.storage_max.data
        return convert(clamped(stored + zero_point if zero_point else stored, low, high))
