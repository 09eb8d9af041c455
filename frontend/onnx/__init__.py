"""
ONNX models to the graph dialect.

`import_onnx` reads a model without copying its weights. One converter for each operator, in `ops`, a
file for each family; operators without a converter that ONNX defines by others are expanded.
"""

from __future__ import annotations

from .importer import import_onnx
from .load import NEWEST_OPSET, OLDEST_OPSET

__all__ = ["NEWEST_OPSET", "OLDEST_OPSET", "import_onnx"]
