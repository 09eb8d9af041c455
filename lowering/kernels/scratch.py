"""
Places for the temporary memory of kernels: on the stack, or in the arena between the buffers that
are alive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.ir import Operation

from ...glow_dialects.elements import element_bytes, type_bytes
from ...glow_dialects.glow_inst.memory import AllocActivationOp, DeallocActivationOp
from ...glow_dialects.glow_nest.affine import Buffer
from ...passes.instructions.memory_planner import align, gap

ALIGNMENT = 64
"""The alignment of each scratch buffer in bytes."""
_MOST_ON_STACK = 8 << 10
"""Bytes of a buffer that lies on the stack of a thread."""


def is_small(buffer: Buffer) -> bool:
    """Returns whether a buffer is scratch that lies on the stack, unless threads share it."""
    size = buffer.high * element_bytes(buffer.element)
    return buffer.parameter is None and size <= _MOST_ON_STACK


def scratch_places(
    program: Iterable[Operation], needs: Mapping[Operation, int]
) -> dict[Operation, int]:
    """
    Returns the offset in the arena of the temporary memory of each instruction that needs some (in
    bytes). It is the lowest offset at which no buffer is alive then. The memory may end beyond the
    planned arena.
    """
    alive: dict[Operation, tuple[int, int]] = {}
    places: dict[Operation, int] = {}
    for op in program:
        if isinstance(op, AllocActivationOp) and op.offset is not None:
            start = op.offset.value.data
            alive[op] = (start, start + type_bytes(op.result.type))
        elif isinstance(op, DeallocActivationOp) and isinstance(op.buffer.owner, Operation):
            alive.pop(op.buffer.owner, None)
        elif needs.get(op):
            taken = sorted((start, align(end, ALIGNMENT)) for start, end in alive.values())
            places[op] = gap(taken, needs[op], best=False)
    return places
