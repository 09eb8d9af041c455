"""
Estimated times of loops, by which schedules are compared.

The formulas take numbers of vectors, rows and steps; their factors were measured
(`glow_dialects.timings`). Times are in cycles of a core unless a docstring says otherwise.
"""

from __future__ import annotations

from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.timings import TIMINGS, Timings


def near_bytes(machine: MachineDescription, timings: Timings = TIMINGS) -> int:
    """Returns how many bytes stay in the L2 cache while other data stream through it."""
    return int(machine.l2_bytes * timings.near_l2_share)


def prefetched_bytes(machine: MachineDescription, timings: Timings = TIMINGS) -> int:
    """
    Returns the size in bytes above which arrays that are read from front to back are prefetched.
    """
    return int(machine.l2_bytes * timings.prefetched_l2_share)


def vector_load(stride: int, lanes: int, timings: Timings = TIMINGS) -> float:
    """Returns the operations that load a vector of elements `stride` apart."""
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
    """Returns the time of a step of a reduction with some accumulators and loads."""
    operations = accumulators * (1.0 if has_fma else 2.0)
    arithmetic = max(operations * timings.reduction_fma_cycles, timings.fma_latency)
    loading = loads / timings.loads_per_cycle
    hidden = timings.reduction_overlap * min(arithmetic, loading)
    return max(arithmetic, loading) + hidden + timings.reduction_step_cycles


def tile_step(filters: int, pixels: int, far: float, timings: Timings = TIMINGS) -> float:
    """
    Returns the time of a step of a register tile: `filters` loaded vectors times `pixels` broadcast
    elements. `far` is the share of the pixels that come from beyond the L2 cache.
    """
    arithmetic = max(filters * pixels / timings.vector_units, timings.fma_latency)
    loads = (filters + pixels) / timings.loads_per_cycle
    cycles = max(arithmetic, loads) + timings.tile_load_overlap * loads
    cycles += timings.tile_filter_cycles * filters
    return cycles + far * timings.far_pixel_cycles * pixels + timings.tile_step_cycles


def tile_results(vectors: int, weight: int, timings: Timings = TIMINGS) -> float:
    """
    Returns the time to store the vectors of a register tile, after `weight` operations on each.
    """
    return vectors * (timings.tile_result_cycles + weight / timings.vector_units)


def gathered_dot(points: int, steps: int, quads: int, timings: Timings = TIMINGS) -> float:
    """
    Returns the operations for each output of a tile that gathers `quads` groups of four pixels.
    """
    tile = timings.quad_operations * quads + steps + timings.gathered_tile_operations
    return steps + tile / points


def amx_step(images: int, panels: int, rows: int, quads: int, timings: Timings = TIMINGS) -> float:
    """
    Returns the time of a step of a group of AMX tiles: `images` tiles of `rows` rows times `panels`
    tiles.
    """
    products = images * panels * max(rows, timings.amx_least_product_cycles)
    loads = (images * rows + panels * quads) / timings.loads_per_cycle
    return max(products, loads) + timings.amx_load_overlap * loads
