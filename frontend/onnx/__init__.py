"""
ONNX models to the graph dialect.

`import_onnx` reads a model without copying its weights. `ops` has a converter for each operator, in
a file for each family; operators without one that ONNX defines by others are expanded.
"""

from __future__ import annotations

from .importer import MAX_ELEMENTS, import_onnx
from .interface import Declaration, declared_inputs, declared_outputs, model_symbols
from .load import NEWEST_OPSET, OLDEST_OPSET
from .load import Model as LoadedModel
from .load import load_model as load_onnx
from .nested import Form, flattened, nested_forms, part_name
from .trainable import float_initializers

__all__ = [
    "MAX_ELEMENTS",
    "NEWEST_OPSET",
    "OLDEST_OPSET",
    "Declaration",
    "Form",
    "LoadedModel",
    "declared_inputs",
    "declared_outputs",
    "flattened",
    "float_initializers",
    "import_onnx",
    "load_onnx",
    "model_symbols",
    "nested_forms",
    "part_name",
]
