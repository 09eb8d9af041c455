"""
The places of tensors between layers in DRAM.

A tensor takes memory from the layer that writes it to the last layer that reads it; tensors that
are never alive at the same time share memory. Time is counted in layers here and not in
instructions on buffers: an operator in accumulators is computed in the layer that uses it, and so
reads its operands later than its instruction stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...glow_dialects.vta import LayerLike, RegionOp, VtaMemory
from ...passes.instructions.memory_planner import Lifetime, lower_bound, plan_arena
from .memory_map import MemoryMap


def place_scratch(layers: Sequence[LayerLike], memory: MemoryMap) -> tuple[int, int]:
    """
    Places the tensors between the layers of a program. Returns how many bytes they take, and the
    most that are in use at once, which no plan can do without.
    """
    used: dict[RegionOp, list[int]] = {op: [] for op in memory.scratch()}
    for number, layer in enumerate(layers):
        for op in layer.walk():
            for value in op.operands:
                if isinstance(value.owner, RegionOp) and value.owner in used:
                    used[value.owner].append(number)
    if not used:
        return 0, 0
    lives = [Lifetime(n[0], n[-1], op.num_bytes) for op, n in used.items()]
    plan = plan_arena(lives, memory.config.element_bytes(VtaMemory.OUT))
    memory.place_scratch(plan)
    return plan.size, lower_bound(lives)
