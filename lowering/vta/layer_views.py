"""Layers in the text as actions on slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from ...glow_dialects.vta import (
    ApplyOp,
    CopyOp,
    FetchOp,
    LayerOp,
    MaxPoolOp,
    ProductOp,
    VtaMemory,
    WriteOp,
)
from ...glow_dialects.vta.layers import InLayer
from .layers import (
    Accumulate,
    Action,
    Apply,
    Duplicate,
    Fetch,
    Layer,
    Pooling,
    Product,
    Slot,
    Vector,
    Write,
)
from .memory_map import MemoryMap


def layer_of(op: LayerOp, memory: MemoryMap) -> Layer:
    """Returns the actions of a layer on slots."""
    first, blocks = op.blocks.get_values()
    actions = _Actions(memory)
    for each in op.body.block.ops:
        assert isinstance(each, InLayer)
        actions.add(each)
    vectors = None if op.vectors is None else memory.dram(op.vectors, VtaMemory.ACC)
    return Layer(
        op.label.data,
        memory.tensor_of(op.output),
        first,
        blocks,
        actions.found,
        actions.slots,
        op.num_vectors,
        vectors,
        op.is_flat,
    )


def pooling_of(op: MaxPoolOp, memory: MemoryMap) -> Pooling:
    source, output = (memory.tensor_of(v) for v in (op.source, op.output))
    return Pooling(op.label.data, source, output, *op.windows(), op.least.value.data)


class _Actions:
    """Chooses the slots of values."""

    def __init__(self, memory: MemoryMap):
        self.found: list[Action] = []
        self.slots = 0
        self._memory = memory
        self._free: list[int] = []
        self._slot: dict[SSAValue, int] = {}

    def add(self, op: InLayer) -> None:
        _ACTIONS[type(op)](self, op)

    def _take(self, value: SSAValue) -> int:
        """Returns a slot of its own for a value."""
        if not self._free:
            self._free.append(self.slots)
            self.slots += 1
        self._slot[value] = slot = self._free.pop()
        return slot

    def product(self, op: ProductOp) -> None:
        memory, (first, count) = self._memory, op.blocks.get_values()
        made = Product(
            memory.tensor_of(op.source),
            op.elements(),
            *op.windows(),
            memory.dram(op.weights, VtaMemory.WGT),
            op.at.value.data,
            first,
            count,
            op.uniform is not None,
        )
        if op.plus is None:
            self.found.append(Accumulate(self._take(op.result), made))
            return
        self._slot[op.result] = slot = self._slot[op.plus]
        self.found.append(Accumulate(slot, made, is_added=True))

    def fetch(self, op: FetchOp) -> None:
        self.found.append(Fetch(self._take(op.result), self._memory.tensor_of(op.source)))

    def copy(self, op: CopyOp) -> None:
        source = self._slot[op.value]
        self.found.append(Duplicate(self._take(op.result), source))

    def apply(self, op: ApplyOp) -> None:
        self._slot[op.result] = slot = self._slot[op.value]
        opcode = op.opcode.data
        if op.other is not None:
            other = self._slot[op.other]
            self.found.append(Apply(slot, opcode, Slot(other)))
            self._free.append(other)
        elif op.vector is not None:
            self.found.append(Apply(slot, opcode, Vector(op.vector.value.data)))
        else:
            assert op.imm is not None
            self.found.append(Apply(slot, opcode, op.imm.value.data))

    def write(self, op: WriteOp) -> None:
        tensor = self._memory.tensor_of(op.tensor)
        self.found.append(Write(self._slot[op.value], tensor))


_ACTIONS: dict[type[InLayer], Callable[[_Actions, Any], None]] = {
    ApplyOp: _Actions.apply,
    CopyOp: _Actions.copy,
    FetchOp: _Actions.fetch,
    ProductOp: _Actions.product,
    WriteOp: _Actions.write,
}
