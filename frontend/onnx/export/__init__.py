"""
ONNX models from graphs of the `glow` dialect.

`quantize` and `dequantize` become QuantizeLinear and DequantizeLinear, between which the model has
plain integers, so a graph in QDQ form becomes a QDQ model. One function for each operator, a file
for each family; importing this registers all.
"""

from __future__ import annotations

from . import (  # noqa: F401
    elementwise,
    generic,
    indexing,
    layers,
    moves,
    normalization,
    quantization,
    recurrent,
    resampling,
)
from .graph import export_onnx

__all__ = ["export_onnx"]
