"""
Estimated times of loops: what schedules are compared by.

These are formulas over numbers of vectors, rows and steps. What they multiply with was measured
(`glow_dialects.timings`). Times are in cycles of a core if nothing else is said.
"""

from __future__ import annotations

from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.timings import TIMINGS, Timings


def near_bytes(machine: MachineDescription, timings: Timings = TIMINGS) -> int:
    """What can be expected to stay in the second cache beside what else streams through it."""
    return int(machine.l2_bytes * timings.near_l2_share)


def prefetched_bytes(machine: MachineDescription, timings: Timings = TIMINGS) -> int:
    """Larger arrays that are read from front to back are prefetched."""
    return int(machine.l2_bytes * timings.prefetched_l2_share)


def vector_load(stride: int, lanes: int, timings: Timings = TIMINGS) -> float:
    """Operations that load a vector of elements that are so far apart."""
    match stride:
        case 0 | 1:
            return 1.0
        case -1 | 2:
            return timings.shuffled_load
        case 3 | 4:
            return timings.strided_load * stride
        case _:
            return timings.gathered_lane * lanes


def reduction_step(
    accumulators: int, loads: float, has_fma: bool, timings: Timings = TIMINGS
) -> float:
    """A step of a reduction into so many accumulators, with so many loads."""
    operations = accumulators * (1.0 if has_fma else 2.0)
    arithmetic = max(operations * timings.reduction_fma_cycles, timings.fma_latency)
    loading = loads / timings.loads_per_cycle
    hidden = timings.reduction_overlap * min(arithmetic, loading)
    return max(arithmetic, loading) + hidden + timings.reduction_step_cycles


def tile_step(
    filters: int, pixels: int, far: float, machine: MachineDescription, timings: Timings = TIMINGS
) -> float:
    """
    A step of a register tile: `filters` loaded vectors times `pixels` broadcast elements. `far` is
    the part of the pixels that come from beyond the second cache.
    """
    folds = machine.broadcasts_operands
    overlap = timings.tile_load_overlap if folds else timings.tile_broadcast_overlap
    arithmetic = max(filters * pixels / timings.vector_units, timings.fma_latency)
    loads = (filters + pixels) / timings.loads_per_cycle
    cycles = max(arithmetic, loads) + overlap * loads
    cycles += timings.tile_filter_cycles * filters
    return cycles + far * timings.far_pixel_cycles * pixels + timings.tile_step_cycles


def tile_results(vectors: int, weight: int, timings: Timings = TIMINGS) -> float:
    """Storing the vectors of a register tile, after `weight` operations on each."""
    return vectors * (timings.tile_result_cycles + weight / timings.vector_units)


def gathered_dot(points: int, steps: int, quads: int, timings: Timings = TIMINGS) -> float:
    """Operations for each output of a tile that puts so many quads of pixels together."""
    tile = timings.quad_operations * quads + steps + timings.gathered_tile_operations
    return steps + tile / points


def amx_step(images: int, panels: int, rows: int, quads: int, timings: Timings = TIMINGS) -> float:
    """A step of a group of tile registers: `images` tiles of `rows` rows times `panels` tiles."""
    products = images * panels * max(rows, timings.amx_least_product_cycles)
    loads = (images * rows + panels * quads) / timings.loads_per_cycle
    return max(products, loads) + timings.amx_load_overlap * loads
