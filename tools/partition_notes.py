"""The notes of tools about networks that are split over devices."""

from __future__ import annotations

import sys

from xdsl.dialects.builtin import ModuleOp


def note_idle_devices(module: ModuleOp) -> None:
    """Says on stderr why devices got nothing of a network."""
    if "glow.idle" not in module.attributes:
        return
    # most modules of glow-opt are not partitioned
    from ..passes.partition.idle import idle_devices

    for name, why in idle_devices(module).items():
        print(f"note: {name}: {why}", file=sys.stderr)
