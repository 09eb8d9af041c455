"""A kernel's function: parameters and scratch as flat memrefs, then its nests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, llvm, memref
from xdsl.dialects.builtin import DenseArrayBase, FunctionType, MemRefType, StringAttr, i8, i64
from xdsl.dialects.builtin import i32 as _i32
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...glow_dialects.elements import element_bytes
from ...glow_dialects.glow_inst.instruction import Instruction
from ...glow_dialects.machine import MachineDescription
from .affine import Buffer, View
from .codegen.emit import Emitter
from .codegen.generate import generate
from .codegen.memory import Memory
from .codegen.types import INDEX, flat_type
from .instructions import Parameter, describe
from .registry import ALIGNMENT, Kernel
from .threads.sharing import Sharing, buffers_outside, divided_loops

_PRIVATE = StringAttr("private")


@dataclass(frozen=True)
class KernelFunction:
    function: func.FuncOp
    scratch_bytes: int
    """If not 0, the function's last parameter is so much scratch memory."""
    has_thread: bool = False
    """Whether the first parameter is the number of the thread that calls."""
    has_team: bool = False
    """Whether the team of threads is the next parameter, because they draw tickets or wait."""
    has_barriers: bool = False
    """Whether threads wait for each other."""
    alone: bool = True
    """Whether only thread 0 does anything."""


def build_function(
    name: str,
    op: Instruction,
    parameters: Sequence[Parameter],
    machine: MachineDescription,
    threads: int = 1,
) -> KernelFunction:
    """The function that does what an instruction says, on memory as the parameters describe it."""
    views = [p.view(i) for i, p in enumerate(parameters)]
    kernel = describe(op, views, machine, threads)
    types = [p.type for p in parameters]
    if threads == 1:
        return _alone(name, kernel, views, types, machine)
    return _shared(name, kernel, views, types, machine, threads)


def _alone(
    name: str,
    kernel: Kernel,
    views: Sequence[View],
    types: Sequence[Attribute],
    machine: MachineDescription,
) -> KernelFunction:
    scratch = [MemRefType(i8, [kernel.scratch_bytes])] if kernel.scratch_bytes else []
    block = Block(arg_types=[*types, *scratch])
    emitter = Emitter(block)
    flat = _parameters(emitter, views, block.args)
    for buffer in kernel.scratch_buffers:
        shift = emitter.index(buffer.scratch_offset)
        flat[buffer] = _in_scratch(emitter, block.args[-1], buffer, shift)
    generate(kernel.steps, emitter, Memory(emitter, flat), machine)
    return KernelFunction(_finished(name, emitter, block), kernel.scratch_bytes)


def _shared(
    name: str,
    kernel: Kernel,
    views: Sequence[View],
    types: Sequence[Attribute],
    machine: MachineDescription,
    threads: int,
) -> KernelFunction:
    """
    The function for one of several threads. Behind the scratch that all use lies that of each
    thread.
    """
    divided = divided_loops(kernel.steps, threads)
    private = {b: None for d in divided.values() for b in d.private}
    common = buffers_outside(kernel.steps, divided)
    places, common_bytes = _packed([b for b in kernel.scratch_buffers if b in common])
    own_places, own_bytes = _packed(list(private))
    scratch_bytes = common_bytes + threads * own_bytes
    scratch = [MemRefType(i8, [scratch_bytes])] if scratch_bytes else []
    block = Block(arg_types=[INDEX, llvm.LLVMPointerType(), *types, *scratch])
    thread, team, *arguments = block.args
    thread.name_hint, team.name_hint = "thread", "team"
    emitter = Emitter(block)
    flat = _parameters(emitter, views, arguments)
    for buffer, place in places.items():
        flat[buffer] = _in_scratch(emitter, arguments[-1], buffer, emitter.index(place))
    own: dict[Buffer, SSAValue] = {}
    for buffer, place in own_places.items():
        start = emitter.binary(arith.MuliOp, thread, emitter.index(own_bytes))
        shift = emitter.binary(arith.AddiOp, start, emitter.index(common_bytes + place))
        own[buffer] = _in_scratch(emitter, arguments[-1], buffer, shift)
    memory = Memory(emitter, flat)
    sharing = Sharing(emitter, memory, machine, threads, thread, team, divided, own)
    sharing.generate(kernel.steps, {})
    has_team = any(team in op.operands for op in block.walk())
    if not has_team:
        block.erase_arg(team)
    function = _finished(name, emitter, block)
    barriers, alone = sharing.has_barriers, sharing.alone
    return KernelFunction(function, scratch_bytes, True, has_team, barriers, alone)


def _parameters(
    emitter: Emitter, views: Sequence[View], arguments: Sequence[SSAValue]
) -> dict[Buffer, SSAValue]:
    return {
        view.buffer: _flattened(emitter, argument, view.buffer)
        for view, argument in zip(views, arguments, strict=False)
    }


def _finished(name: str, emitter: Emitter, block: Block) -> func.FuncOp:
    emitter.finish()
    block.add_op(func.ReturnOp())
    t = FunctionType.from_lists([a.type for a in block.args], [])
    return func.FuncOp(name, t, Region(block), visibility=_PRIVATE)


def _flattened(emitter: Emitter, argument: SSAValue, buffer: Buffer) -> SSAValue:
    t = flat_type(buffer.element, buffer.low, buffer.high)
    return reinterpreted(emitter, argument, t, buffer.low, (buffer.high - buffer.low,), (1,))


def _in_scratch(emitter: Emitter, scratch: SSAValue, buffer: Buffer, shift: SSAValue) -> SSAValue:
    return view_of(emitter, scratch, shift, flat_type(buffer.element, 0, buffer.high))


def _packed(buffers: Sequence[Buffer]) -> tuple[dict[Buffer, int], int]:
    """The place of each buffer if they lie one behind the other, and the bytes of all."""
    places, end = {}, 0
    for buffer in buffers:
        places[buffer] = end
        size = buffer.high * element_bytes(buffer.element)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return places, end


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
