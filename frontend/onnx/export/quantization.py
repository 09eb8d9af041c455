"""Quantization: scales and zero points, which are part of types here, become constants."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import storage_type
from ....glow_dialects.glow.quantization import DequantizeOp, QuantizeOp, StorageCastOp
from ....glow_dialects.integers import integer_range
from ....glow_dialects.operator import element_of
from ....glow_dialects.quant import QuantizedType
from ....semantics.arrays import numpy_dtype
from ..problems import Unsupported
from .elementwise import hint_of
from .writer import Writer, code_of, exporter

_WIDEST_RESULT = 16
"""Bits of the widest integers that QuantizeLinear gives."""


def _quantized(value: SSAValue) -> QuantizedType:
    element = element_of(value.type)
    assert isinstance(element, QuantizedType)
    return element


def _axis(q: QuantizedType) -> int | None:
    return q.axis.data if isinstance(q.axis, IntAttr) else None


def _parameters(writer: Writer, q: QuantizedType, expressed: Attribute, hint: str) -> list[str]:
    """
    Returns names of the scale and the zero point. Integers of more than 16 bits whose zero points
    are all 0 have none.
    """
    if q.storage.width.data in (4, 16):
        writer.needs(21)
    scales = np.array(q.scale_values(), np.float64).astype(numpy_dtype(expressed))
    points = np.array(q.zero_point_values()).astype(numpy_dtype(q.storage))
    if _axis(q) is None:
        scales, points = scales.reshape(()), points.reshape(())
    scale = writer.constant(scales, f"{hint}_scale")
    if q.storage.width.data > _WIDEST_RESULT and not points.any():
        return [scale]
    return [scale, writer.constant(points, f"{hint}_zero_point", code_of(q.storage))]


@exporter(QuantizeOp)
def quantize(writer: Writer, node: QuantizeOp) -> str:
    """
    Writes a quantization. Bounds narrower than those of the storage become limits of the stored
    numbers.
    """
    q, x = _quantized(node.result), node.input
    if q.storage.width.data > _WIDEST_RESULT:
        raise Unsupported(f"quantization to {node.result.type}")
    hint = hint_of(node) or "quantized"
    parameters = _parameters(writer, q, element_of(x.type), hint)
    name = writer.emit("QuantizeLinear", writer.name(x), *parameters, hint=hint, axis=_axis(q))
    low, high = q.storage_min.data, q.storage_max.data
    if (low, high) == integer_range(q.storage):
        return name
    bounds = [writer.number(b, q.storage, "bound") for b in (low, high)]
    return writer.emit("Clip", name, *bounds, hint=hint)


@exporter(DequantizeOp)
def dequantize(writer: Writer, node: DequantizeOp) -> str:
    q = _quantized(node.input)
    hint = hint_of(node) or "real"
    parameters = _parameters(writer, q, q.expressed, hint)
    name = writer.name(node.input)
    return writer.emit("DequantizeLinear", name, *parameters, hint=hint, axis=_axis(q))


@exporter(StorageCastOp)
def storage_cast(writer: Writer, node: StorageCastOp) -> str:
    """Writes the change of storage; ONNX has integers on both sides."""
    assert storage_type(element_of(node.input.type)) == storage_type(element_of(node.result.type))
    return writer.name(node.input)
