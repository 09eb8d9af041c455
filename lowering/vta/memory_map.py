"""The regions of DRAM of a program under construction."""

from __future__ import annotations

from math import lcm

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i8

from ...glow_dialects.blob import BlobAttr
from ...glow_dialects.vta import Memory, RegionKind, RegionOp, VtaConfig
from ...semantics.arrays import make_constant
from .regions import Dram, Tensor, grid_of


def spatial_shape(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """[N, C], [N, C, L] or [N, C, H, W] as [N, C, H, W]. Raises ValueError for other ranks."""
    if not 2 <= len(shape) <= 4:
        raise ValueError(f"expected 2 to 4 dimensions, found {list(shape)}")
    n, c, *rest = shape
    h, w = [1] * (2 - len(rest)) + rest
    return n, c, h, w


class MemoryMap:
    """Places regions behind each other, at addresses at which elements of any kind can begin."""

    def __init__(self, config: VtaConfig):
        self.config = config
        self.regions: list[RegionOp] = []
        self._alignment = lcm(*(config.element_bytes(memory) for memory in Memory))
        self._end = 0
        self._names: set[str] = set()

    def place(self, size: int) -> int:
        """The address of so many bytes."""
        address = self._end
        self._end += -(-max(size, 1) // self._alignment) * self._alignment
        return address

    def tensor(
        self, kind: RegionKind, name: str, shape: tuple[int, ...], bounds: tuple[int, int]
    ) -> Tensor:
        """A region for numbers of 8 bits, [N, C], [N, C, L] or [N, C, H, W]."""
        c, full = self.config, spatial_shape(shape)
        elements = grid_of(full, c).elements
        size = elements * c.element_bytes(Memory.OUT)
        array = tiles = None
        if kind in (RegionKind.INPUT, RegionKind.OUTPUT):
            array = TensorType(i8, shape)
            tiles = (c.batch, c.block_out, *[1] * (len(shape) - 2))
        name = self._unused(name)
        op = RegionOp.of(kind, name, self.place(size), size, None, array, tiles)
        self.regions.append(op)
        return Tensor(Dram(op.result, elements, kind.writable), full, c, bounds, kind)

    def constant(self, name: str, array: np.ndarray, memory: Memory) -> Dram:
        """A region with the bytes of an array, as elements of a memory."""
        stored = np.ascontiguousarray(array).reshape(-1).view(np.int8)
        value = make_constant(stored, name).value
        assert isinstance(value, DenseIntOrFPElementsAttr | BlobAttr)
        address = self.place(stored.size)
        op = RegionOp.of(RegionKind.CONSTANT, self._unused(name), address, stored.size, value)
        self.regions.append(op)
        return Dram(op.result, stored.size // self.config.element_bytes(memory))

    def _unused(self, name: str) -> str:
        found, number = name, 1
        while found in self._names:
            found, number = f"{name}_{number}", number + 1
        self._names.add(found)
        return found
