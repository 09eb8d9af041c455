"""
`main`, which computes the addresses of buffers from the memory plan and calls the kernels in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from xdsl.dialects import arith, func, llvm, scf
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
from xdsl.rewriter import Rewriter

from ...errors import CompileError
from ...glow_dialects.glow_inst.control import (
    ControlInstruction,
    IfInstruction,
    LoopInstruction,
)
from ...glow_dialects.glow_inst.instruction import Qualifier
from ...glow_dialects.glow_inst.memory import argument_qualifier
from ...glow_dialects.glow_nest.call import CallOp
from ...glow_dialects.machine import LINE_BYTES
from ...glow_dialects.plan_attributes import ARENA_SIZE, WEIGHTS_SIZE
from ...passes.instructions.program import in_order
from ...passes.visited_operation import visit
from ..threads import BARRIER, NEXT
from .codegen.emit import Emitter
from .codegen.types import INDEX
from .function import KernelInterface, argument_type
from .main_memory import ARENA, MainMemory
from .scratch import scratch_places
from .threads.hazards import Hazards, MemoryUse, any_meet
from .threads.hazards import Region as MemoryRegion

PTR = llvm.LLVMPointerType()
THREADS = "glow_nest.threads"
"""The attribute of `main` with the number of threads that run it together; 1 if there is none."""
_LEADING = (INDEX, PTR)


def main_of(module: ModuleOp) -> func.FuncOp:
    """Returns the function `main` of a program. Raises CompileError unless it has one block."""
    main = find_main(module)
    if main is None:
        raise CompileError("expected a function called main, found none")
    return main


def find_main(module: ModuleOp) -> func.FuncOp | None:
    """
    Returns `main`, which a part of a program may lack. Raises CompileError unless it has one block.
    """
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == "main":
            if len(op.body.blocks) != 1:
                raise CompileError(f"expected main with one block, found {len(op.body.blocks)}")
            return op
    return None


def is_shared(main: func.FuncOp) -> bool:
    """
    Returns whether several threads run a `main` that `glow-generate-loops` made: then its first
    parameters are the number of the thread, and the team.
    """
    return main.body.block.args[0].type == INDEX


def planned_size(main: func.FuncOp, name: str, before: str) -> int:
    """Returns a size that memory planning found. `before` names the pass that needs it."""
    value = main.attributes.get(name)
    if not isinstance(value, IntegerAttr):
        raise CompileError(f"main has no {name}: run glow-allocate before {before}")
    return value.value.data


def arena_of(main: func.FuncOp, before: str) -> SSAValue[MemRefType]:
    """
    Returns the arena of a `main` that `glow-generate-loops` made, which is its last parameter.
    Raises CompileError if it has none; `before` names the pass that needs it.
    """
    arguments = main.body.block.args
    if len(arguments) < 2 or not _is_segment(arguments[-1]):
        raise CompileError(
            f"main has no arena as its last parameter: run glow-generate-loops before {before}"
        )
    return SSAValue.get(arguments[-1], type=MemRefType)


def _is_segment(argument: BlockArgument) -> bool:
    """Returns whether a parameter is bytes of which the program says no use."""
    t = argument.type
    is_bytes = isinstance(t, MemRefType) and len(t.get_shape()) == 1 and t.element_type == i8
    return is_bytes and argument_qualifier(argument) is None


def enlarge_arena(
    main: func.FuncOp, arena: SSAValue[MemRefType], more: int
) -> tuple[SSAValue, int]:
    """
    Returns the arena with more bytes at its end, from the next cache line on, and the place of the
    first of them.
    """
    start = -(-arena.type.get_shape()[0] // LINE_BYTES) * LINE_BYTES
    main.attributes[ARENA_SIZE] = IntegerAttr(start + more, i64)
    larger = Rewriter.replace_value_with_new_type(arena, MemRefType(i8, [start + more]))
    main.update_function_type()
    return larger, start


def build_main(
    main: func.FuncOp, kernels: Mapping[str, func.FuncOp], threads: int
) -> list[Operation]:
    """
    Returns the new `main`, which calls `kernels`, functions by their names, and declarations of the
    functions by which threads work together. If threads share no kernel, `main` is for one thread.
    """
    interfaces = {name: KernelInterface.of(kernel) for name, kernel in kernels.items()}
    program = list(in_order(main.body.block))
    calls = [(op, interfaces[op.callee.string_value()]) for op in program if isinstance(op, CallOp)]
    divided = threads > 1 and any(kernel.is_shared for _, kernel in calls)
    needs: dict[Operation, int] = {op: k.scratch_bytes for op, k in calls if k.scratch_bytes}
    places = scratch_places(program, needs)
    weights, arena = (
        planned_size(main, name, "glow-generate-loops") for name in (WEIGHTS_SIZE, ARENA_SIZE)
    )
    size = max([arena, *(at + needs[op] for op, at in places.items())])
    caller = _Main(main, weights, size, places, interfaces, shared=divided)
    caller.run(main.body.block)
    shared = [
        func.FuncOp.external(BARRIER, [PTR, INDEX], []),
        func.FuncOp.external(NEXT, [PTR, INDEX, INDEX], [INDEX]),
    ]
    return [*(shared if divided else ()), caller.finish()]


class _Main:
    """The function that calls the kernels."""

    def __init__(
        self,
        main: func.FuncOp,
        weights: int,
        arena: int,
        scratch: Mapping[Operation, int],
        kernels: Mapping[str, KernelInterface],
        shared: bool,
    ):
        self._main = main
        given = main.body.block.args
        leading = ("thread", "team") if shared else ()
        names = [*leading, "weights", *(a.name_hint for a in given), "arena"]
        segments = (MemRefType(i8, [weights]), MemRefType(i8, [arena]))
        types = [segments[0], *(argument_type(a.type) for a in given), segments[1]]
        self._block = Block(arg_types=[*(_LEADING if shared else ()), *types])
        for argument, name in zip(self._block.args, names, strict=True):
            argument.name_hint = name
        self._leading = self._block.args[: len(leading)]
        """The number of the thread, and the team, if there are several threads."""
        self._hazards = Hazards(any_meet)
        self._arena = arena
        self._scratch = scratch
        self._kernels = kernels
        self._emitter = Emitter(self._block)
        first, *middle, last = self._block.args[len(leading) :]
        views: dict[SSAValue, SSAValue] = dict(zip(given, middle, strict=True))
        self._memory = MainMemory(self._emitter, first, last, views)

    def run(self, block: Block) -> None:
        """Emits the calls of a program."""
        for op in block.ops:
            visit(op)
            match op:
                case CallOp():
                    self._call(op, self._kernels[op.callee.string_value()])
                case IfInstruction():
                    self._branch(op)
                case LoopInstruction():
                    self._loop(op)
                case _:
                    pass

    def _branch(self, op: IfInstruction) -> None:
        """
        Emits a branch. All threads take the same one, because each reads the condition after those
        that write it are done.
        """
        self._wait(MemoryUse(self._memory.regions(op.condition), (), alone=False))
        condition = self._memory.is_true(op.condition)
        before, after = list(self._hazards.open), []
        regions: list[Region] = []
        for body in op.bodies():
            self._hazards.open = list(before)
            with self._body(body, op) as block:
                self.run(body)
            block.add_op(scf.YieldOp.create())
            regions.append(Region(block))
            after += [use for use in self._hazards.open if use not in after]
        self._hazards.open = after
        self._emitter.add(scf.IfOp.create(operands=(condition,), regions=regions))

    def _loop(self, op: LoopInstruction) -> None:
        """
        Emits a loop. All threads meet before each of them decides whether there is another step, so
        they decide alike; what they decide by is written again only when all have read it.
        """
        most = self._emitter.index(op.most)
        head = Block(arg_types=(INDEX,))
        with self._emitter.inside(head):
            if self._leading:
                self._barrier()
            goes_on = self._goes_on(op, head.args[0])
            inside = self._emitter.compare("slt", head.args[0], most)
            if goes_on is not None:
                inside = self._emitter.binary(arith.AndIOp, inside, goes_on)
            head.add_op(scf.ConditionOp.create(operands=(inside, head.args[0])))
        deciding = [v for v in (op.trips, op.going) if v is not None]
        read = [region for v in deciding for region in self._memory.regions(v)]
        decided = MemoryUse(read, self._memory.regions(op.step), alone=False)
        self._hazards.open = [decided]
        with self._body(op.body.block, op, INDEX) as block:
            step = block.args[0]
            self._memory.store(step, op.step)
            self.run(op.body.block)
            following = self._emitter.plus(step, 1)
        block.add_op(scf.YieldOp.create(operands=[following]))
        loop = scf.WhileOp.create(
            operands=[self._emitter.index(0)],
            result_types=[INDEX],
            regions=[Region(head), Region(block)],
        )
        self._emitter.add(loop)
        self._hazards.open = [decided]
        (count,) = loop.results
        more = self._goes_on(op, count)
        if more is not None:
            count = self._emitter.select(more, self._emitter.plus(count, 1), count)
        self._wait(MemoryUse((), self._memory.regions(op.count), alone=False))
        self._memory.store(count, op.count)

    def _goes_on(self, op: LoopInstruction, step: SSAValue) -> SSAValue | None:
        """Returns whether a loop without a limit has a step; None if it always has."""
        emitter, found = self._emitter, None
        if op.trips is not None:
            trips = emitter.cast("index_cast", self._memory.load(op.trips), INDEX)
            found = emitter.compare("slt", step, trips)
        if op.going is not None:
            going = self._memory.is_true(op.going)
            found = going if found is None else emitter.binary(arith.AndIOp, found, going)
        return found

    @contextmanager
    def _body(self, body: Block, op: ControlInstruction, *arguments: Attribute) -> Iterator[Block]:
        """
        Emits to a new block meanwhile, in which the arguments of a body are the operands. That of a
        loop has the number of the step as an argument.
        """
        block = Block(arg_types=arguments)
        with self._emitter.inside(block), self._memory.inside():
            for argument in body.args:
                stacked = isinstance(op, LoopInstruction) and op.is_stacked(argument)
                step = block.args[0] if stacked else None
                self._memory.bind(argument, op.outside(argument), step)
            yield block

    def _wait(self, use: MemoryUse[MemoryRegion]) -> None:
        """Emits a barrier if threads may still use memory that is used now."""
        if self._leading and self._hazards.need_barrier(use):
            self._barrier()

    def _barrier(self) -> None:
        thread, team = self._leading
        self._emitter.call(SymbolRefAttr(BARRIER), (team, thread))

    def _call(self, op: CallOp, kernel: KernelInterface) -> None:
        """Emits a call, and a barrier before it if there must be one."""
        operands: list[SSAValue] = []
        if kernel.has_thread and not self._leading:
            operands.append(self._emitter.index(0))
        elif kernel.has_thread:
            self._wait(self._use(op, kernel))
            if kernel.has_barriers:
                self._hazards.passed_barrier()
            operands += self._leading if kernel.has_team else self._leading[:1]
        operands += [self._memory.view(v) for v in op.operands]
        if kernel.scratch_bytes:
            t = MemRefType(i8, [kernel.scratch_bytes])
            operands.append(self._memory.scratch(self._scratch[op], t))
        self._emitter.call(op.callee, operands)

    def _use(self, op: CallOp, kernel: KernelInterface) -> MemoryUse[MemoryRegion]:
        reads: list[MemoryRegion] = []
        writes: list[MemoryRegion] = []
        if kernel.scratch_bytes:
            start = self._scratch[op]
            writes.append(MemoryRegion(ARENA, start, start + kernel.scratch_bytes))
        for qualifier, value in op.qualified_operands():
            (reads if qualifier is Qualifier.IN else writes).extend(self._memory.regions(value))
        return MemoryUse(reads, writes, alone=not kernel.is_shared)

    def finish(self) -> func.FuncOp:
        self._emitter.finish()
        self._block.add_op(func.ReturnOp())
        types = [a.type for a in self._block.args]
        none = DictionaryAttr({})
        middle = self._main.arg_attrs or [none] * len(self._main.body.block.args)
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
