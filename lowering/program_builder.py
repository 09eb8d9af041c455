"""Instruction programs under construction: the places of tensors, and how nodes are emitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..errors import CompileError, at_operation
from ..glow_dialects.elements import is_contiguous, memref_of, memref_type, offset_of
from ..glow_dialects.glow.base import Node
from ..glow_dialects.glow.constant import SplatOp
from ..glow_dialects.glow_inst import INSTRUCTIONS
from ..glow_dialects.glow_inst.memory import AllocActivationOp, TensorViewOp, WeightOp
from ..glow_dialects.glow_inst.stacked import CopyOp
from ..passes.instructions.program import memref
from ..passes.visited_operation import each
from ..table import Table


def failure(op: Operation, message: str) -> CompileError:
    """Returns an error about an operation."""
    return at_operation(CompileError(message), op)


def memref_for(value: SSAValue) -> MemRefType:
    """Returns the type of the dense buffer of a tensor."""
    assert isinstance(value.type, TensorType)
    return memref_of(value.type)


@dataclass(frozen=True)
class BufferView:
    """The place of a tensor: a buffer, and the view of it as a type."""

    buffer: SSAValue
    type: MemRefType

    @staticmethod
    def whole(buffer: SSAValue) -> BufferView:
        return BufferView(buffer, memref(buffer))


class Program:
    """The program under construction, and the places of all tensors so far."""

    def __init__(self, block: Block):
        self.block = block
        self.places: dict[SSAValue, BufferView] = {}
        self._views: dict[tuple[SSAValue, MemRefType], SSAValue] = {}
        self._weights: dict[tuple[Attribute, MemRefType], SSAValue] = {}

    def new_place(self, tensor: SSAValue) -> BufferView:
        """Returns a new dense buffer, which is the place of a tensor from now on."""
        place = self.allocate(memref_for(tensor), tensor.name_hint)
        self.places[tensor] = place
        return place

    def emit(self, op: Operation) -> None:
        self.block.add_op(op)

    def allocate(self, t: MemRefType, hint: str | None = None) -> BufferView:
        """Returns a new dense buffer."""
        op = AllocActivationOp.create(result_types=[t])
        op.result.name_hint = hint
        self.emit(op)
        return BufferView(op.result, t)

    def weight(self, value: Attribute, t: MemRefType, hint: str | None) -> BufferView:
        """Returns the weight of this value, made when it is first needed."""
        found = self._weights.get((value, t))
        if found is None:
            op = WeightOp.create(result_types=[t], properties={"value": value})
            op.result.name_hint = hint
            self.emit(op)
            found = self._weights[value, t] = op.result
        return BufferView(found, t)

    def value(self, place: BufferView) -> SSAValue:
        """
        Returns the memref of a place: its buffer, or a view that is made when it is first needed.
        """
        if place.type == place.buffer.type:
            return place.buffer
        key = place.buffer, place.type
        if key not in self._views:
            op = TensorViewOp.create(operands=[place.buffer], result_types=[place.type])
            op.result.name_hint = place.buffer.name_hint
            self.emit(op)
            self._views[key] = op.result
        return self._views[key]

    def dense(self, tensor: SSAValue) -> SSAValue:
        """Returns a tensor as a memref of dense elements from the beginning of a buffer."""
        place = self.places[tensor]
        if is_contiguous(place.type) and offset_of(place.type) == 0:
            return self.value(place)
        return self.copied(place, tensor.name_hint).buffer

    def copied(self, place: BufferView, hint: str | None) -> BufferView:
        """Returns a copy of a place in a buffer of its own."""
        dense = self.allocate(memref_type(place.type.element_type, place.type.get_shape()), hint)
        self.copy(dense, place)
        return dense

    def fill(self, place: BufferView, value: Attribute) -> None:
        """Writes a number everywhere."""
        self.emit(INSTRUCTIONS[SplatOp].on([self.value(place)], [], {"value": value}))

    def copy(self, dest: BufferView, source: BufferView) -> None:
        self.emit(CopyOp(self.value(dest), self.value(source)))

    def write(self, buffers: Sequence[SSAValue], tensors: Sequence[SSAValue]) -> None:
        """
        Copies each tensor to a whole buffer, unless it is there. A tensor that lies in another of
        the buffers is saved before any of them changes.
        """
        copies: list[tuple[BufferView, BufferView]] = []
        for home, tensor in zip(map(BufferView.whole, buffers), tensors, strict=True):
            place = self.places[tensor]
            if place != home:
                is_old = place.buffer in buffers
                copies.append((home, self.copied(place, tensor.name_hint) if is_old else place))
        for home, place in copies:
            self.copy(home, place)

    def emit_graph(self, graph: Block, arguments: Sequence[SSAValue]) -> Operation:
        """
        Emits the nodes of a graph, which has operations, on whole buffers; returns the last
        operation. Raises CompileError for one that is not a node of the `glow` dialect.
        """
        for tensor, argument in zip(graph.args, arguments, strict=True):
            argument.name_hint = tensor.name_hint
            self.places[tensor] = BufferView.whole(argument)
        *nodes, terminator = graph.ops
        for node in each(nodes):
            emitter = _EMITTERS.get(type(node))
            if emitter is not None:
                emitter(self, node)
            elif isinstance(node, Node):
                emit_instruction(self, node)
            else:
                raise failure(node, "expected only nodes of the glow dialect that compute values")
        return terminator


_EMITTERS: Table[type[Operation], Callable[[Program, Any], None]] = Table("a way to be emitted")
emits = _EMITTERS.entry
"""Registers the function that emits a node which may need no instruction of its own."""


def emit_instruction(program: Program, node: Node) -> None:
    """Emits the instruction that is derived from a node, on newly allocated buffers."""
    sources = [program.value(program.places[v]) for v in node.operands]
    dests = [program.new_place(result).buffer for result in node.results]
    program.emit(INSTRUCTIONS[type(node)].on(dests, sources, dict(node.properties)))
