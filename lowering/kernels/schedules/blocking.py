"""
Sizes of blocks of work: rows that stay in a cache from one pass over them to the next, rows whose
reductions hide each other's latency, and copies that pay off.

Algorithms ask these questions while they divide their work into nests. The answers depend on sizes
and on the machine, not on the operator.
"""

from __future__ import annotations

from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.machine import LINE_BYTES, MachineDescription

_ROWS = 4
"""The number of rows whose reductions hide each other's latency."""
_QUERIES = 8
"""The number of positions of a query that are visited at a time."""
_MANY_QUERIES = 2 * _QUERIES
"""From this number of positions on, transposing the keys and copying the values first pays off."""
_MANY_ROWS = 16
_FEW_TERMS = 256
"""The least inner size for which reducing across the lanes of vectors pays off."""
_HEAVY = 12
"""
The largest number of operations of a body that runs on accumulators in registers. A longer body
would leave few registers for a tile, so it runs on results that are still in the L1 cache.
"""
_FINISHED_ROWS = 32
"""The number of rows that a long body handles at a time."""
_CACHED_PART = 8
"""
An eighth of the bytes of the L2 cache is the number of elements of a factor that stay there while
panels of the other factor come and go.
"""
_NEAR_BYTES = 16 << 10
"""The part of the L1 cache that a block of work may fill."""
_NEAR_PART = 8
"""The largest part of the L2 cache that images which are copied as a whole may fill."""
_PAGE = 4096
_ADDED_ROWS = 8
_FEWEST_COLUMNS = 64
"""The least number of columns of a thread: shorter parts of rows are read slowly."""
_PARTS = 2
"""
The number of parts of a list, each with sums of its own. Two threads that read whole rows are
faster than two that read parts of all rows.
"""
_FEWEST_ROWS = 1024
"""The least number of rows in a part of a list, if all rows are listed."""


def rows_together(rows: int) -> int:
    """
    Returns how many of `rows` rows are visited at a time by algorithms that make several passes.
    """
    return max(1, min(_ROWS, rows))


# attention


def queries_together(rows: int) -> int:
    """Returns how many of `rows` positions of a query meet all keys at a time."""
    return min(_QUERIES, rows)


def repays_dense_keys(rows: int) -> bool:
    """
    Returns whether copying the keys and the values of a head first pays off for `rows` positions of
    a query. The rows in memory would compete for few lines of a cache.
    """
    return rows >= _MANY_QUERIES


# matrix products


def repays_turning(rows: int, terms: int) -> bool:
    """
    Returns whether products of `rows` rows of `terms` terms repay transposing a factor that is
    stored transposed.
    """
    return rows >= _MANY_ROWS and terms < _FEW_TERMS


def rows_of_panels(machine: MachineDescription, terms: int) -> int:
    """
    Returns how many rows meet a panel before the next one. The panel is read once for all of them.
    """
    return max(_FINISHED_ROWS, machine.l2_bytes // _CACHED_PART // terms)


def finishes_apart(body: Body | None) -> bool:
    """
    Returns whether a body on sums of products has so many operations that it gets a nest of its
    own.
    """
    return body is not None and body.weight > _HEAVY


def rows_finished_together() -> int:
    """Returns how many rows of sums are computed before a nest of its own finishes them."""
    return _FINISHED_ROWS


# convolution


def copies_by_group(machine: MachineDescription, groups: int, group_bytes: int) -> bool:
    """
    Returns whether an image is copied group by group, so that each copy is read from the L1 cache.
    """
    whole_is_far = groups * group_bytes > machine.l2_bytes // _NEAR_PART
    return whole_is_far and group_bytes <= _NEAR_BYTES


def plane_stride(elements: int, element_bytes: int) -> int:
    """
    Returns the distance in elements between planes of `elements` elements: a cache line more than
    the elements need, and not near a multiple of a page, so that planes do not compete for the same
    lines of a cache.
    """
    line = LINE_BYTES // element_bytes
    stride = elements + line
    return stride + 3 * line if stride * element_bytes % _PAGE < 2 * LINE_BYTES else stride


# sums of rows that a list chooses


def rows_added_together() -> int:
    """
    Returns how many rows are added at a time; each sum is loaded and stored once for all of them.
    """
    return _ADDED_ROWS


def list_parts(rows: int) -> int:
    """Returns the number of parts into which a list of up to `rows` rows is divided."""
    return _PARTS if rows >= _PARTS * _FEWEST_ROWS else 1


def columns_together(
    machine: MachineDescription, threads: int, columns: int, lists: int, element_bytes: int
) -> int:
    """
    Returns how many columns are summed at a time. Their sums fit into the L1 cache, and the threads
    of each list have about equally many columns.
    """
    most = max(1, machine.l1_bytes // 2 // element_bytes)
    threads = -(-threads // lists)
    threads = threads if columns >= _FEWEST_COLUMNS * threads else 1
    parts = threads * max(1, -(-columns // (threads * most)))
    return max(1, columns // parts)
