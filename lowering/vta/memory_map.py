"""The regions of DRAM of a program."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i8
from xdsl.ir import SSAValue

from ...glow_dialects.blob import BlobAttr
from ...glow_dialects.vta import RegionKind, RegionOp, VtaConfig, VtaMemory
from ...glow_dialects.vta.attributes import number
from ...glow_dialects.vta.grid import grid_of, spatial_shape
from ...glow_dialects.vta.layers import region_of, tensor_shape
from ...passes.instructions.memory_planner import Plan
from ...passes.visited_operation import each
from ...semantics.arrays import make_constant
from .regions import Dram, Space, Tensor


class MemoryMap:
    """
    Places regions one after the other, at addresses at which elements of any kind can begin, behind
    those that there are. Scratch regions are placed together, when the life of each is known.
    """

    def __init__(self, config: VtaConfig, regions: Sequence[RegionOp] = ()):
        self.config = config
        self.regions = list(regions)
        self._alignment = lcm(*(config.element_bytes(memory) for memory in VtaMemory))
        self._end = self._aligned(config.base_address)
        for op in each(regions):
            self._end = max(self._end, self._aligned(op.first_byte + op.num_bytes))
        self._names = {op.label.data for op in regions}
        self._shared: dict[str, Dram] = {}
        """Constants that several layers use, by name."""
        self._tensors: dict[SSAValue, Tensor] = {}
        self._drams: dict[SSAValue, Dram] = {}

    def _aligned(self, address: int) -> int:
        return -(-address // self._alignment) * self._alignment

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
        size = grid_of(full, c).elements * c.element_bytes(VtaMemory.OUT)
        tiles = (c.batch, c.block_out, *[1] * (len(shape) - 2))
        address = 0 if kind is RegionKind.SCRATCH else self.place(size)
        array = TensorType(i8, shape)
        op = RegionOp.of(kind, self._unused(name), address, size, None, array, tiles)
        self.regions.append(op)
        made = self.tensor_of(op.result)
        made.bounds = bounds
        return made

    def tensor_of(self, value: SSAValue) -> Tensor:
        """Returns the tensor in a region, the same one at each call."""
        if value not in self._tensors:
            dram = self.dram(value, VtaMemory.OUT)
            self._tensors[value] = Tensor(dram, tensor_shape(value), self.config)
        return self._tensors[value]

    def dram(self, value: SSAValue, memory: VtaMemory) -> Dram:
        """Returns a region as elements of a memory, the same one at each call."""
        if value not in self._drams:
            op = region_of(value)
            elements = op.num_bytes // self.config.element_bytes(memory)
            self._drams[value] = Dram(value, elements)
        return self._drams[value]

    def scratch(self) -> list[RegionOp]:
        """Returns the regions between layers."""
        return [op for op in self.regions if op.kind.data is RegionKind.SCRATCH]

    def place_scratch(self, plan: Plan) -> None:
        """Places the regions of `scratch` as planned; the offsets are in bytes."""
        address = self.place(plan.size)
        for op, offset in zip(self.scratch(), plan.offsets, strict=True):
            op.properties["address"] = number(address + offset)

    def order_accesses(self) -> None:
        """
        Gives regions that the program writes to their memory spaces: each output has one, and
        regions of scratch, which may overlap, share one.
        """
        element, scratch = self.config.element_bytes(VtaMemory.OUT), self.scratch()
        low = min((op.first_byte for op in each(scratch)), default=0)
        high = max((op.first_byte + op.num_bytes for op in each(scratch)), default=0)
        shared = Space((high - low) // element)
        for op in each([op for op in self.regions if op.kind.data.writable]):
            dram = self.dram(op.result, VtaMemory.OUT)
            if op.kind.data is RegionKind.SCRATCH:
                dram.space, dram.start = shared, (op.first_byte - low) // element
            else:
                dram.space = Space(dram.elements)

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
