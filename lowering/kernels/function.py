"""A kernel's function: parameters and scratch as flat memrefs, then its nests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DenseArrayBase, FunctionType, MemRefType, StringAttr, i8, i64
from xdsl.dialects.builtin import i32 as _i32
from xdsl.ir import Block, Region, SSAValue

from ...glow_dialects.glow_inst.instruction import Instruction
from .affine import Buffer
from .emit import Emitter
from .generate import generate
from .instructions import Parameter, describe
from .machine import MachineDescription
from .memory import Memory
from .types import flat_type

_PRIVATE = StringAttr("private")


@dataclass(frozen=True)
class KernelFunction:
    function: func.FuncOp
    scratch_bytes: int
    """If not 0, the function's last parameter is so much scratch memory."""


def build_function(
    name: str, op: Instruction, parameters: Sequence[Parameter], machine: MachineDescription
) -> KernelFunction:
    """The function that does what an instruction says, on memory as the parameters describe it."""
    views = [p.view(i) for i, p in enumerate(parameters)]
    kernel = describe(op, views)
    types = [p.type for p in parameters]
    if kernel.scratch_bytes:
        types.append(MemRefType(i8, [kernel.scratch_bytes]))
    block = Block(arg_types=types)
    emitter = Emitter(block)
    flat: dict[Buffer, SSAValue] = {}
    for view, argument in zip(views, block.args, strict=False):
        flat[view.buffer] = _flattened(emitter, argument, view.buffer)
    for buffer in kernel.scratch_buffers:
        flat[buffer] = _in_scratch(emitter, block.args[-1], buffer)
    generate(kernel.steps, emitter, Memory(emitter, flat), machine)
    emitter.finish()
    block.add_op(func.ReturnOp())
    function = func.FuncOp(
        name, FunctionType.from_lists(types, []), Region(block), visibility=_PRIVATE
    )
    return KernelFunction(function, kernel.scratch_bytes)


def _flattened(emitter: Emitter, argument: SSAValue, buffer: Buffer) -> SSAValue:
    t = flat_type(buffer.element, buffer.low, buffer.high)
    return reinterpreted(emitter, argument, t, buffer.low, (buffer.high - buffer.low,), (1,))


def _in_scratch(emitter: Emitter, scratch: SSAValue, buffer: Buffer) -> SSAValue:
    shift = emitter.index(buffer.scratch_offset)
    t = flat_type(buffer.element, 0, buffer.high)
    return view_of(emitter, scratch, shift, t)


def view_of(emitter: Emitter, source: SSAValue, shift: SSAValue, t: MemRefType) -> SSAValue:
    """`memref.view` of bytes; no dimension is dynamic."""
    return emitter.op(memref.ViewOp, (source, shift), t)


def reinterpreted(
    emitter: Emitter,
    source: SSAValue,
    t: MemRefType,
    offset: int,
    sizes: Sequence[int],
    strides: Sequence[int],
) -> SSAValue:
    """`memref.reinterpret_cast` with everything static; `source` itself if it has that type."""
    if source.type == t:
        return source
    properties = {
        "static_offsets": DenseArrayBase.from_list(i64, [offset]),
        "static_sizes": DenseArrayBase.from_list(i64, sizes),
        "static_strides": DenseArrayBase.from_list(i64, strides),
        "operandSegmentSizes": DenseArrayBase.from_list(_i32, [1, 0, 0, 0]),
    }
    return emitter.op(memref.ReinterpretCastOp, (source,), t, dict(properties))
