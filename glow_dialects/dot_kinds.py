"""Names of dot products. They need no xDSL, so that a machine can be described without it."""

from __future__ import annotations

from enum import StrEnum


class DotKind(StrEnum):
    """
    The kinds of `glow_vec.dot`, named as the instruction of a processor, or `madd` and `maddubs`,
    which LLVM makes of the instructions of every processor. See `glow_vec.DOT_RULES`.
    """

    MADD = "madd"
    MADDUBS = "maddubs"
    DPBF16PS = "dpbf16ps"
    VPDPBUSD = "vpdpbusd"
    SDOT = "sdot"
    USDOT = "usdot"


UNSIGNED_LHS = frozenset({DotKind.VPDPBUSD, DotKind.USDOT})
"""The kinds whose left factors are unsigned bytes."""
BYTE_DOTS = (DotKind.VPDPBUSD, DotKind.SDOT, DotKind.USDOT)
"""Those of four products of bytes."""
