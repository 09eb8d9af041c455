"""
`main`, which computes the addresses of buffers from the memory plan and calls the kernels in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    SymbolRefAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ...errors import CompileError
from ...glow_dialects.elements import (
    element_bytes,
    extent,
    is_contiguous,
    memref_type,
    offset_of,
    strided_memref,
)
from ...glow_dialects.glow_inst.instruction import Instruction, Qualifier, buffer_of
from ...glow_dialects.glow_inst.memory import AllocActivationOp, WeightOp
from ...glow_dialects.glow_nest.call import CallOp
from ...glow_dialects.plan_attributes import ARENA_SIZE, WEIGHTS_SIZE
from ...passes.visited_operation import visit
from ..threads import BARRIER, NEXT
from .codegen.emit import Emitter
from .codegen.types import INDEX, memory_type, significant_strides
from .function import KernelFunction, reinterpreted, view_of
from .scratch import scratch_places
from .threads.hazards import Hazards, MemoryUse, any_meet
from .threads.hazards import Region as MemoryRegion

PTR = llvm.LLVMPointerType()
THREADS = "glow_nest.threads"
"""The attribute of `main` with the number of threads that run it together; 1 if there is none."""
_LEADING = (INDEX, PTR)
_ARENA = "arena"


def main_of(module: ModuleOp) -> func.FuncOp:
    """Returns the function `main` of a program. Raises CompileError unless it has one block."""
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == "main":
            if len(op.body.blocks) != 1:
                raise CompileError(f"expected main with one block, found {len(op.body.blocks)}")
            return op
    raise CompileError("expected a function called main, found none")


def planned_size(main: func.FuncOp, name: str, before: str) -> int:
    """Returns a size that memory planning found. `before` names the pass that needs it."""
    value = main.attributes.get(name)
    if not isinstance(value, IntegerAttr):
        raise CompileError(f"main has no {name}: run glow-allocate before {before}")
    return value.value.data


def build_main(
    main: func.FuncOp, kernels: Mapping[str, KernelFunction], threads: int
) -> list[Operation]:
    """Returns the new `main`, and declarations of the functions by which threads work together."""
    program = list(main.body.block.ops)
    calls = [(op, kernels[op.callee.string_value()]) for op in program if isinstance(op, CallOp)]
    needs: dict[Operation, int] = {op: k.scratch_bytes for op, k in calls if k.scratch_bytes}
    places = scratch_places(program, needs)
    weights, arena = (
        planned_size(main, name, "glow-generate-loops") for name in (WEIGHTS_SIZE, ARENA_SIZE)
    )
    size = max([arena, *(at + needs[op] for op, at in places.items())])
    caller = _Main(main, weights, size, places, shared=threads > 1)
    for op, kernel in calls:
        visit(op)
        caller.call(op, kernel)
    return [*(_declarations() if threads > 1 else ()), caller.finish()]


class _Main:
    """The function that calls the kernels."""

    def __init__(
        self,
        main: func.FuncOp,
        weights: int,
        arena: int,
        scratch: Mapping[Operation, int],
        shared: bool,
    ):
        self._main = main
        inputs = [_argument_type(a.type) for a in main.body.block.args]
        types = [MemRefType(i8, [weights]), *inputs, MemRefType(i8, [arena])]
        self._leading: Sequence[SSAValue] = ()
        """The number of the thread, and the team, if there are several threads."""
        self._block = Block(arg_types=[*(_LEADING if shared else ()), *types])
        self._hazards = Hazards(any_meet)
        self._arena = arena
        self._scratch = scratch
        self._emitter = Emitter(self._block)
        self._views: dict[SSAValue, SSAValue] = {}
        self._places: dict[tuple[SSAValue, int, Attribute], SSAValue] = {}
        arguments = list(self._block.args)
        if shared:
            self._leading = arguments[:2]
            self._leading[0].name_hint, self._leading[1].name_hint = "thread", "team"
        first, *middle, last = arguments[len(self._leading) :]
        self._weights, self._activations = first, last
        first.name_hint, last.name_hint = "weights", "arena"
        for old, new in zip(main.body.block.args, middle, strict=True):
            self._views[old] = new
            new.name_hint = old.name_hint

    def call(self, op: Instruction, kernel: KernelFunction) -> None:
        operands = [*self._threading(op, kernel), *(self._view(v) for v in op.operands)]
        if kernel.scratch_bytes:
            t = MemRefType(i8, [kernel.scratch_bytes])
            operands.append(self._place(self._activations, self._scratch[op], t))
        self._emitter.call(SymbolRefAttr(kernel.function.sym_name), operands)

    def _threading(self, op: Instruction, kernel: KernelFunction) -> Sequence[SSAValue]:
        """
        Returns the leading arguments of a call, and emits a barrier before it if there must be one.
        """
        if not kernel.has_thread:
            return ()
        thread, team = self._leading
        if self._hazards.need_barrier(self._use(op, kernel)):
            self._emitter.call(SymbolRefAttr(BARRIER), (team, thread))
        if kernel.has_barriers:
            self._hazards.passed_barrier()
        return (thread, team) if kernel.has_team else (thread,)

    def _use(self, op: Instruction, kernel: KernelFunction) -> MemoryUse[MemoryRegion]:
        reads: list[MemoryRegion] = []
        writes: list[MemoryRegion] = []
        if kernel.scratch_bytes:
            start = self._scratch[op]
            writes.append(MemoryRegion(_ARENA, start, start + kernel.scratch_bytes))
        for qualifier, value in op.qualified_operands():
            region = _region(value)
            if region is not None:
                (reads if qualifier is Qualifier.IN else writes).append(region)
        return MemoryUse(reads, writes, kernel.alone)

    def _view(self, value: SSAValue) -> SSAValue:
        if value not in self._views:
            self._views[value] = self._formed(value)
        return self._views[value]

    def _formed(self, value: SSAValue) -> SSAValue:
        """Returns a buffer or view as a memref: bytes of a segment, or a part of an argument."""
        t = value.type
        assert isinstance(t, MemRefType)
        offset, shape, strides = offset_of(t), t.get_shape(), significant_strides(t)
        element = memory_type(t.element_type)
        buffer = buffer_of(value)
        if isinstance(buffer, BlockArgument):
            wanted = strided_memref(element, shape, strides, offset)
            source = self._views[buffer]
            return reinterpreted(self._emitter, source, wanted, offset, shape, strides)
        assert isinstance(buffer.owner, AllocActivationOp | WeightOp)
        planned = buffer.owner.offset
        if planned is None:
            raise CompileError(f"{buffer.owner.name} has no offset: run glow-allocate first")
        is_weight = isinstance(buffer.owner, WeightOp)
        segment = self._weights if is_weight else self._activations
        at = planned.value.data + offset * element_bytes(t.element_type)
        if is_contiguous(t):
            return self._place(segment, at, memref_type(element, shape))
        # a memref.view is dense: it covers what the strided memref reaches, and a cast adds the
        # strides
        dense = self._place(segment, at, memref_type(element, [max(1, extent(t) - offset)]))
        wanted = strided_memref(element, shape, strides)
        return reinterpreted(self._emitter, dense, wanted, 0, shape, strides)

    def _place(self, segment: SSAValue, at: int, t: MemRefType) -> SSAValue:
        key = (segment, at, t)
        if key not in self._places:
            shift = self._emitter.index(at)
            self._places[key] = view_of(self._emitter, segment, shift, t)
        return self._places[key]

    def finish(self) -> func.FuncOp:
        self._emitter.finish()
        self._block.add_op(func.ReturnOp())
        types = [a.type for a in self._block.args]
        attributes = self._main.arg_attrs
        count = len(self._main.body.block.args)
        middle = list(attributes) if attributes else [DictionaryAttr({})] * count
        none = DictionaryAttr({})
        new = func.FuncOp(
            "main",
            FunctionType.from_lists(types, []),
            Region(self._block),
            arg_attrs=ArrayAttr([none] * len(self._leading) + [none, *middle, none]),
        )
        new.attributes.update(self._main.attributes)
        new.attributes.pop(THREADS, None)
        new.attributes[ARENA_SIZE] = IntegerAttr(self._arena, i64)
        return new


def _argument_type(t: Attribute) -> Attribute:
    assert isinstance(t, MemRefType)
    strides, offset = significant_strides(t), offset_of(t)
    return strided_memref(memory_type(t.element_type), t.get_shape(), strides, offset)


def _declarations() -> list[func.FuncOp]:
    """Returns the declarations of the functions by which threads work together."""
    return [
        func.FuncOp.external(BARRIER, [PTR, INDEX], []),
        func.FuncOp.external(NEXT, [PTR, INDEX, INDEX], [INDEX]),
    ]


def _region(value: SSAValue) -> MemoryRegion | None:
    """
    Returns the bytes of a buffer that a kernel may touch; None for weights, which never change.
    """
    buffer = buffer_of(value)
    if isinstance(buffer, BlockArgument):
        return MemoryRegion(buffer, 0, 1, value)
    if not isinstance(buffer.owner, AllocActivationOp) or buffer.owner.offset is None:
        return None
    t = buffer.type
    assert isinstance(t, MemRefType)
    start = buffer.owner.offset.value.data
    end = start + extent(t) * element_bytes(t.element_type)
    return MemoryRegion(_ARENA, start, end, value)
