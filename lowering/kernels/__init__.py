"""
From instructions to kernels: functions over memrefs in upstream's structured dialects.

What is computed is apart from how. `families` has one algorithm for each family of operators,
written as loop nests (`nest`) over strided views (`affine`). `schedule` chooses vectors, tiles and
loop order from a machine description. `generate` turns both into control flow.
"""

from __future__ import annotations

from . import families
from .machine import MachineDescription, host_machine
from .registry import implements

__all__ = ["MachineDescription", "families", "host_machine", "implements"]
