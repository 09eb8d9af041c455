"""
Writes of several values that are neighbours in memory, like the fields of a record.

Vectors of each field are interleaved in registers and stored without gaps.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.simplification import RECORDS
from .emit import Emitter


def interleaves(nest: Nest, dim: Dim | None) -> bool:
    """
    Returns whether the writes of a nest, for all of a dimension, are records of two to four fields.
    """
    first, *others = nest.writes
    count = len(nest.writes)
    if dim is None or count not in RECORDS:
        return False
    if nest.in_place or nest.raw or dim in nest.reduced:
        return False
    return first.stride(dim) == count and all(
        w.buffer is first.buffer
        and w.place.terms == first.place.terms
        and w.place.constant == first.place.constant + i
        for i, w in enumerate(others, 1)
    )


def interleaved(emitter: Emitter, fields: Sequence[SSAValue], lanes: int) -> SSAValue:
    """
    Returns lane 0 of each field, then lane 1 of each, and so on; fields are vectors of `lanes`.
    """
    if len(fields) == 3:
        first, second, third = fields
        mask = [lane + part * lanes for lane in range(lanes) for part in (0, 1)]
        pairs = emitter.shuffle(first, second, mask)
        wide = emitter.shuffle(third, third, range(2 * lanes))
        mask = [n for i in range(lanes) for n in (2 * i, 2 * i + 1, 2 * lanes + i)]
        return emitter.shuffle(pairs, wide, mask)
    parts, size = list(fields), lanes
    while len(parts) > 1:
        # two vectors are combined at a time: a, b, c, d become (a, c) and (b, d) first
        half = len(parts) // 2
        mask = [lane + part * size for lane in range(size) for part in (0, 1)]
        parts = [emitter.shuffle(parts[i], parts[i + half], mask) for i in range(half)]
        size *= 2
    return parts[0]
