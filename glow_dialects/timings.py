"""
What was measured of processors: the numbers that cost models compute with.

The facts that differ between machines are in `machine.py`. These numbers are about the same on all
of them, or what is chosen hardly depends on them. They were measured on processors with AVX2 and
AVX-512, those of tile registers on a Sapphire Rapids. As in `machine.py`, nothing imports xDSL.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timings:
    """
    Measured numbers. Cycles are those of a core; an operation is one instruction on vectors; a
    share of a cache is what of it can be expected to stay while other data passes through.
    """

    # a core

    fma_latency: int = 4
    """Cycles until the result of a multiplication and addition can be added to."""
    vector_units: int = 2
    """Vector operations that a core starts in a cycle."""
    loads_per_cycle: int = 2
    """Vectors that a core loads in a cycle from the first cache."""
    elementary_operations: int = 25
    """Operations of exp, log, tanh and other elementary functions, as they are expanded."""
    product_efficiency: float = 0.8
    """Speed of the products of a whole network, as a part of the peak."""
    usual_clock: float = 2.5e9
    """Cycles per second, where the system does not tell."""
    flops_per_byte: float = 10.0
    """
    Floating-point operations of a core in the time in which it reads a byte from memory: 4 on a
    quiet desktop, 20 where many cores share the memory.
    """

    # caches

    near_l2_share: float = 3 / 8
    """Part of the second cache that stays beside what else streams through it."""
    resident_l2_share: float = 0.8
    """Part of the second cache that blocks and filters may fill that are to stay there."""
    filters_l2_share: float = 1 / 2
    """Part of the second cache in which filters stay near from one Winograd block to the next."""
    chunk_l1_share: float = 0.7
    """Part of the first cache that the filters of a chunk of a reduction may fill."""
    prefetch_bytes: int = 4096
    """How far ahead arrays that are read from front to back are prefetched."""
    prefetched_l2_share: float = 1 / 16
    """Arrays that are larger than this part of the second cache are prefetched."""
    amx_prefetched_bytes: int = 1 << 17
    """Filters that are larger are prefetched in loops of tile registers."""
    amx_filters_l2_share: float = 1 / 4
    """
    Part of the second cache in which a filter stays that tile registers read again for each group
    of pixels.
    """
    amx_image_l2_share: float = 1 / 2
    """Part of the second cache that pixels have while they meet a larger filter."""

    # loads and stores that are not contiguous, in operations for each vector

    shuffled_load: float = 3.0
    """A vector of every second element, or in reverse order."""
    strided_load: float = 2.0
    """A vector of every third or fourth element, for each unit of the stride."""
    gathered_lane: float = 1.5
    """Each lane of a vector whose elements are loaded one by one."""
    stored_lane: float = 2.0
    """Each lane of a vector whose elements are stored one by one."""
    converted_load: float = 0.5
    """A vector of 16-bit floats, besides the load."""
    lane_sum: float = 2.0
    """Each of the halvings that add the lanes of a vector."""
    rows_sum: float = 4.0
    """The same for a vector of several rows, whose sums become lanes."""

    # steps of reductions in general

    reduction_fma_cycles: float = 1.0
    """
    Cycles of a multiplication and addition. Loops that are not register tiles of products do not
    keep several vector units busy.
    """
    reduction_overlap: float = 0.25
    """Part of the shorter of arithmetic and loads that the longer does not hide."""
    reduction_step_cycles: float = 2.0
    """Loop control and addresses of a step that nothing hides."""

    # register tiles of products

    tile_step_cycles: float = 0.5
    """Counting and addresses of a step."""
    tile_load_overlap: float = 0.15
    """Part of the cycles of loads that arithmetic does not hide."""
    tile_broadcast_overlap: float = 0.5
    """The same where a broadcast is an instruction of its own (`broadcasts_operands`)."""
    tile_filter_cycles: float = 0.5
    """A vector of a filter in a step, besides its load."""
    far_pixel_cycles: float = 0.35
    """Broadcasting a pixel that is not in the second cache, besides its load."""
    tile_cycles: float = 16.0
    """Starting and finishing a tile, besides its stores."""
    tile_result_cycles: float = 2.0
    """Storing a vector of results."""
    tile_variant_share: float = 0.002
    """What code of a further size of tiles adds to the time of a nest."""
    quad_operations: float = 6.0
    """Putting four neighbouring pixels together for each lane, besides loads."""
    gathered_tile_operations: float = 4.0
    """Starting and finishing a tile of such products."""

    # tile registers

    amx_least_product_cycles: float = 9.5
    """A product of few rows; of more, a row takes one cycle."""
    amx_load_overlap: float = 0.5
    """Part of the cycles of loads that products do not hide."""
    amx_group_cycles: int = 60
    """Starting and finishing the accumulators of a group."""

    # threads

    least_shared_cycles: int = 2000
    """Less work takes one thread no longer than it takes several to share it."""
    least_shared_amx_steps: int = 32
    """The same for tile registers, in steps."""
    unit_cycles: int = 8
    """Finding the place of a unit of work in each further loop."""
    interruption_share: float = 0.03
    """
    Part of much work that threads wait for one that was interrupted or came late, if the work is
    in too few units to leave an end of each part to whichever thread is ready.
    """
    least_drawn_cycles: int = 20000
    """Of less work, each thread does a part that is known beforehand."""
    part_cycles: int = 2048
    """Work of a part of a sum that repays a barrier and combining the parts."""
    part_terms: int = 256
    """Terms of a part of a sum, beside which storing it counts little."""

    # Winograd convolution: when it is chosen, in floating-point operations at full speed

    winograd_product_speed: float = 0.93
    """Speed of products of transformed tiles, relative to direct convolution."""
    winograd_input_flops: float = 18.0
    """Transforming an element of the input, of a transformed tile."""
    winograd_output_flops: float = 9.0
    """Transforming an element of the products."""
    parts_speed: float = 2.0
    """Speed of products of three bf16 parts in tile registers, relative to those in f32."""
    parts_flops_per_byte: float = 15.0
    """The same as `flops_per_byte` beside such products, which leave memory less time."""
    parts_near_flops: float = 15.0
    """
    Further work for an element that is divided into parts, or of its products, where a block of
    tiles and all filters stay in the second cache.
    """
    parts_far_flops: float = 120.0
    """The same where they do not stay there."""
    parts_start_flops: float = 2e7
    """Work until tile registers are as fast as they can be."""

    # Winograd convolution: blocks of tiles

    block_far_accesses: float = 4.0
    """How often a byte of a block that the second cache does not hold comes from or goes beyond."""
    reused_filter_share: float = 0.1
    """Cost of reading a byte of filters that stayed near, relative to one that did not."""
    block_code_share: float = 0.5
    """What a further kind of block adds to the cost, because its code is separate."""
    even_block_bytes: int = 1 << 26
    """
    Bytes of filters that are read for all tiles, below which threads lose more by waiting for each
    other between the steps of a block than by blocks that do not come out even.
    """
    near_block_tiles: int = 28
    """Tiles of a block that stays in the second cache, as the choice of the algorithm assumes."""

    @property
    def independent_sums(self) -> int:
        """How many sums at once hide the latency of additions."""
        return self.fma_latency * self.vector_units


TIMINGS = Timings()
"""What was measured."""
