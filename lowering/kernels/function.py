"""The function of a kernel: parameters and scratch as flat memrefs, then its nests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    i8,
    i64,
)
from xdsl.dialects.builtin import i32 as _i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...glow_dialects.elements import element_bytes, offset_of, strided_memref, strides_of
from ...glow_dialects.glow_nest.affine import Buffer
from ...glow_dialects.glow_nest.kernel import BarrierOp, KernelOp, RepeatOp
from ...glow_dialects.glow_nest.ops import NestOp
from ...glow_dialects.glow_nest.schedule_verification import verify_registers, verify_schedule
from ...glow_dialects.glow_nest.steps import KernelSteps
from ...glow_dialects.machine import MachineDescription
from .codegen.emit import Emitter
from .codegen.limited_loops import RowCount
from .codegen.memory import Bound, FlatBuffers, on_stack
from .codegen.step_generator import Sharing, StepGenerator
from .codegen.types import INDEX, flat_type, memory_type, significant_strides
from .scratch import ALIGNMENT, is_small

_ONE_OPERAND = DenseArrayBase.from_list(_i32, [1, 0, 0, 0])

_PRIVATE = StringAttr("private")


_INTERFACE = "glow_nest.interface"
"""The attribute of the function of a kernel with what its callers need to know, if anything."""


@dataclass(frozen=True)
class KernelInterface:
    """The facts about the function of a kernel that its callers need."""

    scratch_bytes: int = 0
    """
    The bytes of scratch memory that the function takes as its last parameter; if 0, there is none.
    """
    has_thread: bool = False
    """Whether the first parameter is the number of the thread that calls."""
    has_team: bool = False
    """
    Whether the next parameter is the team of threads, which threads need to draw tickets or to
    wait.
    """
    has_barriers: bool = False
    """Whether threads wait for each other."""
    is_shared: bool = False
    """Whether threads other than the first do any work."""

    @classmethod
    def of(cls, function: func.FuncOp) -> KernelInterface:
        """Returns what the attribute of a function says, which may be a declaration."""
        found = function.attributes.get(_INTERFACE)
        if not isinstance(found, DictionaryAttr):
            return cls()
        size = found.data.get("scratch_bytes")
        scratch_bytes = size.value.data if isinstance(size, IntegerAttr) else 0
        return cls(scratch_bytes, *(name in found.data for name in _FLAGS))

    def note(self, function: func.FuncOp) -> None:
        """Sets the attribute of a function, without what equals the defaults."""
        facts: dict[str, Attribute] = {name: UnitAttr() for name in _FLAGS if getattr(self, name)}
        if self.scratch_bytes:
            facts["scratch_bytes"] = IntegerAttr(self.scratch_bytes, i64)
        if facts:
            function.attributes[_INTERFACE] = DictionaryAttr(facts)


_FLAGS = tuple(field.name for field in fields(KernelInterface) if field.default is False)


def build_function(kernel: KernelOp, machine: MachineDescription) -> func.FuncOp:
    """
    Returns the function of a kernel, which says its `KernelInterface`. The private scratch of each
    thread follows the scratch that all threads use; what is small lies on the stack instead.
    """
    steps, threads = KernelSteps(kernel), kernel.thread_count
    _expect_registers(kernel, steps, machine)
    shared = threads > 1
    loops = [op for op in kernel.walk() if isinstance(op, RepeatOp)]
    scratch = {steps.buffer(op.result): op.result for op in steps.scratch()}
    common = [b for b, v in scratch.items() if shared and _is_common(v, loops)]
    small = [b for b in scratch if b not in common and is_small(b)]
    places, common_bytes = _packed(common if shared else list(scratch), small)
    private = [steps.buffer(v) for loop in loops for v in loop.private]
    own_places, own_bytes = _packed(private, small)
    scratch_bytes = common_bytes + threads * own_bytes
    leading = [INDEX, llvm.LLVMPointerType()] if shared else []
    types = [argument_type(a.type) for a in kernel.body.block.args]
    scratch_types = [MemRefType(i8, [scratch_bytes])] if scratch_bytes else []
    block = Block(arg_types=[*leading, *types, *scratch_types])
    arguments = block.args[len(leading) :]
    emitter = Emitter(block)
    flat: dict[Buffer, SSAValue] = {}
    for own, argument in zip(kernel.body.block.args, arguments, strict=False):
        buffer = steps.buffer(own)
        t = flat_type(buffer.element, buffer.low, buffer.high)
        flat[buffer] = reinterpreted(emitter, argument, t)
    for buffer, place in places.items():
        flat[buffer] = _in_scratch(emitter, arguments[-1], buffer, emitter.index(place))
    sharing = None
    private_flat = {buffer: on_stack(emitter, buffer) for buffer in small}
    flat.update(private_flat)
    if shared:
        thread, team = block.args[:2]
        thread.name_hint, team.name_hint = "thread", "team"
        sharing = Sharing(emitter, threads, thread, team)
        for buffer, place in own_places.items():
            start = emitter.times(thread, own_bytes)
            shift = emitter.plus(start, common_bytes + place)
            private_flat[buffer] = _in_scratch(emitter, arguments[-1], buffer, shift)
    code = StepGenerator(steps, FlatBuffers(emitter, flat), machine, sharing, private_flat)
    count = RowCount()
    if kernel.rows is not None:
        memory = flat[steps.buffer(kernel.body.block.args[-1])]
        number = emitter.load(memory, emitter.index(0), i64, 1)
        count = RowCount(emitter.cast("index_cast", number, INDEX))
    code.block(kernel.body.block, Bound(count=count))
    return _finished(kernel, emitter, block, scratch_bytes, sharing)


def _expect_registers(kernel: KernelOp, steps: KernelSteps, machine: MachineDescription) -> None:
    """Raises VerifyException, with the schedule, if a register tile does not fit."""
    for op in kernel.walk():
        if not isinstance(op, NestOp) or op.schedule is None:
            continue
        nest = steps.nest(op)
        schedule = op.bound_schedule(nest)
        assert schedule is not None
        verify_schedule(nest, schedule)
        try:
            verify_registers(nest, schedule, machine.vector_registers)
        except VerifyException as error:
            raise VerifyException(f"{error}: {op.schedule}") from None


def _is_common(scratch: SSAValue, loops: Sequence[RepeatOp]) -> bool:
    """Returns whether scratch is accessed where it is not private, so that threads share it."""
    private = {op for loop in loops if scratch in loop.private for op in loop.walk()}
    return any(use.operation not in private for use in scratch.uses)


def argument_type(t: Attribute) -> MemRefType:
    """Returns the type of a buffer as memory holds its elements."""
    assert isinstance(t, MemRefType)
    strides, offset = significant_strides(t), offset_of(t)
    return strided_memref(memory_type(t.element_type), t.get_shape(), strides, offset)


def _finished(
    kernel: KernelOp, emitter: Emitter, block: Block, scratch_bytes: int, sharing: Sharing | None
) -> func.FuncOp:
    emitter.finish()
    has_team = sharing is not None and any(sharing.team in op.operands for op in block.walk())
    if sharing is not None and not has_team:
        block.erase_arg(sharing.team)
    block.add_op(func.ReturnOp())
    t = FunctionType.from_lists([a.type for a in block.args], [])
    function = func.FuncOp(kernel.sym_name.data, t, Region(block), visibility=_PRIVATE)
    ops = list(kernel.walk())
    has_barriers = any(isinstance(op, BarrierOp) for op in ops)
    is_shared = any(_is_shared(op) for op in ops)
    interface = KernelInterface(
        scratch_bytes, sharing is not None, has_team, has_barriers, is_shared
    )
    interface.note(function)
    return function


def _is_shared(op: Operation) -> bool:
    if isinstance(op, NestOp):
        return op.split is not None
    return isinstance(op, RepeatOp) and op.divided is not None


def _in_scratch(emitter: Emitter, scratch: SSAValue, buffer: Buffer, shift: SSAValue) -> SSAValue:
    t = flat_type(buffer.element, 0, buffer.high)
    return emitter.op(memref.ViewOp, (scratch, shift), t)


def _packed(buffers: Sequence[Buffer], others: Sequence[Buffer]) -> tuple[dict[Buffer, int], int]:
    """
    Returns the place of each buffer if they lie one after the other, and the bytes of all. Some
    `others` lie elsewhere.
    """
    places, end = {}, 0
    for buffer in dict.fromkeys(b for b in buffers if b not in others):
        places[buffer] = end
        size = buffer.high * element_bytes(buffer.element)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return places, end


def reinterpreted(emitter: Emitter, source: SSAValue, t: MemRefType) -> SSAValue:
    """
    Returns `memref.reinterpret_cast` with everything static; `source` itself if it has that type.
    """
    if source.type == t:
        return source
    properties = {
        "static_offsets": _integers(offset_of(t)),
        "static_sizes": _integers(*t.get_shape()),
        "static_strides": _integers(*strides_of(t)),
        "operandSegmentSizes": _ONE_OPERAND,
    }
    return emitter.op(memref.ReinterpretCastOp, (source,), t, properties)


@lru_cache(maxsize=4096)
def _integers(*values: int) -> Attribute:
    return DenseArrayBase.from_list(i64, values)
