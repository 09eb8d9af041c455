"""The memory of `main`: the addresses of buffers, and the bytes that kernels may touch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ...errors import CompileError
from ...glow_dialects.elements import (
    element_bytes,
    extent,
    is_contiguous,
    memref_type,
    offset_of,
    strided_memref,
    type_bytes,
)
from ...glow_dialects.glow_inst.instruction import buffer_of
from ...glow_dialects.glow_inst.memory import AllocActivationOp, WeightOp
from ...glow_dialects.operator import element_of
from .codegen.emit import Emitter
from .codegen.types import memory_type, significant_strides
from .function import argument_type, reinterpreted
from .threads.hazards import Region

ARENA = "arena"
"""The segment of the arena in regions of memory."""


@dataclass
class MainMemory:
    """The buffers of a program as memrefs, which are made when they are first needed."""

    emitter: Emitter
    weights: SSAValue
    arena: SSAValue
    views: dict[SSAValue, SSAValue]
    """The memref of each buffer or view so far, at first of the program's inputs and outputs."""
    places: dict[tuple[SSAValue, int, Attribute], SSAValue] = field(default_factory=dict)
    operands: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """The operand that each argument of a body is, or is a row of."""

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Forgets what is formed meanwhile: values of a body, which nothing else can use."""
        outside = self.views.copy(), self.places.copy()
        yield
        self.views, self.places = outside

    def bind(self, argument: SSAValue, operand: SSAValue, step: SSAValue | None = None) -> None:
        """
        Lets an argument of a body be an operand of the operation around it, or its row `step`.
        """
        self.operands[argument] = operand
        if step is not None:
            self.views[argument] = self._row(argument, operand, step)
            return
        t = argument_type(argument.type)
        self.views[argument] = reinterpreted(self.emitter, self.view(operand), t)

    def scratch(self, at: int, t: MemRefType) -> SSAValue:
        """Returns temporary memory at a place in the arena."""
        return self._place(self.arena, at, t)

    def _row(self, argument: SSAValue, operand: SSAValue, step: SSAValue) -> SSAValue:
        """Returns the memory of an argument that is a row of an activation."""
        t = argument_type(argument.type)
        buffer = buffer_of(operand).owner
        assert isinstance(buffer, AllocActivationOp)
        assert buffer.offset is not None
        distance = self.emitter.times(step, type_bytes(t))
        shift = self.emitter.plus(distance, buffer.offset.value.data)
        return self.emitter.op(memref.ViewOp, (self.arena, shift), t)

    def load(self, value: SSAValue) -> SSAValue:
        """Returns the only element of a buffer."""
        view = self.view(value)
        return self.emitter.op(memref.LoadOp, (view,), element_of(view.type))

    def is_true(self, condition: SSAValue) -> SSAValue:
        """Returns the only element of a buffer of i1."""
        found = self.load(condition)
        return self.emitter.compare("ne", found, self.emitter.constant(found.type, 0))

    def store(self, number: SSAValue, value: SSAValue) -> None:
        """Writes a number, which all threads know, into a buffer of one integer."""
        view = self.view(value)
        cast = self.emitter.cast("index_cast", number, element_of(view.type))
        self.emitter.add(memref.StoreOp.create(operands=(cast, view)))

    def regions(self, value: SSAValue) -> list[Region]:
        """
        Returns the bytes that a step may touch, of a buffer or of the operand that an argument of a
        body is; none of weights, which never change.
        """
        buffer, view = buffer_of(value), value
        while buffer in self.operands:
            buffer, view = buffer_of(self.operands[buffer]), None
        if isinstance(buffer, BlockArgument):
            return [Region(buffer, 0, 1, view)]
        if not isinstance(buffer.owner, AllocActivationOp) or buffer.owner.offset is None:
            return []
        start = buffer.owner.offset.value.data
        return [Region(ARENA, start, start + type_bytes(buffer.owner.result.type), view)]

    def view(self, value: SSAValue) -> SSAValue:
        """Returns the memref of a buffer or view."""
        if value not in self.views:
            self.views[value] = self._formed(value)
        return self.views[value]

    def _formed(self, value: SSAValue) -> SSAValue:
        """Returns a buffer or view as a memref: bytes of a segment, or a part of an argument."""
        t = value.type
        assert isinstance(t, MemRefType)
        buffer = buffer_of(value)
        if isinstance(buffer, BlockArgument):
            return reinterpreted(self.emitter, self.views[buffer], argument_type(t))
        assert isinstance(buffer.owner, AllocActivationOp | WeightOp)
        planned = buffer.owner.offset
        if planned is None:
            raise CompileError(f"{buffer.owner.name} has no offset: run glow-allocate first")
        is_weight = isinstance(buffer.owner, WeightOp)
        segment = self.weights if is_weight else self.arena
        at = planned.value.data + offset_of(t) * element_bytes(t.element_type)
        element, shape = memory_type(t.element_type), t.get_shape()
        if is_contiguous(t):
            return self._place(segment, at, memref_type(element, shape))
        # a memref.view is dense: it covers what the strided memref reaches, and a cast adds the
        # strides
        reached = max(1, extent(t) - offset_of(t))
        dense = self._place(segment, at, memref_type(element, [reached]))
        wanted = strided_memref(element, shape, significant_strides(t))
        return reinterpreted(self.emitter, dense, wanted)

    def _place(self, segment: SSAValue, at: int, t: MemRefType) -> SSAValue:
        key = (segment, at, t)
        if key not in self.places:
            shift = self.emitter.index(at)
            self.places[key] = self.emitter.op(memref.ViewOp, (segment, shift), t)
        return self.places[key]
