"""
Names of dot products and of lookups in tables. They need no xDSL, so that a machine can be
described without it.
"""

from __future__ import annotations

from dataclasses import dataclass
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


class LookupKind(StrEnum):
    """The kinds of `glow_vec.lookup`, named as the instruction of a processor that they use."""

    VPERMI2B = "vpermi2b"
    PSHUFB = "pshufb"
    TBL = "tbl"


@dataclass(frozen=True)
class LookupRule:
    """The shape and the price of a kind of lookup."""

    lanes: tuple[int, ...]
    """The numbers of lanes that a vector of indices may have."""
    operations: int
    """The instructions that it takes."""


LOOKUP_RULES = {
    LookupKind.VPERMI2B: LookupRule((16, 32, 64), 4),
    LookupKind.PSHUFB: LookupRule((16, 32, 64), 48),
    LookupKind.TBL: LookupRule((16,), 7),
}
