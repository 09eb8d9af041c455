"""Transposing copies: squares of vectors are transposed in registers."""

from __future__ import annotations

from collections.abc import Mapping

from ....glow_dialects.glow_nest.affine import Access
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import RegisterTranspose
from .algebra import ArithAlgebra, Value
from .memory import Memory, Place


def copy_turned(
    nest: Nest,
    schedule: RegisterTranspose,
    memory: Memory,
    places: Mapping[Access, Place],
    algebra: ArithAlgebra,
) -> None:
    """
    Copies a square: vectors that are loaded along `turned` become vectors along the schedule's
    vector dimension. Interleaving the first half of the rows with the second half, log2 of their
    number times, transposes them.
    """
    (read,), (write,) = nest.operands, nest.writes
    lanes, vector, turned = schedule.lanes, schedule.vector, schedule.turned
    assert vector is not None
    across, down = read.stride(vector), write.stride(turned)
    assert isinstance(across, int)
    assert isinstance(down, int)
    rows = [memory.load(read, places[read], i * across, 1, algebra, True).ssa for i in range(lanes)]
    half = lanes // 2
    low = [n for i in range(half) for n in (i, lanes + i)]
    high = [n + half for n in low]
    for _ in range(lanes.bit_length() - 1):
        pairs = zip(rows[:half], rows[half:], strict=True)
        rows = [algebra.emitter.shuffle(a, b, mask) for a, b in pairs for mask in (low, high)]
    for i, row in enumerate(rows):
        value = Value(row, write.element)
        memory.store(value, write, places[write], i * down, 1, None, algebra, True)
