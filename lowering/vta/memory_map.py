"""The regions of DRAM of a program under construction."""

from __future__ import annotations

from math import lcm

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i8

from ...glow_dialects.blob import BlobAttr
from ...glow_dialects.vta import RegionKind, RegionOp, VtaConfig, VtaMemory
from ...glow_dialects.vta.attributes import number
from ...passes.instructions.memory_planner import Plan
from ...semantics.arrays import make_constant
from .regions import Dram, Space, Tensor, grid_of, spatial_shape


class MemoryMap:
    """
    Places regions one after the other, at addresses at which elements of any kind can begin.
    Scratch regions are placed together, when the life of each is known.
    """

    def __init__(self, config: VtaConfig):
        self.config = config
        self.regions: list[RegionOp] = []
        self._alignment = lcm(*(config.element_bytes(memory) for memory in VtaMemory))
        self._end = -(-config.base_address // self._alignment) * self._alignment
        self._shared: dict[str, Dram] = {}
        """Constants that several layers use, by name."""
        self._names: set[str] = set()
        self._scratch: list[tuple[RegionOp, Tensor]] = []

    def place(self, size: int) -> int:
        """Returns the address of `size` bytes."""
        address = self._end
        self._end += -(-max(size, 1) // self._alignment) * self._alignment
        return address

    def tensor(
        self, kind: RegionKind, name: str, shape: tuple[int, ...], bounds: tuple[int, int]
    ) -> Tensor:
        """
        Returns a region for numbers of 8 bits, [N, C], [N, C, L] or [N, C, H, W]. Raises ValueError
        for other ranks.
        """
        c, full = self.config, spatial_shape(shape)
        elements = grid_of(full, c).elements
        size = elements * c.element_bytes(VtaMemory.OUT)
        is_scratch = kind is RegionKind.SCRATCH
        array = tiles = None
        if not is_scratch:
            array = TensorType(i8, shape)
            tiles = (c.batch, c.block_out, *[1] * (len(shape) - 2))
        address = 0 if is_scratch else self.place(size)
        op = RegionOp.of(kind, self._unused(name), address, size, None, array, tiles)
        self.regions.append(op)
        space = Space(elements) if kind is RegionKind.OUTPUT else None
        made = Tensor(Dram(op.result, elements, space), full, c, bounds, kind)
        if is_scratch:
            self._scratch.append((op, made))
        return made

    def scratch(self) -> list[Tensor]:
        """Returns the tensors that still have to be placed."""
        return [tensor for _, tensor in self._scratch]

    def place_scratch(self, plan: Plan) -> None:
        """Places the tensors of `scratch` as planned; the offsets are in bytes."""
        element = self.config.element_bytes(VtaMemory.OUT)
        address, space = self.place(plan.size), Space(plan.size // element)
        for (op, tensor), offset in zip(self._scratch, plan.offsets, strict=True):
            op.properties["address"] = number(address + offset)
            tensor.dram.space, tensor.dram.start = space, offset // element

    def constant(self, name: str, array: np.ndarray, memory: VtaMemory) -> Dram:
        """Returns a region with the bytes of an array, as elements of a memory."""
        stored = np.ascontiguousarray(array).reshape(-1).view(np.int8)
        value = make_constant(stored, name).value
        assert isinstance(value, DenseIntOrFPElementsAttr | BlobAttr)
        address = self.place(stored.size)
        op = RegionOp.of(RegionKind.CONSTANT, self._unused(name), address, stored.size, value)
        self.regions.append(op)
        return Dram(op.result, stored.size // self.config.element_bytes(memory))

    def identity(self) -> Dram:
        """Returns one element of weights, the identity, which makes accumulators of activations."""
        return self._once("identity", np.eye(self.config.block_out, dtype=np.int8), VtaMemory.WGT)

    def zeros(self, count: int) -> Dram:
        """Returns a region of `count` activations of zeros."""
        size = count * self.config.element_bytes(VtaMemory.INP)
        return self._once(f"zeros{count}", np.zeros(size, np.int8), VtaMemory.INP)

    def _once(self, name: str, array: np.ndarray, memory: VtaMemory) -> Dram:
        found = self._shared.get(name)
        if found is None:
            found = self._shared[name] = self.constant(name, array, memory)
        return found

    def _unused(self, name: str) -> str:
        found, count = name, 1
        while found in self._names:
            found, count = f"{name}_{count}", count + 1
        self._names.add(found)
        return found
