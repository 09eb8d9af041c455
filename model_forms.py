"""The forms in which one can give a model. A program in the cache needs no more of the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import onnx
    from xdsl.dialects.builtin import ModuleOp

Model: TypeAlias = "str | Path | bytes | onnx.ModelProto | ModuleOp"

Values: TypeAlias = "Mapping[str, np.ndarray]"
"""Values of inputs by name."""
NO_VALUES: Values = {}

TEXT_SUFFIXES = (".mlir", ".glow")
"""Files with these suffixes hold the graph dialect as text; all others are ONNX."""


def is_text(model: object) -> bool:
    """Returns whether a model is a file of the graph dialect."""
    return isinstance(model, str | Path) and Path(model).suffix in TEXT_SUFFIXES


def is_module(model: object) -> bool:
    """Returns whether a model is a module of the graph dialect in memory."""
    # without an import of xDSL: whoever made a module has done that
    return type(model).__name__ == "ModuleOp"
