"""
The pass `glow-sanitize`: kernels that check each of their accesses.

Before each load and store, a kernel compares the place with the bounds of the buffer that the
memref was derived from: a parameter of the kernel, as its type describes it, or a piece of its
temporary memory. An access out of bounds does not happen: a load gives zeros. The first one is
noted in a record, i64[4], which is the end of the arena: the number of the call that `main` makes,
one more than the number of the access, the place, and the call of the access. Whoever runs the
program fills it with zeros before (`glow.runtime.sanitized_program`). `glow.accesses` at `main`
describes the accesses.

`main` itself is checked at once: its buffers have fixed places, which must lie within a segment.
Prefetches may be anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..errors import CompileError
from ..glow_dialects import glow_vec
from ..glow_dialects.elements import offset_of, strides_of, type_bytes
from ..glow_dialects.glow_nest.memory import reach
from ..passes.levels import KERNELS
from ..passes.visited_operation import each
from .kernels.main import arena_of, enlarge_arena, main_of

ACCESSES = "glow.accesses"
"""The attribute of `main` with the accesses: kernel, kind, and the operand of the call, if any."""
RECORD = 4
"""The numbers of the record."""
NOTE = "glow_note_violation"
"""The function that notes the first violation."""
_INDEX = IndexType()
_RECORD_TYPE = MemRefType(i64, [RECORD])
_Load: TypeAlias = "memref.LoadOp | vector.LoadOp | glow_vec.GatherOp"
_Access: TypeAlias = "_Load | memref.StoreOp | vector.StoreOp | vector.MaskedStoreOp"
_ACCESSES = (
    *(memref.LoadOp, memref.StoreOp, vector.LoadOp, vector.StoreOp),
    *(vector.MaskedStoreOp, glow_vec.GatherOp),
)
_UNCHECKED = (glow_vec.TileLoadOp, glow_vec.TileStoreOp)


@dataclass(frozen=True)
class SanitizePass(ModulePass):
    """
    Makes kernels, which `glow-generate-loops` made for one thread, check each of their accesses,
    and checks that the buffers of `main` lie within their segments.
    """

    name = "glow-sanitize"
    level = KERNELS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp) and f.body.blocks]
        main = main_of(op)
        if any(len(f.body.blocks) > 1 for f in functions):
            raise CompileError("expected functions of one block")
        kernels = [f for f in functions if f is not main]
        accesses: list[DictionaryAttr] = []
        for kernel in each(kernels):
            _sanitize_kernel(kernel, accesses)
        _sanitize_main(main, {k.sym_name.data for k in kernels})
        main.attributes[ACCESSES] = ArrayAttr(accesses)
        Rewriter.insert_op(_note_function(), InsertPoint.before(functions[0]))


# kernels


def _sanitize_kernel(kernel: func.FuncOp, accesses: list[DictionaryAttr]) -> None:
    block = kernel.body.block
    found = [op for op in block.walk() if isinstance(op, _ACCESSES + _UNCHECKED)]
    record = block.insert_arg(_RECORD_TYPE, len(block.args))
    record.name_hint = "record"
    kernel.update_function_type()
    for op in each(found):
        if isinstance(op, _UNCHECKED):
            raise CompileError(f"{op.name} cannot be checked: compile for a CPU without AMX tiles")
        number = len(accesses)
        base = _root(_base(op))
        about: dict[str, Attribute] = {
            "kernel": kernel.sym_name,
            "kind": StringAttr("store" if _is_store(op) else "load"),
        }
        if isinstance(base, BlockArgument):
            about["operand"] = IntegerAttr(base.index, i64)
        accesses.append(DictionaryAttr(about))
        _Guard(op).apply(record, number)


def _is_store(op: Operation) -> bool:
    return isinstance(op, memref.StoreOp | vector.StoreOp | vector.MaskedStoreOp)


def _base(op: _Access) -> SSAValue:
    return op.memref if isinstance(op, memref.LoadOp | memref.StoreOp) else op.base


def _root(memory: SSAValue) -> SSAValue:
    """Returns the buffer that a memref was derived from: a parameter, or a piece of memory."""
    while isinstance(memory.owner, memref.ReinterpretCastOp):
        memory = memory.owner.source
    return memory


def _bounds(root: SSAValue) -> tuple[int, int]:
    """Returns the first element of a buffer, from its pointer, and one more than the last."""
    t = root.type
    assert isinstance(t, MemRefType)
    if isinstance(root, BlockArgument):
        if 0 in t.get_shape():
            return 0, 0
        return reach(t.get_shape(), strides_of(t), offset_of(t))
    return 0, prod(t.get_shape())


class _Guard:
    """The check of an access, emitted in front of it."""

    def __init__(self, op: _Access):
        self._op = op
        self._first: list[Operation] = []

    def apply(self, record: SSAValue, number: int) -> None:
        """Moves the access into a branch that runs if its place is within the buffer."""
        op = self._op
        place = self._place()
        low, high = _bounds(_root(_base(op)))
        is_within = self._is_within(place, low, high)
        then, otherwise = Block(), Block()
        numbers = [self._constant(number, otherwise), place]
        otherwise.add_op(func.CallOp(NOTE, [record, *numbers], []))
        results = [r.type for r in op.results]
        zeros = [_zero(t) for t in results]
        otherwise.add_ops([*zeros, scf.YieldOp(*zeros)])
        guard = scf.IfOp(is_within, results, Region(then), Region(otherwise))
        Rewriter.insert_op([*self._first, guard], InsertPoint.before(op))
        for old, new in zip(op.results, guard.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        op.detach()
        then.add_ops([op, scf.YieldOp(*op.results)])

    def _place(self) -> SSAValue:
        """Returns the element that the access begins at, from the pointer of its buffer."""
        base = _base(self._op)
        t = base.type
        assert isinstance(t, MemRefType)
        place = self._constant(offset_of(t))
        for index, stride in zip(self._op.indices, strides_of(t), strict=True):
            step = self._add(arith.MuliOp, index, self._constant(stride))
            place = self._add(arith.AddiOp, place, step)
        return place

    def _is_within(self, place: SSAValue, low: int, high: int) -> SSAValue:
        """Returns whether all elements of the access are from `low` to `high - 1`."""
        before, behind = self._reach()
        if isinstance(before, int) and isinstance(behind, int):
            from_low = self._add(arith.SubiOp, place, self._constant(low - before))
            most = high - low + before - behind
            if most < 0:
                never = arith.ConstantOp(IntegerAttr(0, IntegerType(1)))
                self._first.append(never)
                return never.result
            return self._compare("ule", from_low, self._constant(most))
        from_low = self._add(arith.SubiOp, place, self._constant(low))
        starts = self._add(arith.AddiOp, from_low, self._number(before))
        ends = self._add(arith.AddiOp, from_low, self._number(behind))
        size = self._constant(high - low)
        start, stop = self._compare("ule", starts, size), self._compare("ule", ends, size)
        both = arith.AndIOp(start, stop)
        self._first.append(both)
        return both.result

    def _reach(self) -> tuple[int | SSAValue, int | SSAValue]:
        """
        Returns how far before its first place an access reaches, as a number that is not positive,
        and one more than how far behind it.
        """
        op = self._op
        match op:
            case memref.LoadOp() | memref.StoreOp():
                return 0, 1
            case vector.LoadOp():
                return 0, _lanes(op.result.type)
            case vector.StoreOp():
                return 0, _lanes(op.vector.type)
            case vector.MaskedStoreOp():
                mask = op.mask.owner
                if not isinstance(mask, vector.CreateMaskOp) or len(mask.mask_dim_sizes) != 1:
                    return 0, _lanes(op.value_to_store.type)
                lanes = self._constant(_lanes(op.value_to_store.type))
                stored = self._add(arith.MinSIOp, mask.mask_dim_sizes[0], lanes)
                return 0, self._add(arith.MaxSIOp, stored, self._constant(0))
            case glow_vec.GatherOp():
                owner = op.offsets.owner
                if not isinstance(owner, arith.ConstantOp):
                    return self._reach_of_lanes(op.offsets)
                assert isinstance(owner.value, DenseIntOrFPElementsAttr)
                offsets = np.array(owner.value.get_values(), np.int64).tolist()
                return min(0, *offsets), max(offsets) + 1
            case other:
                raise CompileError(f"expected an access to check, found {other.name}")

    def _reach_of_lanes(self, offsets: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Returns the reach of a vector of offsets that are known at run time."""
        first: SSAValue = self._constant(0)
        last = first
        for lane in range(_lanes(offsets.type)):
            offset = vector.ExtractOp(offsets, [lane], _INDEX)
            self._first.append(offset)
            first = self._add(arith.MinSIOp, first, offset.result)
            last = self._add(arith.MaxSIOp, last, offset.result)
        return first, self._add(arith.AddiOp, last, self._constant(1))

    def _number(self, value: int | SSAValue) -> SSAValue:
        return self._constant(value) if isinstance(value, int) else value

    def _add(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        op = kind.create(operands=[a, b], result_types=[_INDEX])
        self._first.append(op)
        return op.results[0]

    def _compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        op = arith.CmpiOp(a, b, predicate)
        self._first.append(op)
        return op.result

    def _constant(self, value: int, block: Block | None = None) -> SSAValue:
        op = arith.ConstantOp(IntegerAttr(value, _INDEX))
        if block is None:
            self._first.append(op)
        else:
            block.add_op(op)
        return op.result


def _lanes(t: Attribute) -> int:
    assert isinstance(t, VectorType)
    return prod(t.get_shape())


def _zero(t: Attribute) -> arith.ConstantOp:
    element = t.element_type if isinstance(t, VectorType) else t
    whole = isinstance(element, IntegerType | IndexType)
    number = IntegerAttr(0, element) if whole else FloatAttr(0.0, element)  # pyright: ignore
    if not isinstance(t, VectorType):
        return arith.ConstantOp(number)
    values = [0] * _lanes(t) if whole else [0.0] * _lanes(t)
    return arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(t, values))  # pyright: ignore


def _note_function() -> func.FuncOp:
    """Returns the function that writes a record, of an access and a place, unless there is one."""
    block = Block(arg_types=[_RECORD_TYPE, _INDEX, _INDEX])
    record, access, place = block.args
    numbers = [arith.ConstantOp(IntegerAttr(i, _INDEX)) for i in range(RECORD)]
    block.add_ops(numbers)
    zero = arith.ConstantOp(IntegerAttr(0, i64))
    found = memref.LoadOp.get(record, [numbers[1]])
    is_first = arith.CmpiOp(found, zero, "eq")
    call = memref.LoadOp.get(record, [numbers[0]])
    following = arith.AddiOp(access, numbers[1].result)
    casts = [arith.IndexCastOp(v, i64) for v in (following.result, place)]
    then = Block([following, *casts, call])
    for at, value in zip(numbers[1:], (*casts, call), strict=True):
        then.add_op(memref.StoreOp.get(value, record, [at]))
    then.add_op(scf.YieldOp())
    block.add_ops([zero, found, is_first, scf.IfOp(is_first, [], Region(then))])
    block.add_op(func.ReturnOp())
    t = FunctionType.from_lists(block.arg_types, [])
    return func.FuncOp(NOTE, t, Region(block), visibility=StringAttr("private"))


# the program


def _sanitize_main(main: func.FuncOp, kernels: set[str]) -> None:
    """Gives each call of a kernel the record, in which it notes the number of the call before."""
    block = main.body.block
    if len(block.args) < 2 or block.args[0].type == _INDEX:
        raise CompileError("expected main with the segments of a program for one thread")
    for op in each(block.walk()):
        if isinstance(op, memref.ViewOp):
            _expect_within(op)
    larger, end = enlarge_arena(main, arena_of(main, before=SanitizePass.name), 8 * RECORD)
    start = arith.ConstantOp(IntegerAttr(end, _INDEX))
    record = memref.ViewOp(larger, start, [], _RECORD_TYPE)
    record.result.name_hint = "record"
    zero = arith.ConstantOp(IntegerAttr(0, _INDEX))
    calls = [op for op in block.walk() if isinstance(op, func.CallOp)]
    calls = [op for op in calls if op.callee.string_value() in kernels]
    for number, call in enumerate(each(calls)):
        value = arith.ConstantOp(IntegerAttr(number, i64))
        store = memref.StoreOp.get(value, record, [zero])
        Rewriter.insert_op([value, store], InsertPoint.before(call))
        call.operands = [*call.operands, record.result]
    Rewriter.insert_op([start, zero, record], InsertPoint.at_start(block))


def _expect_within(view: memref.ViewOp) -> None:
    """Raises CompileError unless the bytes of a view with a fixed place are in its segment."""
    shift = view.byte_shift.owner
    source, t = view.source.type, view.result.type
    if not isinstance(shift, arith.ConstantOp) or not isinstance(shift.value, IntegerAttr):
        return
    assert isinstance(source, MemRefType)
    assert isinstance(t, MemRefType)
    start, size = shift.value.value.data, source.get_shape()[0]
    if not 0 <= start <= start + type_bytes(t) <= size:
        name = f"buffer %{view.result.name_hint}" if view.result.name_hint else "a buffer"
        raise CompileError(
            f"{name} of {t} lies at {start} in a segment of {size} bytes, which it leaves"
        )


def accesses_of(main: func.FuncOp) -> Sequence[DictionaryAttr]:
    """Returns the accesses of kernels, in the order of their numbers."""
    found = main.attributes.get(ACCESSES)
    return (
        [a for a in found if isinstance(a, DictionaryAttr)] if isinstance(found, ArrayAttr) else ()
    )
