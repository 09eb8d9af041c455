"""
VTA programs: instructions, and the DRAM that they work on.

A program names regions of DRAM by byte address. The host writes the inputs into theirs, starts the
machine on the instructions, and reads the outputs when it has finished; constants and micro-ops are
in place from the beginning. `container.py` saves programs to files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from ...errors import CompileError
from ...glow_dialects.vta.config import VtaConfig
from ...lazy import lazy_property


class RegionRole(StrEnum):
    """The content of a region. Programs write to outputs and scratch only."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    MICRO_OPS = "micro-ops"
    INSTRUCTIONS = "instructions"
    SCRATCH = "scratch"


WRITABLE = (RegionRole.OUTPUT, RegionRole.SCRATCH)
_FILLED = (RegionRole.CONSTANT, RegionRole.MICRO_OPS)
_TYPED = (RegionRole.INPUT, RegionRole.OUTPUT)


@dataclass(frozen=True)
class Region:
    """`size` bytes of DRAM from the byte `address` on."""

    name: str
    kind: RegionRole
    address: int
    size: int
    contents: np.ndarray | None = None
    """uint8[size], for constants and micro-ops."""
    dtype: np.dtype | None = None
    """The dtype of the elements, little endian. Inputs and outputs need it."""
    shape: tuple[int, ...] = ()
    """The shape of the array as users see it, for example N, C, H, W."""
    tile: tuple[int, ...] = ()
    """
    The tiling of the array: for each dimension the elements of a tile, or nothing for plain row
    order. Dimensions are padded with zeros to whole tiles; tiles are in row order, and so are the
    elements in each. NCHW with (1, 16, 1, 1) is stored as N, C/16, H, W, 16.
    """

    @property
    def end(self) -> int:
        return self.address + self.size

    @property
    def _tile(self) -> tuple[int, ...]:
        return self.tile or (1,) * len(self.shape)

    @property
    def _counts(self) -> tuple[int, ...]:
        return tuple(-(-d // t) for d, t in zip(self.shape, self._tile, strict=True))

    @property
    def stored_bytes(self) -> int:
        """Bytes of the array with its padding, which `size` must reach; 0 without a dtype."""
        if self.dtype is None:
            return 0
        return math.prod(self._counts) * math.prod(self._tile) * self.dtype.itemsize

    def pack(self, array: np.ndarray) -> np.ndarray:
        """
        Returns the array as it is stored: uint8[stored_bytes]. It must have `shape` and `dtype`.
        """
        pairs = list(zip(self._counts, self._tile, strict=True))
        padded = np.zeros([n * t for n, t in pairs], self.dtype)
        padded[tuple(slice(d) for d in self.shape)] = array
        tiled = padded.reshape([size for pair in pairs for size in pair])
        rank = len(pairs)
        stored = tiled.transpose([*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)])
        return np.ascontiguousarray(stored, self.dtype).reshape(-1).view(np.uint8)

    def unpack(self, stored: np.ndarray) -> np.ndarray:
        """Returns the inverse of `pack`, of the first `stored_bytes` of uint8[>= stored_bytes]."""
        assert self.dtype is not None
        rank = len(self.shape)
        elements = np.ascontiguousarray(stored[: self.stored_bytes]).view(self.dtype)
        tiled = elements.reshape([*self._counts, *self._tile])
        order = [axis for d in range(rank) for axis in (d, rank + d)]
        sizes = [n * t for n, t in zip(self._counts, self._tile, strict=True)]
        padded = tiled.transpose(order).reshape(sizes)
        native = self.dtype.newbyteorder("=")
        return np.array(padded[tuple(slice(d) for d in self.shape)], native, order="C")


class LayerRange(NamedTuple):
    """The instructions of a layer, both ends included."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class VtaProgram:
    """
    A program for VTA.

    Raises CompileError if regions overlap that are not both scratch, two have the same name, one
    lacks a field of its kind, or one begins before the base address of the machine.
    """

    config: VtaConfig
    instructions: np.ndarray
    """uint64[N, 2], the low word first."""
    regions: tuple[Region, ...]
    """The memory map; inputs and outputs are in the order of the network's."""
    layers: tuple[LayerRange, ...] = field(default=())
    """Names of ranges of instructions, in order; may be empty."""

    def __post_init__(self) -> None:
        words = self.instructions
        if words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != 2:
            raise CompileError(
                f"instructions of a VTA program are uint64[N, 2], not {words.dtype}{words.shape}"
            )
        _check_names(self.regions)
        for region in self.regions:
            _check_region(region)
            if region.address < self.config.base_address:
                raise CompileError(
                    f"region {region.name!r} of DRAM begins at {region.address:#x}, before the "
                    f"base address {self.config.base_address:#x} of the machine"
                )
        _check_overlaps(self.regions)
        for layer in self.layers:
            if not 0 <= layer.first <= layer.last < len(words):
                raise CompileError(
                    f"layer {layer.name!r} has instructions {layer.first} to {layer.last}, but the "
                    f"program has {len(words)}"
                )

    def of_kind(self, *kinds: RegionRole) -> list[Region]:
        """Returns the regions of these kinds, in order."""
        return [r for r in self.regions if r.kind in kinds]

    @lazy_property
    def inputs(self) -> list[Region]:
        return self.of_kind(RegionRole.INPUT)

    @lazy_property
    def outputs(self) -> list[Region]:
        return self.of_kind(RegionRole.OUTPUT)

    @property
    def scratch_bytes(self) -> int:
        """The bytes that scratch covers. Bytes that several regions share count once."""
        size = end = 0
        for region in sorted(self.of_kind(RegionRole.SCRATCH), key=lambda r: r.address):
            size += max(region.end - max(region.address, end), 0)
            end = max(region.end, end)
        return size

    @property
    def micro_ops(self) -> np.ndarray:
        """All micro-ops in DRAM, one region after the other: uint32[N]."""
        found = [r.contents for r in self.of_kind(RegionRole.MICRO_OPS) if r.contents is not None]
        return np.concatenate([np.zeros(0, np.uint8), *found]).view("<u4")


def _check_names(regions: Sequence[Region]) -> None:
    seen: set[str] = set()
    for region in regions:
        if region.name in seen:
            raise CompileError(f"two regions of DRAM are called {region.name!r}")
        seen.add(region.name)


def _check_region(region: Region) -> None:
    where = f"region {region.name!r} of DRAM"
    if region.address < 0 or region.size < 0:
        raise CompileError(f"{where} has the address {region.address} and {region.size} bytes")
    if (region.contents is None) == (region.kind in _FILLED):
        verb = "needs" if region.kind in _FILLED else "cannot have"
        raise CompileError(f"{where}, {region.kind.value}, {verb} contents")
    c = region.contents
    if c is not None and (c.dtype != np.uint8 or c.shape != (region.size,)):
        raise CompileError(f"{where} has {region.size} bytes, its contents are {c.dtype}{c.shape}")
    if region.kind in _TYPED and region.dtype is None:
        raise CompileError(f"{where}, {region.kind.value}, needs a dtype and a shape")
    if region.dtype is not None and region.dtype.kind not in "biuf":
        raise CompileError(f"{where} has the dtype {region.dtype}, which is not of numbers")
    if region.kind is RegionRole.MICRO_OPS and region.size % 4:
        raise CompileError(f"{where} has {region.size} bytes; micro-ops have 4 each")
    _check_shape(region, where)


def _check_shape(region: Region, where: str) -> None:
    if region.tile and len(region.tile) != len(region.shape):
        raise CompileError(f"{where} has the shape {region.shape} and tiles {region.tile}")
    if any(t < 1 for t in region.tile) or any(d < 0 for d in region.shape):
        raise CompileError(f"{where} has the shape {region.shape} and tiles {region.tile}")
    if region.stored_bytes > region.size:
        raise CompileError(
            f"{where} has {region.size} bytes, but its array takes {region.stored_bytes}"
        )


def _check_overlaps(regions: Sequence[Region]) -> None:
    """
    Raises an error for regions that share bytes; only scratch, which is used again, may share with
    scratch.
    """
    before: Region | None = None
    for after in sorted((r for r in regions if r.size), key=lambda r: r.address):
        if before is not None and after.address < before.end:
            if {before.kind, after.kind} != {RegionRole.SCRATCH}:
                raise CompileError(
                    f"regions {before.name!r} and {after.name!r} of DRAM overlap: the first ends "
                    f"at {before.end:#x}, the second begins at {after.address:#x}"
                )
        # the one that reaches farthest: whoever overlaps any of those before overlaps it too
        if before is None or after.end > before.end:
            before = after
