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
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..errors import CompileError
from ..glow_dialects import glow_vec
from ..glow_dialects.elements import offset_of, strides_of, type_bytes
from ..glow_dialects.glow_nest.memory import reach
from ..passes.levels import KERNELS
from ..passes.visited_operation import each
from .kernels.codegen.emit import Emitter
from .kernels.codegen.types import INDEX
from .kernels.main import arena_of, enlarge_arena, main_of

ACCESSES = "glow.accesses"
"""The attribute of `main` with the accesses: kernel, kind, and the operand of the call, if any."""
RECORD = 4
"""The numbers of the record."""
NOTE = "glow_note_violation"
"""The function that notes the first violation."""
_RECORD_TYPE = MemRefType(i64, [RECORD])
_Load: TypeAlias = memref.LoadOp | vector.LoadOp | glow_vec.GatherOp
_Access: TypeAlias = _Load | memref.StoreOp | vector.StoreOp | vector.MaskedStoreOp
_Unchecked: TypeAlias = glow_vec.TileLoadOp | glow_vec.TileStoreOp


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
    found = [op for op in block.walk() if isinstance(op, _Access | _Unchecked)]
    record = block.insert_arg(_RECORD_TYPE, len(block.args))
    record.name_hint = "record"
    kernel.update_function_type()
    emitter = Emitter(block)
    for op in each(found):
        if isinstance(op, _Unchecked):
            raise CompileError(f"{op.name} cannot be checked: compile for a CPU without AMX tiles")
        number = len(accesses)
        base = _root(_base(op))
        about: dict[str, Attribute] = {
            "kernel": kernel.sym_name,
            "kind": StringAttr("load" if op.results else "store"),
        }
        if isinstance(base, BlockArgument):
            about["operand"] = IntegerAttr(base.index, i64)
        accesses.append(DictionaryAttr(about))
        _guard(emitter, op, record, number)
    emitter.finish()


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


def _guard(e: Emitter, op: _Access, record: SSAValue, number: int) -> None:
    """Moves an access into a branch that runs if its place is within the buffer."""
    before, then, otherwise = Block(), Block(), Block()
    results = [r.type for r in op.results]
    with e.inside(before):
        place = _place(e, op)
        is_within = _is_within(e, op, place)
        guard = scf.IfOp(is_within, results, Region(then), Region(otherwise))
        e.add(guard)
    with e.inside(otherwise):
        e.call(SymbolRefAttr(NOTE), (record, e.index(number), place))
        e.add(scf.YieldOp(*(e.constant(t, 0) for t in results)))
    Rewriter.inline_block(before, InsertPoint.before(op))
    for old, new in zip(op.results, guard.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    then.add_ops([op, scf.YieldOp(*op.results)])


def _place(e: Emitter, op: _Access) -> SSAValue:
    """Returns the element that an access begins at, from the pointer of its buffer."""
    t = _base(op).type
    assert isinstance(t, MemRefType)
    place = e.index(offset_of(t))
    for index, stride in zip(op.indices, strides_of(t), strict=True):
        place = e.plus(place, e.times(index, stride))
    return place


def _is_within(e: Emitter, op: _Access, place: SSAValue) -> SSAValue:
    """Returns whether all elements of an access are elements of its buffer."""
    low, high = _bounds(_root(_base(op)))
    from_low = e.minus(place, low)
    start, end = (e.plus(from_low, reach) for reach in _reach(e, op))
    size = e.index(high - low)
    return e.binary(arith.AndIOp, e.compare("ule", start, size), e.compare("ule", end, size))


def _reach(e: Emitter, op: _Access) -> tuple[SSAValue, SSAValue]:
    """
    Returns how far before its first place an access reaches, as a number that is not positive, and
    one more than how far behind it.
    """
    zero = e.index(0)
    match op:
        case glow_vec.GatherOp():
            return _reach_of_lanes(e, op.offsets)
        case vector.MaskedStoreOp():
            lanes, mask = e.index(_lanes(op.value_to_store.type)), op.mask.owner
            if not isinstance(mask, vector.CreateMaskOp) or len(mask.mask_dim_sizes) != 1:
                return zero, lanes
            return zero, e.within(mask.mask_dim_sizes[0], lanes)
        case _:
            moved, *_ = (*op.results, *op.operands)
            return zero, e.index(_lanes(moved.type))


def _reach_of_lanes(e: Emitter, offsets: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Returns the reach of a vector of offsets, which may be known at run time only."""
    if isinstance(offsets.owner, arith.ConstantOp):
        assert isinstance(offsets.owner.value, DenseIntOrFPElementsAttr)
        known = np.array(offsets.owner.value.get_values(), np.int64).tolist()
        return e.index(min(0, *known)), e.index(max(known) + 1)
    first = last = e.index(0)
    for lane in range(_lanes(offsets.type)):
        offset = e.extract(offsets, lane)
        first = e.smaller(first, offset)
        last = e.larger(last, offset)
    return first, e.plus(last, 1)


def _lanes(t: Attribute) -> int:
    return prod(t.get_shape()) if isinstance(t, VectorType) else 1


def _note_function() -> func.FuncOp:
    """Returns the function that writes a record, of an access and a place, unless there is one."""
    block = Block(arg_types=[_RECORD_TYPE, INDEX, INDEX])
    record, access, place = block.args
    e = Emitter(block)
    found = e.load(record, e.index(1), i64, 1)
    with e.when(e.compare("eq", found, e.constant(i64, 0))):
        numbers = [e.cast("index_cast", v, i64) for v in (e.plus(access, 1), place)]
        for at, number in enumerate([*numbers, e.load(record, e.index(0), i64, 1)], 1):
            e.store(number, record, e.index(at))
    e.add(func.ReturnOp())
    e.finish()
    t = FunctionType.from_lists(block.arg_types, [])
    return func.FuncOp(NOTE, t, Region(block), visibility=StringAttr("private"))


# the program


def _sanitize_main(main: func.FuncOp, kernels: set[str]) -> None:
    """Gives each call of a kernel the record, in which it notes the number of the call before."""
    block = main.body.block
    if len(block.args) < 2 or block.args[0].type == INDEX:
        raise CompileError("expected main with the segments of a program for one thread")
    for op in each(block.walk()):
        if isinstance(op, memref.ViewOp):
            _expect_within(op)
    larger, end = enlarge_arena(main, arena_of(main, before=SanitizePass.name), 8 * RECORD)
    e = Emitter(block)
    record = memref.ViewOp(larger, e.index(end), [], _RECORD_TYPE)
    record.result.name_hint = "record"
    calls = [op for op in block.walk() if isinstance(op, func.CallOp)]
    calls = [op for op in calls if op.callee.string_value() in kernels]
    for number, call in enumerate(each(calls)):
        store = memref.StoreOp.get(e.constant(i64, number), record, [e.index(0)])
        Rewriter.insert_op(store, InsertPoint.before(call))
        call.operands = [*call.operands, record.result]
    Rewriter.insert_op(record, InsertPoint.at_start(block))
    e.finish()


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
    given = found if isinstance(found, ArrayAttr) else ()
    return [a for a in given if isinstance(a, DictionaryAttr)]
