"""
How much work is done together: rows that stay in a cache from one pass over them to the next, or
whose reductions hide each other's latency; copies that repay what they cost.

Algorithms ask these questions while they cut their work into nests. Answers depend on sizes and on
the machine, not on what is computed.
"""

from __future__ import annotations

from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.machine import LINE_BYTES, MachineDescription

_ROWS = 4
"""Reductions of so many rows hide each other's latency."""
_QUERIES = 8
"""How many positions of a query are visited at a time."""
_MANY_QUERIES = 2 * _QUERIES
"""So many repay turning the keys around first, and putting the values together."""
_MANY_ROWS = 16
_FEW_TERMS = 256
"""Inner sizes below this do not repay reducing across the lanes of vectors."""
_HEAVY = 12
"""Bodies of more operations than this do not run on accumulators in registers, of which a tile
would have to have few, but on results that are still in the nearest cache."""
_FINISHED_ROWS = 32
"""How many rows a heavy body has at a time."""
_CACHED_PART = 8
"""An eighth of the bytes of the second cache is how many elements of a factor stay there while
panels of the other come and go."""
_NEAR_BYTES = 16 << 10
"""Half of the nearest cache, or less."""
_NEAR_PART = 8
"""Images of at most this part of the second cache are copied as a whole."""
_PAGE = 4096
_ADDED_ROWS = 8
_FEWEST_COLUMNS = 64
"""Of a thread: shorter parts of rows are read slowly."""
_PARTS = 2
"""Of a list, each with sums of its own: two threads read whole rows, which is faster than parts
of all rows."""
_FEWEST_ROWS = 1024
"""Of a part of a list, if it has all rows."""


def rows_together(rows: int) -> int:
    """
    Returns how many of so many rows, over which several passes are made, are visited at a time.
    """
    return max(1, min(_ROWS, rows))


# attention


def queries_together(rows: int) -> int:
    """Returns how many of so many positions of a query meet all keys at a time."""
    return min(_QUERIES, rows)


def repays_dense_keys(rows: int) -> bool:
    """
    Returns whether so many positions of a query repay copying the keys and the values of a head
    first, whose rows in memory would compete for few lines of a cache.
    """
    return rows >= _MANY_QUERIES


# matrix products


def repays_turning(rows: int, terms: int) -> bool:
    """
    Returns whether products of so many rows repay turning around a factor that is stored
    transposed.
    """
    return rows >= _MANY_ROWS and terms < _FEW_TERMS


def rows_of_panels(machine: MachineDescription, terms: int) -> int:
    """Returns how many rows meet a panel before the next, which is read once for all of them."""
    return max(_FINISHED_ROWS, machine.l2_bytes // _CACHED_PART // terms)


def finishes_apart(body: Body | None) -> bool:
    """
    Returns whether what is done with sums of products is so much that it has a nest of its own.
    """
    return body is not None and body.weight > _HEAVY


def rows_finished_together() -> int:
    """Returns how many rows of sums are made before a nest of its own finishes them."""
    return _FINISHED_ROWS


# convolution


def copies_by_group(machine: MachineDescription, groups: int, group_bytes: int) -> bool:
    """
    Returns whether an image is copied group by group, to read each copy from the nearest cache.
    """
    whole_is_far = groups * group_bytes > machine.l2_bytes // _NEAR_PART
    return whole_is_far and group_bytes <= _NEAR_BYTES


def plane_stride(elements: int, element_bytes: int) -> int:
    """
    Returns how many elements apart planes of so many elements are: a cache line more than that, and
    not near a multiple of a page, so that they do not compete for the same lines of a cache.
    """
    line = LINE_BYTES // element_bytes
    stride = elements + line
    return stride + 3 * line if stride * element_bytes % _PAGE < 2 * LINE_BYTES else stride


# sums of rows that a list chooses


def rows_added_together() -> int:
    """
    Returns how many rows are added at a time: each sum is loaded and stored once for all of them.
    """
    return _ADDED_ROWS


def list_parts(rows: int) -> int:
    """Returns the number of parts into which a list of up to so many rows is divided."""
    return _PARTS if rows >= _PARTS * _FEWEST_ROWS else 1


def columns_together(
    machine: MachineDescription, threads: int, columns: int, lists: int, element_bytes: int
) -> int:
    """
    Returns how many columns are summed at a time, of as many as have sums that fit into the nearest
    cache. The threads of each list have about as many.
    """
    most = max(1, machine.l1_bytes // 2 // element_bytes)
    threads = -(-threads // lists)
    threads = threads if columns >= _FEWEST_COLUMNS * threads else 1
    parts = threads * max(1, -(-columns // (threads * most)))
    return max(1, columns // parts)
