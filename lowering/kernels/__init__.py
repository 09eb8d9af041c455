"""
From instructions to kernels: functions over memrefs in upstream's structured dialects.

What is computed is apart from how. `families` has one algorithm for each family of operators,
written as loop nests (`nest`) over strided views (`affine`). `schedule` chooses vectors, tiles and
loop order from a machine description. `generate` turns both into control flow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import families
    from .claims import kernel_claims
    from .machine import MachineDescription, host_machine
    from .registry import implements

__all__ = ["MachineDescription", "families", "host_machine", "implements", "kernel_claims"]

_EXPORTS = {
    "MachineDescription": "machine",
    "host_machine": "machine",
    "implements": "registry",
    "kernel_claims": "claims",
}


def __getattr__(name: str) -> Any:
    # loaded on first use: a program in the cache needs the machine description only
    if name in _EXPORTS:
        if _EXPORTS[name] in ("registry", "claims"):
            import_module(f"{__name__}.families")
        return getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
