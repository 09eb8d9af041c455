"""The numbers of operands of each kind, unpacked once for equal ones."""

from __future__ import annotations

import struct
from functools import lru_cache

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation
from xdsl.irdl import AttrSizedOperandSegments


def segment_sizes(op: Operation) -> tuple[int, ...]:
    """Returns how many operands there are of each kind."""
    sizes = op.properties[AttrSizedOperandSegments.attribute_name]
    assert isinstance(sizes, DenseArrayBase)
    return _unpacked(sizes.data.data)


@lru_cache(1024)
def _unpacked(sizes: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(sizes) // 4}i", sizes)
