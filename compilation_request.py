"""The request for a compilation: a model and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .interface.backend import Backend
from .model_forms import Model, is_module, is_text

if TYPE_CHECKING:
    from .runtime.stages import Progress


@dataclass(frozen=True)
class CompilationRequest:
    """A model with the options of its compilation, as `glow.compile` explains them."""

    model: Model
    target: Backend
    max_elements: int | None
    verify: bool | None
    progress: Callable[[Progress], None] | None
    states: Mapping[str, str] = field(default_factory=dict[str, str])
    """Inputs that are states, with the outputs that are their next values."""

    @property
    def is_onnx(self) -> bool:
        """Whether the model is not one of the graph dialect."""
        return not (is_text(self.model) or is_module(self.model))
