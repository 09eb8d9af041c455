"""
The places of tensors between layers in DRAM.

A tensor takes memory from the layer that writes it to the last layer that reads it; tensors that
are never alive at the same time share memory. Time is counted in layers here and not in
instructions on buffers: an operator in accumulators is computed in the layer that uses it, and so
reads its operands later than its instruction stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...glow_dialects.vta import VtaMemory
from ...passes.instructions.memory_planner import Lifetime, lower_bound, plan_arena
from .layers import Fetch, Layer, Pooling
from .memory_map import MemoryMap
from .regions import Tensor


def place_scratch(layers: Sequence[Layer | Pooling], memory: MemoryMap) -> tuple[int, int]:
    """
    Places the tensors between the layers of a program. How many bytes they take, and the most that
    are in use at once, which no plan can do without.
    """
    used: dict[Tensor, list[int]] = {tensor: [] for tensor in memory.scratch()}
    for number, layer in enumerate(layers):
        for tensor in _used(layer):
            if tensor in used:
                used[tensor].append(number)
    if not used:
        return 0, 0
    size = memory.config.element_bytes(VtaMemory.OUT)
    lives = [Lifetime(n[0], n[-1], t.grid.elements * size) for t, n in used.items()]
    plan = plan_arena(lives, size)
    memory.place_scratch(plan)
    return plan.size, lower_bound(lives)


def _used(layer: Layer | Pooling) -> Iterator[Tensor]:
    """Yields the tensors that a layer reads and writes."""
    yield layer.output
    if isinstance(layer, Pooling):
        yield layer.source
        return
    yield from layer.higher
    yield from (p.source for p in layer.products)
    yield from (a.source for a in layer.actions if isinstance(a, Fetch))
