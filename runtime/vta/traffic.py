"""The unavoidable DRAM traffic of a program: each byte that a layer uses, moved once."""

from __future__ import annotations

import numpy as np

from .program import VtaProgram
from .words import Transfer, decode_instructions, element_bytes


def compulsory_bytes(program: VtaProgram) -> list[int]:
    """
    Returns the number of different bytes of DRAM that each layer loads, plus the number of those
    that it stores. Raises VtaError for words that are no instructions.
    """
    instructions = decode_instructions(program.instructions, program.config)
    start = min((region.address for region in program.regions), default=0)
    size = max((region.end for region in program.regions), default=0) - start
    found = []
    for layer in program.layers:
        moved = {False: np.zeros(size, bool), True: np.zeros(size, bool)}
        for i in instructions[layer.first : layer.last + 1]:
            if isinstance(i, Transfer) and i.x_size and i.y_size:
                element = element_bytes(program.config, i.memory)
                _rows(moved[i.store], i, element, start)[...] = True
        found.append(sum(int(np.count_nonzero(m)) for m in moved.values()))
    return found


def _rows(table: np.ndarray, i: Transfer, element: int, start: int) -> np.ndarray:
    """
    Returns the bytes that a transfer moves, in a table of the bytes from `start` on: bool[rows,
    bytes].
    """
    first, shape = i.dram_base * element - start, (i.y_size, i.x_size * element)
    return np.lib.stride_tricks.as_strided(table[first:], shape, (i.x_stride * element, 1))
