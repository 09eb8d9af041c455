"""
The lowering of instructions to kernels: functions over memrefs in upstream's structured dialects.

A kernel's algorithm is separate from its schedule. `algorithms` has one algorithm for each
family of operators, written as loop nests over strided views. `schedules` chooses vectors, tiles
and the order of loops from a machine description, `threads` divides the work, and `codegen` emits
the control flow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import algorithms as algorithms
    from .claims import kernel_claims
    from .registry import implements

__all__ = ["algorithms", "implements", "kernel_claims"]

_EXPORTS = {"implements": "registry", "kernel_claims": "claims"}


def __getattr__(name: str) -> Any:
    # The package is loaded on first use, with the algorithms, which register themselves.
    if name in _EXPORTS:
        import_module(f"{__name__}.algorithms")
        return getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
