"""Queries of quantized types, and the nodes that convert from and to them."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.glow.quantization import DequantizeOp, QuantizeOp, StorageCastOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ....glow_dialects.quant import QuantizedType
from ..rewriting import Build, defining_op


def per_tensor(t: Attribute) -> QuantizedType | None:
    """Returns the quantized element type of a tensor type, if it has one with one scale."""
    element = element_of(t)
    return element if isinstance(element, QuantizedType) and not element.is_per_axis else None


def dequantized_from(value: SSAValue) -> SSAValue | None:
    """Returns the quantized value with one scale whose real numbers are `value`."""
    node = defining_op(value, DequantizeOp)
    return node.input if node is not None and per_tensor(node.input.type) else None


def scale_of(q: QuantizedType) -> float:
    """Returns the only scale."""
    return q.scale_values()[0]


def zero_of(q: QuantizedType) -> int:
    """Returns the stored number for 0, of a type with one scale."""
    return q.zero_point_values()[0]


def bounds(q: QuantizedType) -> tuple[int, int]:
    """Returns the least and the greatest stored number."""
    return q.storage_min.data, q.storage_max.data


def same_grid(a: QuantizedType, b: QuantizedType) -> bool:
    """Returns whether two types with one scale each represent the same real numbers."""
    if scale_of(a) != scale_of(b) or a.expressed != b.expressed:
        return False
    return [x - zero_of(a) for x in bounds(a)] == [x - zero_of(b) for x in bounds(b)]


def stored_number(q: QuantizedType, real: float) -> int:
    """
    Returns the number that `glow.quantize` stores for an f32 number, with a type of one scale.
    """
    with np.errstate(all="ignore"):
        steps = np.rint(np.float32(real) / np.float32(scale_of(q))).astype(np.float64)
    low, high = bounds(q)
    return int(min(max(steps + zero_of(q), low), high))


def dequantize(build: Build, value: SSAValue) -> SSAValue:
    return build(DequantizeOp, value)


def quantize(build: Build, value: SSAValue, to: QuantizedType) -> SSAValue:
    return build(QuantizeOp, value, result_types=[with_shape(to, shape_of(value.type))])


def storage_cast(build: Build, value: SSAValue, element: Attribute) -> SSAValue:
    """Returns the same stored numbers under another type."""
    if element_of(value.type) == element:
        return value
    result = with_shape(element, shape_of(value.type))
    return build(StorageCastOp, value, result_types=[result])
