"""
The definitions and readers of buffers in a program of instructions.

Before buffers are shared, one instruction writes each of them as a whole, so a buffer is like a
value: it has a definition and readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from xdsl.dialects.builtin import MemRefType, i8
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...glow_dialects.elements import offset_of, storage_type, strides_of
from ...glow_dialects.glow_inst.instruction import Instruction, buffer_of
from ...glow_dialects.glow_inst.memory import (
    NAME,
    WeightOp,
    argument_attributes,
)
from ...glow_dialects.glow_inst.stacked import StackedOp
from ...glow_dialects.operator import element_of, shape_of, text_of
from ...glow_dialects.python_values import to_python
from ...glow_dialects.views import is_whole
from ...glow_dialects.vta.grid import spatial_shape
from ...passes.graph.rewriting import failure
from ...passes.instructions.loops import SPLAT, Body, is_loop
from ...passes.instructions.program import memref
from ...semantics.arrays import constant_array, numpy_dtype


def unsupported(op: Operation, why: str) -> NoReturn:
    """Raises CompileError, which names the source of the operation that VTA cannot compute."""
    instruction = op if isinstance(op, Instruction) else op.parent_op()
    written = instruction.written() if isinstance(instruction, Instruction) else []
    raise failure(
        op,
        f"VTA cannot compute this: {why}. It computes networks of 8-bit integers "
        "with scales that are powers of two (glow-quantize with schema=power_of_two "
        "weight-schema=power_of_two everything=true); what it cannot compute belongs to another "
        "device (glow-opt --partition=devices=cpu,vta)",
        names=[name_of(buffer_of(view)) for view in written],
    )


@dataclass(frozen=True)
class Definition:
    """The instruction that writes a buffer, and the view of all of it through which it does."""

    instruction: Instruction
    view: SSAValue


def is_stack(op: Operation) -> bool:
    """Returns whether an instruction is a loop over elements, with a body."""
    return isinstance(op, StackedOp)


def with_bodies(block: Block) -> list[Instruction]:
    """Returns the instructions of a program, after its loops but splats have become stacks."""
    found: list[Instruction] = []
    for op in list(block.ops):
        if not isinstance(op, Instruction):
            continue
        if is_loop(op) and not is_stack(op) and type(op) is not SPLAT:
            body = Body()
            body.absorb(op)
            stacked = body.stacked()
            block.insert_op_before(stacked, op)
            op.detach()
            op.erase()
            op = stacked
        found.append(op)
    return found


def name_of(buffer: SSAValue) -> str:
    """Returns the name of a buffer in the user's network, if it has one."""
    if isinstance(buffer, BlockArgument):
        name = text_of(argument_attributes(buffer).get(NAME))
        if name is not None:
            return name
    return buffer.name_hint or "value"


def is_byte(value: SSAValue) -> bool:
    """Returns whether a buffer or tensor, or an element of one, has 8 bits, with sign."""
    return storage_type(element_of(value.type)) == i8


def image_shape(view: SSAValue) -> tuple[int, int, int, int] | None:
    """
    Returns [N, C, H, W] of a view of all elements of a buffer in their order; None for other views,
    and for shapes that are not images.
    """
    if not is_whole(memref(view), memref(buffer_of(view))):
        return None
    try:
        return spatial_shape(shape_of(view.type))
    except ValueError:
        return None


def same_layout(a: SSAValue, b: SSAValue) -> bool:
    """Returns whether two views of a buffer are the same images."""
    shape = image_shape(a)
    return shape is not None and shape == image_shape(b)


class Buffers:
    """The buffers of a program. Raises CompileError if one is not written once, as a whole."""

    def __init__(self, instructions: Sequence[Instruction]):
        self._definitions: dict[SSAValue, Definition] = {}
        self._readers: dict[SSAValue, list[Instruction]] = {}
        for op in instructions:
            for view in op.written():
                self._define(op, view)
            for buffer in dict.fromkeys(map(buffer_of, op.read())):
                self._readers.setdefault(buffer, []).append(op)

    def _define(self, op: Instruction, view: SSAValue) -> None:
        buffer = buffer_of(view)
        if not is_whole(memref(view), memref(buffer)):
            unsupported(op, f"it writes a part of {name_of(buffer)}")
        if buffer in self._definitions:
            unsupported(
                op, f"it writes {name_of(buffer)} again (leave out glow-share-buffers for VTA)"
            )
        self._definitions[buffer] = Definition(op, view)

    def definition(self, buffer: SSAValue) -> Definition | None:
        """Returns the instruction that writes a buffer; None for inputs and weights."""
        return self._definitions.get(buffer)

    def readers(self, buffer: SSAValue) -> Sequence[Instruction]:
        """Returns the instructions that read a buffer, each once."""
        return self._readers.get(buffer, ())

    def constant(self, view: SSAValue) -> np.ndarray | None:
        """Returns the elements of a view if they are known at compile time; strides of 0 stay."""
        base = self._constant_buffer(buffer_of(view))
        if base is None:
            return None
        t = memref(view)
        strides = [s * base.itemsize for s in strides_of(t)]
        flat = base.reshape(-1)[offset_of(t) :]
        return np.lib.stride_tricks.as_strided(flat, t.get_shape(), strides, writeable=False)

    def is_constant(self, view: SSAValue) -> bool:
        return self._constant_buffer(buffer_of(view)) is not None

    def _constant_buffer(self, buffer: SSAValue) -> np.ndarray | None:
        if isinstance(buffer.owner, WeightOp):
            return constant_array(buffer.owner.value, buffer.owner.result.type)
        made = self._definitions.get(buffer)
        if made is None or type(made.instruction) is not SPLAT:
            return None
        assert isinstance(buffer.type, MemRefType)
        value = to_python(made.instruction.properties["value"])
        return np.full(shape_of(buffer.type), value, numpy_dtype(element_of(buffer.type)))


def channel_numbers(array: np.ndarray) -> int | np.ndarray | None:
    """
    Returns a constant operand of a loop: one number if all elements are equal, int64[C] if they
    depend only on dimension 1, and otherwise None.
    """
    # one element stands for those that a stride of 0 repeats
    kept = array[tuple(slice(None) if s else slice(0, 1) for s in array.strides)]
    if kept.size and (kept == kept.flat[0]).all():
        return int(kept.flat[0])
    if any(size != 1 for axis, size in enumerate(kept.shape) if axis != 1):
        return None
    return np.broadcast_to(kept.reshape(-1).astype(np.int64), array.shape[1]).copy()
