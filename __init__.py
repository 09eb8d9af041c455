"""
A neural-network compiler one can read: Glow's two-level IR as MLIR dialects on xDSL.

```python
import glow
model = glow.compile("resnet50.onnx")
(probabilities,) = model(image)
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from . import generation as generation
    from . import nn as nn
    from . import onnx_backend as onnx_backend
    from . import quantization as quantization
    from . import training as training
    from .compiler import compile
    from .definitions import define
    from .differentiation import differentiate
    from .errors import (
        CompileError,
        DeadlineError,
        DeviceError,
        DeviceMemoryError,
        GlowError,
        IndexRangeError,
        InputError,
        LimitError,
        ModelError,
        QuantizationError,
        QueueFullError,
        RejectedError,
        SanitizerError,
        UnsupportedError,
    )
    from .host import HostManager
    from .models.compiled_model import CompiledModel
    from .training.trainer import Trainer

_EXPORTS = {
    "CompiledModel": "models.compiled_model",
    "HostManager": "host",
    "compile": "compiler",
    "define": "definitions",
    "differentiate": "differentiation",
    "CompileError": "errors",
    "DeadlineError": "errors",
    "DeviceError": "errors",
    "DeviceMemoryError": "errors",
    "GlowError": "errors",
    "IndexRangeError": "errors",
    "InputError": "errors",
    "LimitError": "errors",
    "ModelError": "errors",
    "QuantizationError": "errors",
    "QueueFullError": "errors",
    "RejectedError": "errors",
    "SanitizerError": "errors",
    "UnsupportedError": "errors",
    "Trainer": "training.trainer",
}

__all__ = [
    "CompileError",
    "CompiledModel",
    "DeadlineError",
    "DeviceError",
    "DeviceMemoryError",
    "GlowError",
    "HostManager",
    "IndexRangeError",
    "InputError",
    "LimitError",
    "ModelError",
    "QuantizationError",
    "QueueFullError",
    "RejectedError",
    "SanitizerError",
    "Trainer",
    "UnsupportedError",
    "compile",
    "define",
    "differentiate",
]


_MODULES = ("generation", "nn", "onnx_backend", "quantization", "training")
"""Parts of the package that need no import of their own."""


def __getattr__(name: str) -> Any:
    # loaded on first use, so that tools which need only dialects start fast
    if name in _EXPORTS:
        return getattr(import_module(f".{_EXPORTS[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name == "__version__":
        # it reads files, and few ask for the version
        from importlib.metadata import version

        return version("glow-compiler")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    own = (name for name in globals() if name.startswith("__"))
    return sorted({*own, *__all__, *_MODULES, "__version__"})
