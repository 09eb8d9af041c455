"""
Schemas choose scale and zero point of a quantized type from a range of real numbers.

A quantized number `q` represents `(q - zero_point) * scale`. Every schema represents 0 exactly,
because padding, `relu` and masks make exact zeros (Jacob et al., Quantization and Training of
Neural Networks for Efficient Integer-Arithmetic-Only Inference, CVPR 2018, section 2.1). Scales are
rounded to f32, in which `glow.quantize` computes. A range of nothing but zeros has no scale of its
own; it gets scale 1 and the zero point that the schema has for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntAttr, IntegerType, TensorType, f32
from xdsl.ir import Attribute

from ..errors import QuantizationError
from ..glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ..glow_dialects.integers import integer_range, short_name, u32, unsigned
from ..glow_dialects.operator import Call
from ..glow_dialects.quant import QuantizedType
from ..semantics import evaluate, numpy_dtype
from ..table import Table
from ..wording import counted

ZERO_SCALE = 1.0
"""The scale of a range in which there is nothing but 0; onnxruntime's quantizer takes it too."""
SMALLEST_SCALE = float(np.finfo(np.float32).tiny)
"""Smaller scales would be subnormal, and products with their inverse infinite."""
LARGEST_SCALE = float(np.finfo(np.float32).max)
_BIAS_BITS = 20
"""The bits of a bias beside weights of zeros: more would leave less room for the sum."""

STORAGES = {
    short_name(t): t
    for width in (4, 8, 16, 32)
    for t in (IntegerType(width), unsigned(width))
    if t != u32
}
"""Storage types by name: i4 u4 i8 u8 i16 u16 i32."""


@dataclass(frozen=True)
class Range:
    """The real numbers from `low` to `high` that a quantized type is to represent."""

    low: float
    high: float

    def with_zero(self) -> Range:
        """Returns the same range, extended to 0 if need be."""
        return Range(min(self.low, 0.0), max(self.high, 0.0))


Parameters: TypeAlias = "tuple[IntegerType, np.ndarray, np.ndarray]"
"""Storage, scales (f64) and zero points (i64)."""
Schema: TypeAlias = "Callable[[np.ndarray, np.ndarray, IntegerType], Parameters]"
"""
A function from lows <= 0 and highs >= 0 (f64 [N]) and a storage type to parameters (both [N]).
"""

SCHEMAS: Table[str, Schema] = Table("a schema")
"""Schemas by name."""


def schema(name: str) -> Callable[[Schema], Schema]:
    """Registers a schema under a name."""
    return SCHEMAS.entry(name)


@schema("asymmetric")
def asymmetric(lows: np.ndarray, highs: np.ndarray, storage: IntegerType) -> Parameters:
    """
    Returns the range on all stored numbers; the zero point is moved to the nearest integer (Jacob
    et al., equation 1).
    """
    bottom, top = integer_range(storage)
    scales = _scales((highs - lows) / (top - bottom))
    points = np.clip(np.rint(bottom - lows / scales), bottom, top).astype(np.int64)
    return storage, scales, np.where(lows == highs, max(0, bottom), points)


@schema("symmetric")
def symmetric(lows: np.ndarray, highs: np.ndarray, storage: IntegerType) -> Parameters:
    """
    Returns `-t` to `t` with equally many numbers on both sides of the zero point. The zero point is
    0, or half of the range for unsigned storage, so -128 of i8 represents no number of the range.
    """
    _, scales, points = _symmetric(lows, highs, storage)
    return storage, _scales(scales), points


@schema("symmetric_uint8")
def symmetric_uint8(lows: np.ndarray, highs: np.ndarray, storage: IntegerType) -> Parameters:
    """
    Returns the schema `symmetric`, but with unsigned storage of the same width and zero point 0 if
    no number is negative, so that no bit is spent on a sign. Storage wider than 8 bits has enough
    bits and stays signed.
    """
    if (lows < 0).any() or storage.width.data > 8:
        return symmetric(lows, highs, storage)
    unsigned = STORAGES[f"u{storage.width.data}"]
    scales = _scales(highs / integer_range(unsigned)[1])
    return unsigned, scales, np.zeros(len(highs), np.int64)


@schema("power_of_two")
def power_of_two(lows: np.ndarray, highs: np.ndarray, storage: IntegerType) -> Parameters:
    """
    Returns the schema `symmetric` with the scale rounded up to a power of two, so that rescaling is
    a shift.
    """
    _, scales, points = _symmetric(lows, highs, storage)
    mantissa, exponent = np.frexp(scales)
    # frexp gives a mantissa in 0.5 to 1, so that a power of two has 0.5
    above = np.ldexp(1.0, exponent - (mantissa == 0.5))
    return storage, _scales(np.where(scales == 0, 0, above)), points


def _symmetric(lows: np.ndarray, highs: np.ndarray, storage: IntegerType) -> Parameters:
    bottom, top = integer_range(storage)
    point = (bottom + top + 1) // 2
    scales = np.maximum(-lows, highs) / (top - point)
    return storage, scales, np.full(len(scales), point, np.int64)


def _scales(scales: np.ndarray) -> np.ndarray:
    """Returns the scales in f32, normal and positive."""
    limited = np.clip(scales, SMALLEST_SCALE, LARGEST_SCALE).astype(np.float32).astype(np.float64)
    return np.where(scales == 0, ZERO_SCALE, limited)


def storage_of(name: str | IntegerType) -> IntegerType:
    """
    Returns a storage type by its name, such as `i8`. Raises QuantizationError for another name.
    """
    if isinstance(name, IntegerType):
        return name
    if name not in STORAGES:
        raise QuantizationError(f"expected a storage of {', '.join(STORAGES)}, found {name!r}")
    return STORAGES[name]


def schema_of(name: str) -> Schema:
    """Returns a schema by its name. Raises QuantizationError for another name."""
    if name not in SCHEMAS:
        raise QuantizationError(f"expected a schema of {', '.join(SCHEMAS)}, found {name!r}")
    return SCHEMAS[name]


def choose(
    range: Range,
    schema: str = "asymmetric",
    storage: str | IntegerType = "i8",
    expressed: Attribute = f32,
) -> QuantizedType:
    """
    Returns the per-tensor type that represents a range, extended to 0, in a schema (a key of
    SCHEMAS) and a storage (a key of STORAGES). A range of nothing but 0 gets scale 1.

    Raises QuantizationError for a range with NaN or infinity or in the wrong order, and for unknown
    names.
    """
    chosen, scales, points = _parameters([range.low], [range.high], schema, storage)
    return QuantizedType(chosen, expressed, float(scales[0]), int(points[0]))


def choose_per_axis(
    lows: Sequence[float] | np.ndarray,
    highs: Sequence[float] | np.ndarray,
    axis: int,
    schema: str = "symmetric",
    storage: str | IntegerType = "i8",
    expressed: Attribute = f32,
) -> QuantizedType:
    """
    Returns the type with one scale for each index of dimension `axis`, from one range each. All
    channels have the same storage. Raises QuantizationError as `choose` does.
    """
    chosen, scales, points = _parameters(lows, highs, schema, storage)
    return QuantizedType(chosen, expressed, scales.tolist(), points.tolist(), axis)


def _parameters(
    lows: Sequence[float] | np.ndarray,
    highs: Sequence[float] | np.ndarray,
    schema: str,
    storage: str | IntegerType,
) -> Parameters:
    low, high = np.asarray(lows, np.float64), np.asarray(highs, np.float64)
    if low.shape != high.shape:
        raise QuantizationError(f"expected as many lows as highs, found {low.size} and {high.size}")
    wrong = ~(np.isfinite(low) & np.isfinite(high) & (low <= high))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        where = f" of channel {at}" if len(low) > 1 else ""
        raise QuantizationError(
            f"expected a range of finite numbers{where}, found {low[at]} to {high[at]}: "
            "profile with NaN and infinity refused to see where they come from"
        )
    return schema_of(schema)(np.minimum(low, 0.0), np.maximum(high, 0.0), storage_of(storage))


def bias_type(
    input: QuantizedType,
    weights: QuantizedType,
    bias: np.ndarray,
    storage: str = "i32",
    schema: str = "symmetric",
) -> QuantizedType:
    """
    Returns the type of the bias [C] of a convolution or matrix product, for `input` per tensor and
    `weights` per tensor or per output channel.

    For i32 the scale is that of the products, `input.scale * weights.scale`, so that the bias is
    added to the sum as it is; per channel if the weights are. For other storages (i8) it is chosen
    from the numbers by a schema without zero point, and is at least that of the products. Raises
    QuantizationError for a bias with NaN or infinity or of another length than there are scales,
    and if an i32 would overflow: a bias more than 2**30 times as large as a product's quantum,
    which happens for channels of almost-zero weights; keep such a node in float.
    """
    products = np.array(weights.scale_values()) * input.scale_values()[0]
    products = _scales(products)
    if len(products) not in (1, bias.size):
        raise QuantizationError(
            f"expected a bias of {counted(len(products), 'element')}, found {bias.size}"
        )
    if not np.isfinite(bias.astype(np.float64)).all():
        raise QuantizationError("expected a bias of finite numbers, found NaN or infinity")
    axis = 0 if weights.is_per_axis else None
    kind = storage_of(storage)
    largest = np.abs(bias.astype(np.float64)).reshape(len(products), -1).max(axis=1, initial=0.0)
    if storage == "i32":
        if (largest / products > 2**30).any():
            raise QuantizationError(
                f"a bias of {largest.max():g} does not fit into i32 with quanta of "
                f"{products.min():g}; keep this node in float"
            )
        return QuantizedType(kind, input.expressed, products.tolist(), 0, axis)
    _, scales, points = schema_of(schema)(-largest, largest, kind)
    if points.any():
        raise QuantizationError(f"expected a schema without zero point for a bias, found {schema}")
    scales = np.maximum(np.where(largest == 0, products, scales), products)
    return QuantizedType(kind, input.expressed, scales.tolist(), 0, axis)


def weights_beside_bias(
    weights: QuantizedType, array: np.ndarray, bias: np.ndarray, input: QuantizedType
) -> QuantizedType:
    """
    Returns the type of constant weights, `array`, with other scales for the channels that have
    nothing but zeros: powers of two, in which their `bias` [C] takes about 20 bits.

    Any scale represents zeros, but the bias is rounded to multiples of `input.scale *
    weights.scale`. Raises nothing: a bias that `bias_type` refuses leaves the type as it is.
    """
    axis = weights.axis.data if isinstance(weights.axis, IntAttr) else None
    others = None if axis is None else tuple(i for i in range(array.ndim) if i != axis)
    empty = ~np.atleast_1d(np.any(array, axis=others))
    if not empty.any() or bias.size % len(empty) or not np.isfinite(bias).all():
        return weights
    largest = np.abs(bias.astype(np.float64)).reshape(len(empty), -1).max(axis=1)
    scales = np.array(weights.scale_values())
    wanted = largest / (input.scale_values()[0] * 2.0**_BIAS_BITS)
    found = empty & (wanted > 0)
    powers = np.ldexp(1.0, np.frexp(wanted)[1])
    scales = np.where(found, _scales(powers), scales)
    points = weights.zero_point_values()
    if axis is None:
        return QuantizedType(weights.storage, weights.expressed, float(scales[0]), points[0])
    return QuantizedType(weights.storage, weights.expressed, scales.tolist(), list(points), axis)


def quantize_array(array: np.ndarray, type: QuantizedType) -> np.ndarray:
    """
    Returns the stored numbers of an array of floats, by the meaning of `glow.quantize`: nearest,
    ties to even, saturating. The result has the dtype of the storage; 4-bit numbers take a byte
    each.
    """
    array = np.asarray(array)
    if array.dtype.kind == "f" and array.dtype != numpy_dtype(type.expressed):
        array = array.astype(numpy_dtype(type.expressed))
    shape = list(array.shape)
    call = Call(QuantizeOp, (TensorType(type.expressed, shape),), (TensorType(type, shape),), {})
    return evaluate(call, (array,))[0]


def dequantize_array(array: np.ndarray, type: QuantizedType) -> np.ndarray:
    """Returns the real numbers that stored numbers represent, as `glow.dequantize` defines them."""
    shape = list(array.shape)
    call = Call(DequantizeOp, (TensorType(type, shape),), (TensorType(type.expressed, shape),), {})
    return evaluate(call, (array,))[0]
