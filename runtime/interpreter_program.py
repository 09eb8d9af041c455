"""
Runs an instruction program with numpy on real memory, so that a bad memory plan shows.

Buffers are byte ranges: each its own, or ranges of one arena once `glow-allocate` has run. A buffer
is filled with garbage (NaN as a float, -1 as an integer) where its life begins and ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import SymbolTable

from ..errors import CompileError, ModelError
from ..glow_dialects.elements import (
    extent,
    lowest_index,
    num_elements,
    offset_of,
    strides_of,
    type_bytes,
)
from ..glow_dialects.glow.base import DataParallel, Node
from ..glow_dialects.glow_inst.control import IfInstruction, LoopInstruction
from ..glow_dialects.glow_inst.instruction import Instruction, OperatorInstruction, buffer_of
from ..glow_dialects.glow_inst.memory import (
    AllocActivationOp,
    DeallocActivationOp,
    TensorViewOp,
    WeightOp,
    is_input,
)
from ..glow_dialects.glow_inst.stacked import CopyOp, StackedOp
from ..glow_dialects.glow_nest.affine import Buffer
from ..glow_dialects.glow_nest.call import CallOp
from ..glow_dialects.glow_nest.kernel import KernelOp
from ..glow_dialects.glow_nest.steps import KernelSteps
from ..glow_dialects.plan_attributes import ARENA_SIZE
from ..semantics import constant_array, evaluate, numpy_dtype
from ..semantics.nests import NestMeaning
from ..wording import counted

GARBAGE = 0xFF


def run_program(
    main: func.FuncOp,
    arguments: Sequence[np.ndarray | None],
    observe: Callable[[SSAValue, np.ndarray], None],
) -> list[np.ndarray]:
    """
    Runs `main` on one array for each argument, None for each output; returns the final array of
    each argument. Given arrays do not change.

    Raises CompileError if an instruction overwrites elements that it still reads, or a buffer or
    view lies outside its memory.
    """
    memory = _Memory(_arena_size(main))
    for argument, array in zip(main.body.block.args, arguments, strict=True):
        t = _memref(argument)
        if array is not None:
            flat = _spread(array, t)
            memory.add(argument, flat if is_input(argument) else flat.copy())
        else:
            memory.add(argument, _garbage(type_bytes(t)).view(numpy_dtype(t.element_type)))
    if not isinstance(main.body.block.last_op, func.ReturnOp):
        raise CompileError("expected the function main to end with func.return")
    _run_block(main.body.block, memory, observe)
    return [memory.arrays[a].copy() for a in main.body.block.args]


def _run_block(
    block: Block, memory: _Memory, observe: Callable[[SSAValue, np.ndarray], None]
) -> None:
    *ops, _terminator = block.ops
    for op in ops:
        if isinstance(op, IfInstruction):
            _run_branch(op, memory, observe)
        elif isinstance(op, LoopInstruction):
            _run_loop(op, memory, observe)
        else:
            _step(op, memory)
        if isinstance(op, Instruction):
            for value in op.written():
                observe(value, memory.arrays[value])


class _Memory:
    """The buffers that are alive, and the arrays that buffers and views look like."""

    def __init__(self, arena_size: int | None):
        self.arena = None if arena_size is None else _garbage(arena_size)
        self.buffers: dict[SSAValue, np.ndarray] = {}
        """Flat and typed."""
        self.arrays: dict[SSAValue, np.ndarray] = {}

    def add(self, value: SSAValue, flat: np.ndarray) -> None:
        self.buffers[value] = flat
        self.arrays[value] = _view(flat, _memref(value))

    def weight(self, op: WeightOp) -> None:
        try:
            flat = constant_array(op.value, op.result.type).reshape(-1)
        except (OSError, ValueError) as error:
            raise ModelError(f"cannot read a weight: {error}") from error
        self.add(op.result, flat)

    def alias(self, argument: SSAValue, operand: SSAValue, row: int | None = None) -> None:
        """Lets an argument of a body be an operand, which is dense, or a row of it."""
        t, flat = _memref(argument), self.arrays[operand].reshape(-1)
        size = num_elements(t.get_shape())
        self.add(argument, flat[:size] if row is None else flat[row * size : (row + 1) * size])

    def alloc(self, op: AllocActivationOp) -> None:
        t = op.result.type
        if op.offset is None:
            raw = np.empty(type_bytes(t), np.uint8)
        else:
            begin = op.offset.value.data
            if self.arena is None or begin < 0 or begin + type_bytes(t) > self.arena.size:
                raise CompileError(f"expected a buffer inside the arena, found {op}")
            raw = self.arena[begin : begin + type_bytes(t)]
        raw[:] = GARBAGE
        self.add(op.result, raw.view(numpy_dtype(t.element_type)))

    def dealloc(self, op: DeallocActivationOp) -> None:
        self.buffers.pop(op.buffer).view(np.uint8)[:] = GARBAGE

    def view(self, op: TensorViewOp) -> None:
        self.arrays[op.result] = _view(self.buffers[op.source], _memref(op.result))


def _step(op: Operation, memory: _Memory) -> None:
    match op:
        case WeightOp():
            memory.weight(op)
        case AllocActivationOp():
            memory.alloc(op)
        case DeallocActivationOp():
            memory.dealloc(op)
        case TensorViewOp():
            memory.view(op)
        case CopyOp():
            _check_overlap(op, memory, same_place=False)
            memory.arrays[op.dest][...] = memory.arrays[op.source]
        case CallOp():
            _run_kernel(op, memory)
        case StackedOp():
            _check_overlap(op, memory, same_place=True)
            _run_stacked(op, memory.arrays)
        case OperatorInstruction():
            _check_overlap(op, memory, same_place=issubclass(op.OPERATOR, DataParallel))
            _run_operator(op, memory.arrays)
        case _:
            raise CompileError(f"the interpreter cannot run {op.name}")


def _run_branch(
    op: IfInstruction, memory: _Memory, observe: Callable[[SSAValue, np.ndarray], None]
) -> None:
    body = (op.then if memory.arrays[op.condition] else op.otherwise).block
    for argument in body.args:
        memory.alias(argument, op.outside(argument))
    _run_block(body, memory, observe)


def _run_loop(
    op: LoopInstruction, memory: _Memory, observe: Callable[[SSAValue, np.ndarray], None]
) -> None:
    body, step = op.body.block, 0

    def goes_on() -> bool:
        """Returns whether the loop would go on if it had no limit."""
        has_trips = op.trips is None or step < int(memory.arrays[op.trips])
        return has_trips and (op.going is None or bool(memory.arrays[op.going]))

    while step < op.most and goes_on():
        memory.arrays[op.step][...] = step
        for argument in body.args:
            row = step if op.is_stacked(argument) else None
            memory.alias(argument, op.outside(argument), row)
        _run_block(body, memory, observe)
        step += 1
    memory.arrays[op.count][...] = step + (goes_on() and not op.runs_all)


def _run_kernel(op: CallOp, memory: _Memory) -> None:
    """Runs a kernel of loop nests."""
    kernel = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(kernel, KernelOp):
        raise CompileError(f"expected a kernel called {op.callee}, found none")
    steps = KernelSteps(kernel)
    tree = steps.tree()
    arrays: dict[Buffer, tuple[np.ndarray, int]] = {}
    for argument, value in zip(kernel.body.block.args, op.arguments, strict=True):
        buffer = steps.buffer(argument)
        start = offset_of(_memref(value)) - offset_of(_memref(argument))
        arrays[buffer] = (memory.buffers[buffer_of(value)], start)
    for scratch in steps.scratch():
        buffer = steps.buffer(scratch.result)
        raw = _garbage(type_bytes(scratch.result.type))  # pyright: ignore
        arrays[buffer] = (raw.view(numpy_dtype(buffer.element)), 0)
    rows = None
    if kernel.rows is not None:
        rows = int(memory.buffers[buffer_of(op.arguments[-1])][0])
    NestMeaning(arrays, rows).run(tree, {})


def _run_stacked(op: StackedOp, arrays: dict[SSAValue, np.ndarray]) -> None:
    read = [arrays[v] for v in (*op.inouts, *op.ins)]
    for value, result in zip((*op.outs, *op.inouts), _run_body(op.body, read), strict=True):
        arrays[value][...] = result


def _run_operator(op: OperatorInstruction, arrays: dict[SSAValue, np.ndarray]) -> None:
    results = evaluate(op.call, [arrays[v] for v in op.sources])
    if op.epilogue is not None:
        old = [arrays[v] for v in op.dests] if op.inout is not None else []
        results = _run_body(op.epilogue, [*results, *old, *(arrays[v] for v in op.extras)])
    for value, result in zip(op.dests, results, strict=True):
        arrays[value][...] = result


def _run_body(body: Region, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns the nodes of a body, which work on elements, applied to whole arrays at once."""
    values: dict[SSAValue, np.ndarray] = dict(zip(body.block.args, arguments, strict=True))
    *nodes, last = body.block.ops
    for node in nodes:
        assert isinstance(node, Node)
        operands = [values[o] for o in node.operands]
        values.update(zip(node.results, evaluate(node.call, operands), strict=True))
    return [values[v] for v in last.operands]


def _check_overlap(op: Instruction, memory: _Memory, same_place: bool) -> None:
    """
    Raises an error if the elements that an instruction writes overlap with those that it reads or
    writes elsewhere.

    With `same_place`, it may read an element that it overwrites at the same index.
    """
    for written in op.written():
        target = memory.arrays[written]
        for other in op.operands:
            found = memory.arrays[other]
            if other is written or not np.may_share_memory(target, found):
                continue
            if same_place and _is_same_view(target, found):
                continue
            if np.shares_memory(target, found):
                raise CompileError(
                    f"{op.name} writes to memory that another operand still needs: "
                    f"{written.type} and {other.type}"
                )


def _is_same_view(a: np.ndarray, b: np.ndarray) -> bool:
    return a.ctypes.data == b.ctypes.data and a.strides == b.strides and a.shape == b.shape


def _memref(value: SSAValue) -> MemRefType:
    assert isinstance(value.type, MemRefType)
    return value.type


def _garbage(size: int) -> np.ndarray:
    return np.full(size, GARBAGE, np.uint8)


def _arena_size(main: func.FuncOp) -> int | None:
    declared = main.attributes.get(ARENA_SIZE)
    return declared.value.data if isinstance(declared, IntegerAttr) else None


def _view(flat: np.ndarray, t: MemRefType) -> np.ndarray:
    """Returns the elements of `flat` that `t` describes, as an array that shares memory with it."""
    if lowest_index(t) < 0 or extent(t) > flat.size:
        raise CompileError(f"expected a view of {counted(flat.size, 'element')}, found {t}")
    if not extent(t):
        return np.empty(t.get_shape(), flat.dtype)
    strides = [s * flat.itemsize for s in strides_of(t)]
    # numpy makes views of words, but not of all kinds of narrow floats
    words = flat.view(f"u{flat.itemsize}")
    # negative strides start in the middle, so the offset has to be applied before
    views = np.lib.stride_tricks.as_strided(words[offset_of(t) :], t.get_shape(), strides)
    return views.view(flat.dtype)


def _spread(array: np.ndarray, t: MemRefType) -> np.ndarray:
    """Returns a read-only flat buffer in which the elements of `array` lie as `t` specifies."""
    flat = np.empty(extent(t), array.dtype)
    _view(flat, t)[...] = array
    flat.flags.writeable = False
    return flat
