"""
The values that probably have many zeros: results of rectifiers, and of operators that keep zeros.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.pooling import MaxPoolOp
from ...glow_dialects.glow.shape import ReshapeOp, SliceOp, TransposeOp
from ...glow_dialects.glow_cpu.blocked import BlockedMaxPoolOp, PackChannelsOp, UnpackChannelsOp
from .canonicalization.bounds import interval_of

_KEEP: tuple[type[Node], ...] = (
    *(ReshapeOp, TransposeOp, SliceOp, PackChannelsOp, UnpackChannelsOp),
    *(MaxPoolOp, BlockedMaxPoolOp),
)
"""Operators on one tensor whose elements are some of those that they get."""


def is_rectified(value: SSAValue) -> bool:
    """
    Returns whether the elements of a value were limited to numbers that are not negative. Then many
    of them are usually 0.
    """
    while isinstance(value.owner, _KEEP):
        value = value.owner.operands[0]
    interval = interval_of(value)
    return interval is not None and interval[0] == 0 < interval[1]
