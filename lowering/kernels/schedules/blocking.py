"""
Sizes of blocks of work: rows that stay in a cache from one pass over them to the next, rows whose
reductions hide each other's latency, and copies that pay off.

Algorithms ask these questions while they divide their work into nests. The answers depend on sizes
and on the machine, not on the operator.
"""

from __future__ import annotations

from ....glow_dialects.costs import cached_bytes, near_bytes
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.machine import LINE_BYTES, MachineDescription
from ....glow_dialects.timings import TIMINGS


def in_equal_blocks(count: int, most: int, granule: int = 1) -> int:
    """
    Returns the size of blocks of at most `most` of `count` elements that are about equal. If there
    are several blocks, it is a multiple of the granule.
    """
    blocks = -(-count // most)
    return count if blocks <= 1 else -(-count // (blocks * granule)) * granule


def rows_together(rows: int) -> int:
    """
    Returns how many of `rows` rows are visited at a time by algorithms that make several passes.
    """
    return max(1, min(TIMINGS.latency_rows, rows))


# sorting


def rows_sorted_together(
    machine: MachineDescription, threads: int, rows: int, row_bytes: int
) -> int:
    """
    Returns how many of `rows` rows of `row_bytes` are sorted at a time, a row in each lane of
    vectors: as many as take half of the first cache, but at least a vector of them. A few rows are
    sorted one after the other.
    """
    lanes, each = machine.vector_bits // 64, -(-rows // threads)
    if each < TIMINGS.least_sorted_rows:
        return 1
    most = max(lanes, machine.l1_bytes // 2 // row_bytes)
    return in_equal_blocks(each, most, lanes)


def repays_selection(machine: MachineDescription, rows: int, row_bytes: int) -> bool:
    """
    Returns whether looking for the elements that may be among the largest ones of a row pays off
    before they are sorted. It does not where a vector of rows stays in the first cache.
    """
    lanes = machine.vector_bits // 64
    return rows < TIMINGS.least_sorted_rows or lanes * row_bytes > machine.l1_bytes // 2


# decision trees


def rows_walked_together(rows: int, threads: int) -> int:
    """Returns how many of `rows` rows walk through a tree before the next tree."""
    return max(1, min(TIMINGS.walked_rows, rows // threads))


def trees_walked_together(rows: int) -> int:
    """Returns through how many trees `rows` rows walk step by step."""
    return max(1, TIMINGS.walks_together // rows)


# boxes


def candidates_compared(lanes: int) -> int:
    """Returns how many candidates may be compared with a box for one looked at in vain."""
    return TIMINGS.compared_vectors * lanes


# formulas


def repays_part(inside: int) -> bool:
    """
    Returns whether a step of a loop, of `inside` points, repays a padded copy of its own instead of
    one of a whole operand.
    """
    return inside >= TIMINGS.least_part_points


def stays_near(size: int, machine: MachineDescription) -> bool:
    """Returns whether so many bytes that nests pass on stay in the second cache."""
    return size <= near_bytes(machine)


def repays_range(along: int, ranges: int) -> bool:
    """
    Returns whether a reduction repays a loop with bounds in memory instead of conditions: if
    vectors lie along another loop of `along` values, or if there are so many ranges that looking at
    all elements for each of them takes longer than one element after the other.
    """
    return along >= TIMINGS.least_vector_of_ranges or ranges >= TIMINGS.least_scalar_ranges


# samples of images


def repays_channels_last(lanes: int, channels: int, elements: int, reads: int) -> bool:
    """
    Returns whether `reads` reads of images with `elements` elements in each channel repay a copy in
    which the channels of an element lie together.
    """
    enough = TIMINGS.least_vector_channels * lanes
    return channels >= enough and TIMINGS.copied_reads * reads >= elements


def points_together(machine: MachineDescription, point_bytes: int) -> int:
    """Returns how many points are computed before their channels are put apart."""
    return max(1, machine.l1_bytes // 2 // point_bytes)


# attention


def queries_together(rows: int) -> int:
    """Returns how many of `rows` positions of a query meet a block of keys at a time."""
    if not repays_packed_keys(rows):
        return min(TIMINGS.few_queries, rows)
    return rows if rows < 2 * TIMINGS.queries else TIMINGS.queries


def repays_packed_keys(rows: int) -> bool:
    """
    Returns whether packing the keys and the values of a head first pays off for `rows` positions of
    a query.
    """
    return rows >= TIMINGS.least_packed_queries


def hides_blocks(keys: int) -> bool:
    """Returns whether it pays to ask a mask of so many keys which blocks of them it hides."""
    return keys > 2 * TIMINGS.masked_keys


def keys_together(
    machine: MachineDescription, keys: int, row_bytes: int, width: int, is_masked: bool
) -> int:
    """
    Returns how many of `keys` keys are a block, in panels of `width` keys: the part of a panel of
    their values, with rows of `row_bytes`, takes half of the first cache. Many masked keys have
    smaller blocks, which are hidden more often. Blocks are about equal.
    """
    most = machine.l1_bytes // 2 // row_bytes
    if is_masked and hides_blocks(keys):
        most = min(most, TIMINGS.masked_keys)
    return in_equal_blocks(keys, max(width, most), width)


def masked_keys_together(keys: int) -> int:
    """Returns how many of many masked keys are a block that a few rows of a query may leave out."""
    return in_equal_blocks(keys, TIMINGS.masked_keys)


def balanced_panel(machine: MachineDescription, lanes: int, columns: int) -> int:
    """
    Returns the width of panels of about equal width, whole vectors of `lanes` elements, that hold
    the columns of a factor of a product.
    """
    vectors = max(1, -(-columns // lanes))
    return in_equal_blocks(vectors, machine.panel_vectors) * lanes


# matrix products


def repays_transposing(rows: int, terms: int) -> bool:
    """
    Returns whether products of `rows` rows of `terms` terms repay transposing a factor that is
    stored transposed.
    """
    return rows >= TIMINGS.least_transposed_rows and terms < TIMINGS.most_transposed_terms


def repays_packing(
    machine: MachineDescription, rows: int, matrix_bytes: int, is_transposed: bool
) -> bool:
    """
    Returns whether products of `rows` rows with a matrix repay copying the matrix to panels. From
    its rows, a tile would read as many pages as it has rows.
    """
    least = TIMINGS.least_packed_rows
    if is_transposed:
        least = TIMINGS.least_turned_packed_rows
    elif matrix_bytes > cached_bytes(machine):
        least = TIMINGS.least_far_packed_rows
    return rows >= least and matrix_bytes > machine.l1_bytes


def repays_grouping(rows: int) -> bool:
    """Returns whether products of `rows` rows repay copying a matrix of integers to groups."""
    return rows >= TIMINGS.least_grouped_rows


def words_together(words: int) -> int:
    """Returns how many words of a block of weights a step of a reduction unpacks."""
    return max(n for n in range(1, TIMINGS.most_words_together + 1) if words % n == 0)


def rows_of_panels(machine: MachineDescription, rows: int, terms: int) -> int:
    """
    Returns how many of `rows` rows meet a panel before the next one, in blocks of about the same
    size. The panel is read once for all of them.
    """
    most = max(TIMINGS.finished_rows, machine.l2_bytes // TIMINGS.factor_l2_part // terms)
    return max(1, in_equal_blocks(rows, most, TIMINGS.row_granule))


def panels_packed_together(machine: MachineDescription, panels: int, panel_bytes: int) -> int:
    """
    Returns how many panels are packed before rows meet them, in blocks of about the same size:
    those that stay in the second cache meanwhile, and at least as many as a register tile has.
    """
    near = int(TIMINGS.resident_l2_share * machine.l2_bytes)
    most = max(machine.panel_vectors, near // panel_bytes)
    return max(1, in_equal_blocks(panels, most))


def terms_packed_together(machine: MachineDescription) -> int:
    """
    Returns how many rows of a matrix are copied to panels together. Their lines stay in the nearest
    cache until all panels have their columns, although they may compete for the same places.
    """
    return _ways(machine)


def finishes_apart(body: Body | None) -> bool:
    """
    Returns whether a body on sums of products has so many operations that it gets a nest of its
    own.
    """
    return body is not None and body.weight > TIMINGS.most_inline_weight


def fills_part(lanes: int, rows: int, columns: int) -> bool:
    """
    Returns whether the columns of a product fill a part of a vector that repays computing whole
    vectors. Few of them are sums along terms instead.
    """
    is_part = TIMINGS.most_summed_columns < columns < lanes
    return is_part and rows >= TIMINGS.least_whole_vector_rows


def rows_finished_together() -> int:
    """Returns how many rows of sums are computed before a nest of its own finishes them."""
    return TIMINGS.finished_rows


# recurrent layers


def repays_packed_weights(steps: int) -> bool:
    """Returns whether so many steps of a recurrent layer repay packing its weights into panels."""
    return steps >= TIMINGS.least_packed_steps


# convolution


def rows_packed_together(
    machine: MachineDescription,
    planes: int,
    plane_bytes: int,
    rows: int,
    row_bytes: int,
    is_strided: bool,
) -> int | None:
    """
    Returns how many rows of pixels, of `row_bytes` in each plane, are packed at a time, so that all
    filters meet them in a near cache: where the image is far, and its lines are read in part
    (`is_strided`), or its planes compete for the same lines of the nearest cache, because their
    distance is a multiple of a page. Returns None where that does not pay off.
    """
    compete = lines_compete(machine, planes, plane_bytes)
    if not (is_strided or compete) or planes * plane_bytes <= near_bytes(machine):
        return None
    return in_equal_blocks(rows, _near_rows(machine, planes, row_bytes))


def rows_widened_together(
    machine: MachineDescription, planes: int, rows: int, row_bytes: int
) -> int:
    """
    Returns how many rows of pixels, of `row_bytes` in each plane, are converted at a time, so that
    all filters meet them in a near cache.
    """
    most = _near_rows(machine, planes, row_bytes)
    return in_equal_blocks(rows, most, TIMINGS.row_granule if most >= TIMINGS.row_granule else 1)


def _near_rows(machine: MachineDescription, planes: int, row_bytes: int) -> int:
    """Returns how many rows, of `row_bytes` in each plane, stay in a near cache."""
    return max(1, near_bytes(machine) // (planes * row_bytes))


def lines_compete(machine: MachineDescription, lines: int, distance: int) -> bool:
    """
    Returns whether lines of the same distance in bytes compete for the same places of the nearest
    cache, because the distance is a multiple of a page and there are more of them than ways.
    """
    return lines > _ways(machine) and distance % TIMINGS.page_bytes < LINE_BYTES


def _ways(machine: MachineDescription) -> int:
    """Returns how many lines of the nearest cache may have the same place."""
    return max(1, machine.l1_bytes // TIMINGS.page_bytes)


def plane_stride(elements: int, element_bytes: int) -> int:
    """
    Returns the distance in elements between planes of `elements` elements: a cache line more than
    the elements need, and not near a multiple of a page, so that planes do not compete for the same
    lines of a cache.
    """
    line = LINE_BYTES // element_bytes
    stride = elements + line
    competes = stride * element_bytes % TIMINGS.page_bytes < 2 * LINE_BYTES
    return stride + 3 * line if competes else stride


# sums of rows that a list chooses


def rows_added_together() -> int:
    """
    Returns how many rows are added at a time; each sum is loaded and stored once for all of them.
    """
    return TIMINGS.added_rows


def list_parts(rows: int) -> int:
    """Returns the number of parts into which a list of up to `rows` rows is divided."""
    return TIMINGS.list_parts if rows >= TIMINGS.list_parts * TIMINGS.least_list_rows else 1


def columns_together(
    machine: MachineDescription, threads: int, columns: int, lists: int, element_bytes: int
) -> int:
    """
    Returns how many columns are summed at a time. Their sums fit into the L1 cache, and the threads
    of each list have about equally many columns.
    """
    most = max(1, machine.l1_bytes // 2 // element_bytes)
    threads = -(-threads // lists)
    threads = threads if columns >= TIMINGS.least_thread_columns * threads else 1
    parts = threads * max(1, -(-columns // (threads * most)))
    return max(1, columns // parts)
