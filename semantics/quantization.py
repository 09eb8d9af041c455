"""Conversion between real numbers and numbers that are quantized with a scale for each channel."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntAttr

from ..glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ..glow_dialects.operator import Call, element_of
from ..glow_dialects.quant import QuantizedType
from .arrays import numpy_dtype
from .numpy_algebra import convert
from .registry import meaning, wide


@meaning(QuantizeOp)
def quantize(call: Call, x: np.ndarray) -> np.ndarray:
    """Returns `x / scale` in the compute type of `x`; the zero point is added exactly."""
    x = wide(x)
    quantized = element_of(call.results[0])
    assert isinstance(quantized, QuantizedType)
    scale, zero_point = _parameters(quantized, x.ndim)
    stored = np.rint(x / scale.astype(x.dtype)).astype(np.float64) + zero_point
    low, high = quantized.storage_min.data, quantized.storage_max.data
    above = np.where(stored > low, stored, low)
    return np.where(above < high, above, high).astype(numpy_dtype(quantized))


@meaning(DequantizeOp)
def dequantize(call: Call, q: np.ndarray) -> np.ndarray:
    """Returns `stored - zero_point` exactly, then one product in the compute type of the result."""
    quantized = call.element(0)
    assert isinstance(quantized, QuantizedType)
    scale, zero_point = _parameters(quantized, q.ndim)
    expressed = wide(np.empty(0, numpy_dtype(quantized.expressed))).dtype
    centred = convert(q.astype(np.int64) - zero_point, expressed)
    return centred * scale.astype(expressed)


def _parameters(quantized: QuantizedType, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns scales (f64) and zero points (i64), shaped to broadcast over `rank` dimensions."""
    shape = [1] * rank
    if isinstance(quantized.axis, IntAttr):
        shape[quantized.axis.data] = len(quantized.scales)
    return (
        np.array(quantized.scale_values(), np.float64).reshape(shape),
        np.array(quantized.zero_point_values(), np.int64).reshape(shape),
    )
