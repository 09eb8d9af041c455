"""Transposing copies: squares of vectors are transposed in registers."""

from __future__ import annotations

from ....glow_dialects.glow_nest.schedule import RegisterTranspose
from .algebra import ArithAlgebra, Value
from .tile import Tile


def copy_transposed(tile: Tile, schedule: RegisterTranspose, algebra: ArithAlgebra) -> None:
    """
    Copies a square: vectors that are loaded along `turned` become vectors along the schedule's
    vector dimension. Interleaving the first half of the rows with the second half, log2 of their
    number times, transposes them.
    """
    (read,), (write,), memory = tile.nest.operands, tile.nest.writes, tile.memory
    lanes, vector, turned = schedule.lanes, schedule.vector, schedule.turned
    assert vector is not None
    across, down = read.stride(vector), write.stride(turned)
    assert isinstance(across, int)
    assert isinstance(down, int)
    source, target = tile.places[read], tile.places[write]
    rows = [memory.load(read, source, i * across, 1, algebra, True).ssa for i in range(lanes)]
    half = lanes // 2
    low = [n for i in range(half) for n in (i, lanes + i)]
    high = [n + half for n in low]
    for _ in range(lanes.bit_length() - 1):
        pairs = zip(rows[:half], rows[half:], strict=True)
        rows = [algebra.emitter.shuffle(a, b, mask) for a, b in pairs for mask in (low, high)]
    for i, row in enumerate(rows):
        memory.store(Value(row, write.element), write, target, i * down, 1, None, algebra, True)
