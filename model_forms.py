"""The forms in which one can give a model. A program in the cache needs no more of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import onnx
    from xdsl.dialects.builtin import ModuleOp

    from .interface.backend import Backend
    from .runtime.stages import Progress

Model: TypeAlias = "str | Path | bytes | onnx.ModelProto | ModuleOp"

Values: TypeAlias = "Mapping[str, np.ndarray]"
"""Values of inputs by name."""
NO_VALUES: Values = {}

TEXT_SUFFIXES = (".mlir", ".glow")
"""Files with these suffixes hold the graph dialect as text; all others are ONNX."""


def is_text(model: object) -> bool:
    """Returns whether a model is a file of the graph dialect."""
    return isinstance(model, str | Path) and Path(model).suffix in TEXT_SUFFIXES


def _is_module(model: object) -> bool:
    # without an import of xDSL: whoever made a module has done that
    return type(model).__name__ == "ModuleOp"


@dataclass(frozen=True)
class CompilationRequest:
    """A model with the options of its compilation, as `glow.compile` explains them."""

    model: Model
    target: Backend
    max_elements: int | None
    verify: bool | None
    progress: Callable[[Progress], None] | None

    @property
    def is_onnx(self) -> bool:
        """Whether the model is not one of the graph dialect."""
        return not (is_text(self.model) or _is_module(self.model))
