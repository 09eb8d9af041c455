"""
Measurements of processors: the numbers that cost models compute with.

The facts that differ between machines are in `machine.py`, which imports no xDSL either. These
numbers are about the same on all machines, or choices hardly depend on them. They were measured on
processors with AVX2 and AVX-512, those of tile registers on a Sapphire Rapids.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timings:
    """
    Measured numbers. Cycles are those of a core; an operation is one instruction on vectors; a
    share of a cache is the part that can be expected to stay while other data passes through."""

    # a core

    fma_latency: int = 4
    """Cycles until the result of a multiplication and addition can be added to."""
    vector_units: int = 2
    """Vector operations that a core starts in a cycle."""
    loads_per_cycle: int = 2
    """Vectors that a core loads in a cycle from the first cache."""
    line_loads_per_cycle: float = 1.0
    """The same of whole lines, and of elements that fill one: an Ice Lake loads 1.1."""
    elementary_operations: int = 25
    """Operations of exp, log, tanh and other elementary functions, as they are expanded."""
    product_efficiency: float = 0.8
    """Speed of the products of a whole network, as a part of the peak."""
    usual_clock: float = 2.5e9
    """Cycles per second, where the system does not tell."""
    flops_per_byte: float = 10.0
    """Floating-point operations of a core in the time in which it reads a byte from memory: 4 on a
    quiet desktop, 20 where many cores share the memory."""

    # caches

    near_l2_share: float = 3 / 8
    """The part of the L2 cache that stays while other data streams through it."""
    resident_l2_share: float = 0.8
    """Part of the second cache that blocks and filters may fill that are to stay there."""
    cached_l3_share: float = 1 / 4
    """The part of the last cache, which cores share, above which an array comes from memory."""
    filters_l2_share: float = 1 / 2
    """The part of the L2 cache in which filters stay from one Winograd block to the next."""
    chunk_l1_share: float = 0.7
    """Part of the first cache that the filters of a chunk of a reduction may fill."""
    prefetch_bytes: int = 4096
    """The distance in bytes at which filters of register tiles and weights that some rows meet are
    prefetched. With half of it, an encoder of 2 to 6 words takes 1.1 times as long on a Zen 4."""
    stream_prefetch_bytes: int = 2048
    """The same for what is read once, as weights that one row meets, of all streams together: a few
    lines more than a core waits for. With four times as much, a Zen 4 read a fifth less."""
    prefetched_l2_share: float = 1 / 16
    """Arrays that are larger than this part of the second cache are prefetched."""
    amx_prefetched_bytes: int = 1 << 17
    """Filters that are larger are prefetched in loops of tile registers."""
    amx_filters_l2_share: float = 1 / 4
    """Part of the second cache in which a filter stays that each group of pixels reads again."""
    amx_image_l2_share: float = 1 / 2
    """Part of the second cache that pixels have while they meet a larger filter."""

    # loads and stores that are not contiguous, in operations for each vector

    shuffled_load: float = 3.0
    """A vector of every second element, or in reverse order."""
    strided_load: float = 2.0
    """A vector of every third or fourth element, for each unit of the stride."""
    far_lane: float = 5.0
    """Each lane of a vector whose elements are further apart, often in a line of its own each."""
    gathered_lane: float = 1.5
    """Each lane of a vector whose elements indices in memory place."""
    chosen_index: float = 6.0
    """Loading a vector of indices, or one index, and keeping them within bounds."""
    byte_through_memory: float = 0.25
    """Writing a byte and reading it again in a nest of its own, rather than in a body."""
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
    """Cycles of a multiplication and addition in loops that keep a single vector unit busy."""
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
    """A vector of a filter from the second cache in a step, besides its load."""
    near_filter_cycles: float = 0.3
    """The same of one that stays in the first cache."""
    far_pixel_cycles: float = 0.35
    """Broadcasting a pixel that is not in the second cache, besides its load."""
    prefetched_pixel_share: float = 0.1
    """The part of these cycles that remains where the tile before prefetches the pixel."""
    l2_bytes_per_cycle: float = 14.5
    """Bytes that tiles load from L2 in a cycle: 14 on a Zen 3, 18 on an Ice Lake."""
    tile_cycles: float = 16.0
    """Starting and finishing a tile, besides its stores."""
    tile_result_cycles: float = 2.0
    """Storing a vector of results."""
    tile_variant_share: float = 0.002
    """The share that the code of a further size of tiles adds to the time of a nest."""
    quad_operations: float = 6.0
    """Putting four neighbouring pixels together for each lane, besides loads."""
    gathered_tile_operations: float = 4.0
    """Starting and finishing a tile of such products."""

    rounded_vector_cycles: float = 5.0
    """Rounding a vector of a factor to bf16, and storing it in the pairs of a product, beyond what
    a product in f32 does with it."""
    patch_vector_cycles: float = 12.0
    """Writing a vector of the patches of a convolution to memory."""
    plain_convolution_speed: float = 0.75
    """Speed of a convolution of plain tensors, relative to the peak: 0.7 to 0.85 where vectors are
    parts of rows, half of that where rows are shorter than a vector."""
    product_cycles: int = 500
    """Starting and finishing a product of matrices, besides its tiles."""
    least_merged_share: float = 0.01
    """The share of the time of products from which making them one product pays."""

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
    """Part of much work that threads wait for one that was interrupted or came late, if the work
    is in too few units to leave an end of each part to whichever thread is ready."""
    least_drawn_cycles: int = 20000
    """With less work than this, each thread does a part that is fixed beforehand."""
    part_cycles: int = 2048
    """Work of a part of a sum that repays a barrier and combining the parts."""
    part_terms: int = 256
    """The number of terms of a part of a sum for which storing it costs little."""

    # Winograd convolution: when it is chosen, in floating-point operations at full speed

    l3_flops_per_byte: float = 4.0
    """The same as `flops_per_byte` for filters in the last cache: on a Zen 4, whose core makes 117
    GFLOP/s, it gives 30 to 35 GB/s."""
    constants_l3_share: float = 1 / 2
    """The part of the last cache in which constants stay from call to call."""
    filter_overlap: float = 0.25
    """Part of the shorter of arithmetic and reading of filters that the longer does not hide."""

    winograd_product_speed: float = 0.93
    """Speed of products of transformed tiles, relative to direct convolution."""
    winograd_input_flops: float = 18.0
    """Transforming an element of the input, of a transformed tile."""
    winograd_output_flops: float = 9.0
    """Transforming an element of the products."""
    parts_speed: float = 2.0
    """Speed of products of three bf16 parts in tile registers, relative to those in f32."""
    parts_flops_per_byte: float = 15.0
    """The same as `flops_per_byte` for such products, which leave memory less time."""
    words_flops_per_byte: float = 8.0
    """The same for products of words, whose few filters are prefetched meanwhile."""
    parts_near_flops: float = 15.0
    """Further work for an element that is divided into parts, or of its products, where a block of
    tiles and all filters stay in the second cache."""
    parts_far_flops: float = 120.0
    """The same where they do not stay there."""
    parts_start_flops: float = 2e7
    """Work until tile registers are as fast as they can be."""

    # Winograd convolution: blocks of tiles

    block_far_accesses: float = 4.0
    """The number of accesses beyond the L2 cache to a byte of a block that does not fit into it."""
    reused_filter_share: float = 0.1
    """The cost of reading a byte of filters that stayed in the cache, relative to other ones."""
    block_code_share: float = 0.5
    """The share that a further kind of block adds to the cost, because its code is separate."""
    even_block_bytes: int = 1 << 26
    """Bytes of filters that are read for all tiles, below which threads lose more by waiting for
    each other between the steps of a block than by blocks that do not come out even."""
    near_block_tiles: int = 28
    """Tiles of a block that stays in the second cache, as the choice of the algorithm assumes."""

    # sorting

    least_sorted_rows: int = 4
    """Rows that repay sorting them together, a row in each lane."""

    # decision trees

    walked_rows: int = 64
    """Rows that walk through a decision tree before the next one: they repay its way into L1."""
    walks_together: int = 64
    """Walks that take a step before any of them takes the next one, so that none waits."""

    # limits of schedules: what fits, and from where on something repays what it costs

    least_transposed: int = 4
    """Lanes of a square that is transposed in registers; smaller ones are as fast elementwise."""
    most_transposed: int = 16
    """The same; larger ones do not fit into registers."""
    most_paired_waste: float = 1.1
    """The work of a long body on pairs of vectors, relative to single ones, that pairs repay."""
    most_tile: int = 8
    """Elements of a loop in a register tile of a reduction; more hide no more latency."""
    most_chosen_tile: int = 16
    """The same for vectors of rows that indices name: a large tile finds each row fewer times."""
    chosen_step: float = 4.0
    """Cycles to find the row that an index names, and to prefetch a later one."""
    most_kept_share: float = 3 / 4
    """The part of the vector registers that arrays on the stack may fill to be kept there."""
    most_emitted: int = 240
    """Operations that the points of a register tile emit, loads aside: more code is not faster."""
    most_unrolled_products: int = 96
    """Products of vectors in steps of a loop that are written out: 8 steps took 0.98 of the time of
    one on a quiet core of a Zen 3, 0.88 beside a neighbour."""
    least_unrolled_sums: int = 4
    """Sums of a register tile from which on such steps pay off."""
    least_unrolled_steps: int = 4
    """The fewest such steps, if the loop has more: fewer save little."""
    least_unrolled_work: int = 1 << 15
    """The same for products of vectors of a nest: about 5 us, which take longer to compile."""
    least_unrolled_part: float = 1 / 4
    """The part of a loop over tiles from which on code of its own has such steps."""
    least_row_lanes: int = 4
    """Results that become lanes of a vector; fewer are stored one by one."""
    most_listed_tiles: int = 10
    """Tiles of a list of pixels, each of which has its own code."""
    least_chunk_tiles: int = 3
    """Tiles of pixels that meet the same filters and are worth chunks of the reduction."""
    least_chunk_steps: int = 64
    """Steps of a chunk; before and after it, sums are loaded and stored."""
    most_gathered_pixels: tuple[int, int] = (4, 6)
    """Rows and columns of outputs of a tile of gathered products."""
    least_amx_quads: int = 4
    """Depth of an AMX tile; with less, vectors are as fast, unless there is no more."""
    least_pixel_filters: int = 4
    """Elements of filters of a tile of blocks, for each pixel that meets them, that repay
    prefetching those of the next tile. Where they are fewer, the pixels that wait for them are few
    among all."""
    chosen_row_bytes: int = 512
    """The distance by which rows that a list chooses are prefetched."""

    # pieces of work: rows and columns that are taken together

    latency_rows: int = 4
    """Rows whose reductions hide each other's latency."""
    queries: int = 48
    """Positions of a query that meet a block of keys: a multiple of tiles of 4, 6, 8 or 12."""
    few_queries: int = 8
    """The same for keys as they are, all at once."""
    compared_vectors: int = 64
    """Vectors of candidates that non-maximum suppression may compare with a chosen box for each
    overlapping candidate that it looked at in vain. Looking takes the time of 8 on a Zen 4, but
    those that come overlap as often: of 8, 16, 32 and 64, the last is fastest for crowded boxes."""
    least_part_points: int = 256
    """Points of a step of a loop whose padded copies have what this step reads."""
    least_vector_of_ranges: int = 8
    """Values of a loop along which vectors lie, for which a reduction has a loop with bounds."""
    long_vector_loop: int = 32
    """Values of a loop along which vectors are about as fast as along any longer one."""
    least_scalar_ranges: int = 64
    """Ranges from which on a loop without vectors is faster than conditions on all elements."""
    least_vector_channels: float = 0.25
    """Channels, in vectors, of which points of images are read together."""
    copied_reads: int = 8
    """Elements that are copied in the time in which one is read whose channels are apart."""
    least_packed_queries: int = 12
    """Positions of a query that repay packing keys and values into panels."""
    masked_keys: int = 96
    """The most keys of a block that a mask may hide: twice the positions that meet them."""
    least_packed_steps: int = 16
    """Steps of a recurrent layer that repay packing its weights into panels."""
    rows_ahead: int = 64
    """Steps before which rows that indices name are prefetched, at most; at least an eighth."""
    narrow_panel_vectors: int = 1
    """Vectors of a panel of weights of a few bits."""
    most_words_together: int = 4
    """Words of a block of such weights that a step of integers unpacks; of floats, one does."""
    least_unpacked_rows: int = 24
    """Rows of a product that repay unpacking weights of a few bits to memory."""
    least_transposed_rows: int = 16
    """Rows of a product that repay transposing a factor that is stored transposed."""
    most_transposed_terms: int = 256
    """Terms of a sum for which that holds; more repay adding the lanes of vectors."""
    least_packed_rows: int = 12
    """Rows of a product that repay copying a matrix that is not constant to panels."""
    least_far_packed_rows: int = 4
    """The same for a matrix that comes from memory, whose rows are copied in longer pieces."""
    least_turned_packed_rows: int = 24
    """The same for a matrix that is stored transposed, which fewer rows read as it is."""
    least_grouped_rows: int = 4
    """Rows of a product of integers that repay copying a matrix to groups of terms."""
    most_summed_columns: int = 4
    """Columns of a product of several rows that are sums of vectors along terms, if they fill no
    vector. On a Zen 4, 256 rows of 768 terms take 28 us for 4 columns, 67 for 5 (vectors: 60)."""
    least_whole_vector_rows: int = 8
    """Rows of a product that repay a copy of a matrix whose columns fill a part of a vector."""
    lane_sum_step_operations: float = 1.2
    """A product of vectors of a convolution to few channels, beside one of a register tile."""
    lane_sum_operations: float = 6.0
    """Adding the lanes of its result: on a Zen 4, 6 to 8 (up to 15 for many results)."""
    moved_vector_operations: float = 7.0
    """Moving a vector of an image to another layout or into a border: 6 to 8 on a Zen 4."""
    most_patch_bytes: int = 1 << 26
    """Bytes of patches that a convolution may have."""
    least_spared_lanes: float = 1 / 8
    """The share of the lanes of input channels, which no channel fills, that repays blocks of a
    size other than that of a vector."""
    least_packed_window: int = 16
    """Elements of a depthwise window that repays packing its input, and unpacking its result."""
    least_packed_integer_window: int = 9
    """The same of integers, of which smaller windows were not measured."""
    least_pooled_window: int = 9
    """The same for the window of a pool whose input fits into the second cache."""
    float_maximum: float = 3.0
    """Operations of a maximum of floats that is NaN if one of them is."""
    pool_pass: float = 3.0
    """Operations in the time in which a pool loads and stores a vector once more."""
    most_inline_weight: int = 12
    """Operations of a body that runs on accumulators in registers. For more, a tile would have to
    have few accumulators, so the body runs on results that are still in the nearest cache."""
    finished_rows: int = 48
    """Rows that a heavier body has at a time."""
    row_granule: int = 24
    """Blocks of rows are multiples of it, which register tiles of 4, 6, 8 and 12 rows divide."""
    factor_l2_part: int = 8
    """The bytes of the second cache for each element of a factor that stays there while panels of
    the other come and go."""
    page_bytes: int = 4096
    """Arrays whose distance is near a multiple of it compete for the same lines of a cache."""
    added_rows: int = 8
    """Rows of a list that are added at a time: a sum is loaded and stored once for all of them."""
    least_thread_columns: int = 64
    """Columns of a thread; shorter parts of rows are read slowly."""
    list_parts: int = 2
    """Parts of a list, each with sums of its own: whole rows are read faster than parts of all."""
    least_list_rows: int = 1024
    """Rows of a part of a list."""
    units: int = 32
    """Pieces of work of a reduction that is cut, so that threads have about equally much."""
    few_units: int = 8
    """Register tiles of a nest below which its reduction is cut."""
    least_row_steps: int = 8
    """Steps of a sum over rows that are taken together, to repay combining them."""
    part_granule: int = 64
    """Parts of much more than so many terms begin at multiples of it, as cache lines do."""
    balanced_share: float = 0.85
    """The average share of busy threads from which dividing whole iterations of a loop pays."""
    least_piece: int = 1024
    """Bytes that a thread writes in a row where another one writes those behind them."""
    least_piece_operations: int = 8192
    """Terms and elements that a thread computes for such a piece, though it be shorter."""
    large_portion_share: float = 0.5
    """The share of its part of the work that each thread does in one portion."""
    small_portions: int = 8
    """Portions into which the rest of each part is cut, for any thread to take."""
    block_l2_caches: int = 4
    """How many second caches a Winograd block fills at most, if blocks can be smaller."""
    least_shared_tiles: int = 14
    """Tiles of Winograd blocks that threads take in turns; products of fewer are slow."""
    least_shared_share: float = 0.75
    """The least share of an image that such blocks cover."""

    @property
    def independent_sums(self) -> int:
        """The number of simultaneous sums that hide the latency of additions."""
        return self.fma_latency * self.vector_units


TIMINGS = Timings()
"""The measured numbers."""
