"""
The cost model: estimated times of kernels, by which schedules and algorithms are compared.

These are formulas over numbers of vectors, rows and steps. What they multiply with was measured
(`timings.py`). Times are in cycles of a core if nothing else is said. As in `machine.py`, nothing
imports xDSL.
"""

from __future__ import annotations

from dataclasses import dataclass

from .instruction_kinds import LOOKUP_RULES
from .machine import LINE_BYTES, MachineDescription
from .timings import TIMINGS

# caches


def near_bytes(machine: MachineDescription) -> int:
    """Returns the bytes that can be expected to stay in L2 beside data that stream through it."""
    return int(machine.l2_bytes * TIMINGS.near_l2_share)


def prefetched_bytes(machine: MachineDescription) -> int:
    """Returns the bytes above which arrays that are read from front to back are prefetched."""
    return int(machine.l2_bytes * TIMINGS.prefetched_l2_share)


def cached_bytes(machine: MachineDescription) -> int:
    """Returns the bytes above which arrays come from memory: others share the last cache."""
    return int(machine.l3_bytes * TIMINGS.cached_l3_share)


# vectors


def vector_load(stride: int, lanes: int) -> float:
    """Returns operations that load a vector of elements that are so far apart."""
    match stride:
        case 0 | 1:
            return 1.0
        case -1 | 2:
            return TIMINGS.shuffled_load
        case 3 | 4:
            return TIMINGS.strided_load * stride
        case _:
            return TIMINGS.far_lane * lanes


def chosen_load(lanes: int) -> float:
    """
    Returns operations that load so many elements each of which an index in memory places, with
    those on the indices.
    """
    gathered = 1.0 if lanes == 1 else TIMINGS.gathered_lane * lanes
    return gathered + TIMINGS.chosen_index


def looked_up_byte(machine: MachineDescription) -> float:
    """Returns operations for each byte that another byte names in a table, in a nest of its own."""
    lanes = machine.lanes(8)
    kind = machine.byte_lookup(lanes)
    if kind is None:
        return chosen_load(1) + 2
    return (LOOKUP_RULES[kind].operations + 2) / lanes + TIMINGS.byte_through_memory


def computed_element(weight: int, machine: MachineDescription) -> float:
    """Returns operations for each element that a body of some weight computes in f32."""
    return weight / machine.lanes(32)


def elementwise(loads: float, stores: int, weight: int, lanes: int, size: int) -> float:
    """Returns operations for each of `size` elements, where vectors cover some of them twice."""
    steps = -(-size // lanes) * lanes / size
    return (loads + stores + weight) / lanes * steps


def nest(points: int, steps: int, weight: int, accesses: int, lanes: int) -> float:
    """
    Returns a rough estimate for a nest of so many points, each with `steps` steps of a reduction,
    `weight` operations of its body, two of which take a cycle, and `accesses` loads and stores.
    """
    return points * (steps + weight / 2 + accesses) / lanes


# reductions in general


def reduction_step(accumulators: int, loads: float, has_fma: bool, copies: int = 1) -> float:
    """
    Returns a step of a reduction into so many accumulators, with so many loads. A step of the loop
    has `copies` of it.
    """
    operations = accumulators * (1.0 if has_fma else 2.0)
    arithmetic = max(operations * TIMINGS.reduction_fma_cycles, TIMINGS.fma_latency)
    loading = loads / TIMINGS.loads_per_cycle
    hidden = TIMINGS.reduction_overlap * min(arithmetic, loading)
    return max(arithmetic, loading) + hidden + TIMINGS.reduction_step_cycles / copies


def lane_sum(lanes: int, by_rows: bool) -> float:
    """
    Returns the cycles of adding the lanes of a vector; with `by_rows`, the sums of several vectors
    become lanes of one.
    """
    return TIMINGS.rows_sum if by_rows else TIMINGS.lane_sum * lanes.bit_length()


# products


def tile_step(
    filters: int, pixels: int, far: float, machine: MachineDescription, from_l2: float = 0.0
) -> float:
    """
    Returns a step of a register tile: `filters` loaded vectors times `pixels` broadcast elements.
    `far` is the part of the pixels for which the tile waits, since they come from beyond the second
    cache; `from_l2` is the part of the vectors, by their bytes, that come from the second cache.
    """
    folds = machine.broadcasts_operands
    overlap = TIMINGS.tile_load_overlap if folds else TIMINGS.tile_broadcast_overlap
    arithmetic = max(filters * pixels / TIMINGS.vector_units, TIMINGS.fma_latency)
    vector_bytes = machine.vector_bits // 8
    is_line = vector_bytes >= LINE_BYTES
    rate = TIMINGS.line_loads_per_cycle if is_line else TIMINGS.loads_per_cycle
    loads = (filters + pixels) / rate
    cycles = max(arithmetic, loads, from_l2 * filters * vector_bytes / TIMINGS.l2_bytes_per_cycle)
    cycles += overlap * loads
    cycles += filters * (TIMINGS.tile_filter_cycles if from_l2 else TIMINGS.near_filter_cycles)
    return cycles + far * TIMINGS.far_pixel_cycles * pixels + TIMINGS.tile_step_cycles


def waiting_sums(vectors: float) -> float:
    """
    Returns the cycles of storing vectors of sums at the end of a chunk of a reduction, and of
    loading them in the next one.
    """
    return TIMINGS.tile_cycles + vectors * TIMINGS.tile_result_cycles


def results(vectors: float, weight: int) -> float:
    """Returns the cycles of storing vectors of results, after `weight` operations on each."""
    return vectors * (TIMINGS.tile_result_cycles + weight / TIMINGS.vector_units)


def tile(
    filters: int,
    pixels: int,
    far: float,
    steps: int,
    weight: int,
    machine: MachineDescription,
    from_l2: float = 0.0,
) -> float:
    """Returns all steps of a register tile, and what is done with its results."""
    step = tile_step(filters, pixels, far, machine, from_l2)
    cycles = step * steps + TIMINGS.tile_cycles
    return cycles + results(filters * pixels, weight)


def merged_share(products: int, multiplications: int, lanes: int, threads: int) -> float:
    """
    Returns the share of the time of several products, of so many multiplications together, that one
    product with the columns of all saves: it starts once, and so do its threads.
    """
    start = TIMINGS.product_cycles + (TIMINGS.least_shared_cycles if threads > 1 else 0)
    arithmetic = multiplications / (lanes * TIMINGS.vector_units * threads)
    return (products - 1) * start / (products * start + arithmetic)


def gathered_tile(points: int, steps: int, quads: int) -> float:
    """
    Returns a tile of `points` vectors of products whose terms are gathered: so many quads of pixels
    are put together for each lane.
    """
    operations = TIMINGS.quad_operations * quads + steps + TIMINGS.gathered_tile_operations
    return (points * steps + operations) / TIMINGS.vector_units


def permuted_tile(vectors: int, steps: int) -> float:
    """
    Returns a tile of so many vectors: each step permutes the lanes of one, and multiplies and adds.
    """
    return TIMINGS.tile_cycles + vectors * 2 * steps / TIMINGS.vector_units


def amx_group(images: int, panels: int, rows: int, quads: int, steps: int) -> float:
    """
    Returns the steps of a group of tile registers: `images` tiles of `rows` rows times `panels`
    tiles.
    """
    products = images * panels * max(rows, TIMINGS.amx_least_product_cycles)
    loads = (images * rows + panels * quads) / TIMINGS.loads_per_cycle
    step = max(products, loads) + TIMINGS.amx_load_overlap * loads
    return steps * step + TIMINGS.amx_group_cycles


# Winograd convolution: blocks of tiles


def winograd_blocks(
    tiles: int, blocks: int, kinds: int, tile_bytes: int, filter_bytes: int, cache: int
) -> float:
    """
    Returns bytes that come from or go to far caches or memory, of `blocks` blocks of at most
    `tiles` tiles and of some kinds that have code of their own; `cache` bytes are near.
    """
    most = int(cache * TIMINGS.filters_l2_share)
    again = TIMINGS.reused_filter_share if filter_bytes <= most else 1.0
    filters = filter_bytes * (1 + (blocks - 1) * again)
    used = tiles * tile_bytes + min(filter_bytes, most)
    spilled = max(0, used - cache) * blocks * TIMINGS.block_far_accesses
    return (filters + spilled) * (1 + TIMINGS.block_code_share * (kinds - 1))


# algorithms of convolution, in floating-point operations at full speed


@dataclass(frozen=True)
class Filters:
    """The memory that filters of convolutions come from; each of several images meets all."""

    machine: MachineDescription
    stay: bool = False
    """Whether all constants of the program stay in the last cache from call to call."""

    def with_reading(self, flops: float, images: int, filter_bytes: int) -> float:
        """
        Returns the time of so much arithmetic, while the filters are read. They are prefetched, so
        the longer one of the two hides most of the other. Images after the first one find filters
        in the cache that these fit into.
        """
        first = TIMINGS.l3_flops_per_byte if self.stay else TIMINGS.flops_per_byte
        again = first
        if filter_bytes <= self.machine.l2_bytes * TIMINGS.filters_l2_share:
            again = first * TIMINGS.reused_filter_share
        elif filter_bytes <= self.machine.l3_bytes * TIMINGS.constants_l3_share:
            again = TIMINGS.l3_flops_per_byte
        reading = filter_bytes * (first + (images - 1) * again)
        return max(flops, reading) + TIMINGS.filter_overlap * min(flops, reading)


def direct_convolution(images: int, weights: int, pixels: int, filters: Filters) -> float:
    """
    Returns the cycles of convolution by definition: each of `images` images meets all weights, in
    `pixels` places, before the next one does.
    """
    return filters.with_reading(2.0 * images * weights * pixels, images, 4 * weights)


def lane_sum_convolution(pixels: int, lanes: int, outputs: int, vectors: int) -> float:
    """
    Returns the time of a convolution whose vectors are input channels, in the unit of
    `direct_convolution`: for a pixel, so many vectors meet each output, and their lanes are added.
    """
    step, addition = TIMINGS.lane_sum_step_operations, TIMINGS.lane_sum_operations
    return 2.0 * lanes * pixels * outputs * (vectors * step + addition)


def unpacked_convolution(
    pixels: int, lanes: int, outputs: int, vectors: float, moved: float
) -> float:
    """
    Returns the same for vectors of pixels: so many vectors a pixel meet each output. Before that,
    `moved` vectors a pixel are unpacked or get a border.
    """
    products = outputs * vectors * TIMINGS.lane_sum_step_operations
    return 2.0 * lanes * pixels * (products + moved * TIMINGS.moved_vector_operations)


def copies(size: int) -> float:
    """Returns the time of copying so many bytes near the core, in the same unit."""
    return 2 * size * TIMINGS.l3_flops_per_byte


def winograd_convolution(
    images: int,
    points: int,
    elements: int,
    inputs: int,
    outputs: int,
    filters: Filters,
    group: int = 1,
) -> float:
    """
    Returns the cycles of Winograd convolution of `inputs` to `outputs` channels, both divided into
    `group` groups, where transformed tiles have `elements` elements, and all of them together
    `points`.
    """
    arithmetic = _winograd_arithmetic(points, inputs, outputs, group)
    return filters.with_reading(arithmetic, images, 4 * elements * inputs * outputs // group)


def direct_convolution_of_bytes(images: int, weights: int, pixels: int) -> float:
    """Returns the same as `direct_convolution` for products of bytes that are widened to words."""
    return images * weights * (2 * pixels + TIMINGS.words_flops_per_byte)


def winograd_of_bytes(
    images: int, points: int, elements: int, inputs: int, outputs: int, group: int
) -> float:
    """Returns the same as `winograd_convolution` for transforms that are words of 16 bits."""
    filters = images * 2 * elements * inputs * outputs // group
    rest = _winograd_arithmetic(points, inputs, outputs, group)
    return rest + filters * TIMINGS.words_flops_per_byte


def winograd_in_parts(
    images: int,
    points: int,
    elements: int,
    inputs: int,
    outputs: int,
    part_bytes: int,
    l2_bytes: int,
) -> float:
    """
    Returns the same with products of parts of numbers, whose parts have `part_bytes` bytes
    together.
    """
    t, channels = TIMINGS, inputs * outputs
    block = t.near_block_tiles * (part_bytes * inputs + 4 * outputs)
    is_near = elements * (block + part_bytes * channels) <= t.resident_l2_share * l2_bytes
    further = t.parts_near_flops if is_near else t.parts_far_flops
    products = 2 * points * channels / t.winograd_product_speed
    transforms = _winograd_transforms(points, inputs, outputs)
    transforms += points * (inputs + outputs) * further
    reading = images * part_bytes * elements * channels * t.parts_flops_per_byte
    return t.parts_start_flops + products / t.parts_speed + transforms + reading


def _winograd_arithmetic(points: int, inputs: int, outputs: int, group: int) -> float:
    """Returns the cycles of products and transforms, as if filters were near."""
    products = 2 * points * inputs * outputs / group / TIMINGS.winograd_product_speed
    return products + _winograd_transforms(points, inputs, outputs)


def _winograd_transforms(points: int, inputs: int, outputs: int) -> float:
    t = TIMINGS
    return points * (t.winograd_input_flops * inputs + t.winograd_output_flops * outputs)
