"""
What a schedule needs to know of a processor, and the rules that follow from it.

Everything that depends on the processor derives from a `MachineDescription`: block sizes of layouts
and panels, register tiles, workspaces. It comes from the features that LLVM reports for the host or
for a CPU that is named (see `lowering.target`), never from a table of machines.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...glow_dialects.dot_kinds import UNSIGNED_LHS, DotKind

# a warm start describes the machine, and should not have to import xDSL
if TYPE_CHECKING:
    from xdsl.ir import Attribute

LINE = 64
"""Bytes of a line of a cache."""
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_LEAST_BLOCK = 8
"""Channels of a block, as far as registers allow."""
_POINTS = 6
"""Points of a tile beyond which wider tiles, which load less for each product, pay."""
_TILE_BYTES = 64
"""Of a row of a tile, and of a cache line."""
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class MachineDescription:
    """
    A processor as the kernel scheduler sees it. What code of kernels depends on shows in `repr`,
    which is part of their identity, except for what only some kernels use.
    """

    vector_bits: int = 512
    """Width of a vector register."""
    vector_registers: int = 32
    has_fma: bool = True
    """Whether a multiplication and an addition are one instruction with one rounding."""
    int8_dots: tuple[DotKind, ...] = field(default=(), repr=False)
    """The instructions that add products of four neighbouring bytes to lanes of i32."""
    has_bf16_dot: bool = field(default=False, repr=False)
    """Whether an instruction adds products of two neighbouring bf16 to lanes of f32."""
    has_int8_tiles: bool = field(default=False, repr=False)
    """Whether there are tile registers whose products of bytes add up in i32 (AMX)."""
    has_bf16_tiles: bool = field(default=False, repr=False)
    """Whether there are tile registers whose products of bf16 add up in f32 (AMX)."""
    l1_bytes: int = 32 << 10
    """Nearest data cache of a core."""
    l2_bytes: int = 1 << 20
    """Second cache of a core, from which the limits below derive."""
    l3_bytes: int = field(default=4 << 20, repr=False)
    """Last cache, shared by cores."""
    cores: int = field(default=1, repr=False)
    """How many this process may run on."""

    @property
    def has_int8_dot(self) -> bool:
        """Whether an instruction adds products of four neighbouring bytes to lanes of i32."""
        return bool(self.int8_dots)

    def dot_kind(self, lhs: Attribute, rhs: Attribute, terms: int) -> DotKind | None:
        """
        The kind of `glow_vec.dot` for sums of `terms` neighbouring products of elements of these
        types; None if this machine has none. Pairs of bytes are multiplied as 16 bits.
        """
        from xdsl.dialects.builtin import BFloat16Type, IntegerType, Signedness, i8

        from ...glow_dialects.elements import storage_type
        from ...glow_dialects.glow_vec import DOT_RULES

        a, b = storage_type(lhs), storage_type(rhs)
        if isinstance(a, BFloat16Type):
            return DotKind.DPBF16PS if self.has_bf16_dot else None
        if terms == DOT_RULES[DotKind.MADD].terms:
            return DotKind.MADD
        unsigned = a == IntegerType(8, Signedness.UNSIGNED)
        return self.byte_dot(unsigned) if b == i8 else None

    def byte_dot(self, unsigned: bool) -> DotKind | None:
        """The same for four products of bytes, unsigned or signed, by signed ones."""
        return next((k for k in self.int8_dots if (k in UNSIGNED_LHS) == unsigned), None)

    def lanes(self, element_bits: int) -> int:
        """How many elements of a width fit into a vector register; at least 1."""
        return max(1, self.vector_bits // element_bits)

    @property
    def channel_block(self) -> int:
        """
        Channels that blocked layouts keep together: the floats of one vector register; of narrow
        ones, so many that there are eight, as long as six points fit into a register tile. The
        inner loop of a convolution runs over a block, so it should not be shorter; longer blocks
        waste more where they are not full.
        """
        lanes = self.lanes(32)
        vectors = -(-_LEAST_BLOCK // lanes)
        return lanes * (vectors if self.most_points(vectors) >= _POINTS else 1)

    def fits(self, vectors: int, points: int) -> bool:
        """
        The register rule of products: whether a tile of `vectors` loaded vectors times `points`
        broadcast elements fits, with its accumulators. Without fused multiply-add, a product
        needs a register before it is added; it takes that of the broadcast for the last vector.
        """
        broadcast = 1 if self.has_fma or vectors == 1 else 2
        return vectors * points + vectors + broadcast <= self.vector_registers

    def most_points(self, vectors: int) -> int:
        """The largest tile of `vectors` vectors that fits; 0 if none does."""
        return max((n for n in range(self.vector_registers) if self.fits(vectors, n)), default=0)

    @property
    def panel_vectors(self) -> int:
        """
        Width in vectors of the register tile of matrix products: as wide as leaves six rows, and
        at most three, beyond which nothing is gained.
        """
        return max((v for v in (1, 2, 3) if self.most_points(v) >= _POINTS), default=1)

    @property
    def near_bytes(self) -> int:
        """What can be expected to stay in the second cache beside what else streams through it."""
        return self.l2_bytes * 3 // 8

    @property
    def prefetched_bytes(self) -> int:
        """Larger arrays that are read from front to back are prefetched."""
        return self.l2_bytes // 16

    @property
    def integer_block(self) -> int:
        """
        The most channels that blocked layouts of bytes keep together: with tiles, those of a row
        of one.
        """
        return max(self.channel_block, _TILE_BYTES) if self.has_int8_tiles else self.channel_block

    def layout_options(self) -> str:
        """Blocks of channels, and products of bytes, as options of `glow-assign-layouts`."""
        blocks = f"block={self.channel_block} integer-block={self.integer_block}"
        return blocks + self._quads_option()

    def packing_options(self) -> str:
        """Panels, products of bytes, and the near caches, as options of `glow-pack-weights`."""
        panels = f"lanes={self.lanes(32)} vectors={self.panel_vectors}"
        return f"{panels} far-bytes={self.l2_bytes}" + self._quads_option()

    def _quads_option(self) -> str:
        """The types of bytes that are multiplied by i8 in quads."""
        quads = [t for t in ("u8", "i8") if self.byte_dot(t == "u8") is not None]
        return f" quads={','.join(quads)}" if quads else ""

    def pass_options(self) -> str:
        """
        The vector unit as options of `glow-lower-to-kernels`; kernels use products of bf16 only
        where a pass asked for them.
        """
        tiles = " has-int8-tiles=true" if self.has_int8_tiles else ""
        tiles += " has-bf16-tiles=true" if self.has_bf16_tiles else ""
        tiles += f" int8-dots={','.join(self.int8_dots)}" if self.int8_dots else ""
        return (
            f"vector-bits={self.vector_bits} vector-registers={self.vector_registers} "
            f"has-fma={str(self.has_fma).lower()} "
            f"l1-bytes={self.l1_bytes} l2-bytes={self.l2_bytes}{tiles}"
        )


def _dots(features: Mapping[str, bool], kinds: Mapping[str, DotKind]) -> tuple[DotKind, ...]:
    """The dot products of the features that are there."""
    return tuple(kind for feature, kind in kinds.items() if features.get(feature))


def describe(features: Mapping[str, bool]) -> MachineDescription:
    """
    The processor with these features, in LLVM's names. Those not given count as absent. Caches are
    as large as those of the usual processors with such features.
    """
    has_fma = bool(features.get("fma"))
    if features.get("avx512f") and features.get("avx512bw") and features.get("avx512vl"):
        return MachineDescription(
            512,
            32,
            has_fma,
            int8_dots=_dots(features, {"avx512vnni": DotKind.VPDPBUSD}),
            has_bf16_dot=bool(features.get("avx512bf16")),
            has_int8_tiles=bool(features.get("amx-tile") and features.get("amx-int8")),
            has_bf16_tiles=bool(features.get("amx-tile") and features.get("amx-bf16")),
        )
    if features.get("avx2"):
        dots = _dots(features, {"avxvnni": DotKind.VPDPBUSD})
        return MachineDescription(256, 16, has_fma, int8_dots=dots, l2_bytes=512 << 10)
    if features.get("neon"):
        dots = _dots(features, {"dotprod": DotKind.SDOT, "i8mm": DotKind.USDOT})
        return MachineDescription(128, 32, True, int8_dots=dots)
    return MachineDescription(128, 16, has_fma, l2_bytes=256 << 10)


def with_host_caches(machine: MachineDescription) -> MachineDescription:
    """The description with the caches and cores of this machine, as far as it tells."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    found = cache_sizes(_CACHES)
    return replace(
        machine,
        cores=cores,
        l1_bytes=found.get(1, machine.l1_bytes),
        l2_bytes=found.get(2, machine.l2_bytes),
        l3_bytes=found.get(3, machine.l3_bytes),
    )


def cache_sizes(folder: Path) -> dict[int, int]:
    """Bytes of data caches by level, from Linux's description of them; empty where it is absent."""
    sizes: dict[int, int] = {}
    for index in sorted(folder.glob("index*")):
        try:
            kind, level, size = (
                (index / name).read_text(encoding="ascii").strip()
                for name in ("type", "level", "size")
            )
            if kind != "Instruction":
                sizes[int(level)] = int(size.rstrip("KMG")) * _UNITS.get(size[-1:], 1)
        except (OSError, ValueError):
            continue
    return sizes


def host_machine() -> MachineDescription:
    """The processor that this runs on. Falls back to SSE2 where features are not reported."""
    from ..host_features import host_features

    return with_host_caches(describe(host_features()))
