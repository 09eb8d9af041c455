"""Conversion of lookups of bytes in tables of 256 bytes."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.ir import SSAValue

from ...glow_dialects import glow_vec
from ...glow_dialects import llvm_extended as lx
from ...glow_dialects.instruction_kinds import LookupKind
from .function import FunctionConverter, converts
from .vectors import lanes_of, shuffle


@converts(glow_vec.LookupOp)
def convert_lookup(op: glow_vec.LookupOp, fn: FunctionConverter) -> None:
    table, indices = fn.values((op.table, op.indices))
    fn.define(op.result, _LOOKUPS[op.kind.data](fn, table, indices, lanes_of(indices.type, op)))


def _parts(fn: FunctionConverter, table: SSAValue, size: int) -> list[SSAValue]:
    """Returns parts of a table with so many bytes each."""
    starts = range(0, glow_vec.TABLE_BYTES, size)
    return [shuffle(fn, table, table, range(s, s + size)) for s in starts]


def _looked_up_in_registers(
    fn: FunctionConverter, table: SSAValue, indices: SSAValue, lanes: int
) -> SSAValue:
    """Looks up the lower half of the table, the upper half, and chooses by the highest bit."""
    full = 64
    if lanes < full:
        mask = [*range(lanes), *[-1] * (full - lanes)]
        indices = shuffle(fn, indices, fn.poison(indices.type), mask)
    a, b, c, d = _parts(fn, table, full)
    name = "llvm.x86.avx512.vpermi2var.qi.512"
    low, high = (fn.intrinsic(name, (p, indices, q), p.type) for p, q in ((a, b), (c, d)))
    is_high = fn.compare(llvm.ICmpPredicateFlag.SLT, indices, fn.number(0, indices.type))
    found = fn.emit(lx.SelectOp, (is_high, high, low), indices.type)
    return found if lanes == full else shuffle(fn, found, found, range(lanes))


def _looked_up_by_rows(
    fn: FunctionConverter, table: SSAValue, indices: SSAValue, lanes: int
) -> SSAValue:
    """
    Looks up each row of 16 bytes. A byte whose highest bit is set gives 0; so the exclusive or of a
    row with the row before is added, in the same sense, where an index reaches the row. The halves
    of the table are apart, because a half has 128 bytes, the numbers that are not negative.
    """
    name = {16: "llvm.x86.ssse3.pshuf.b.128", 32: "llvm.x86.avx2.pshuf.b"}.get(
        lanes, "llvm.x86.avx512.pshuf.b.512"
    )
    t, row = indices.type, 16
    starts = range(0, glow_vec.TABLE_BYTES, row)
    rows = [shuffle(fn, table, table, [s + i % row for i in range(lanes)]) for s in starts]
    step, top = (fn.number(value, t) for value in (row, -128))
    total: SSAValue | None = None
    for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
        place = indices if total is None else fn.binary(llvm.XOrOp, indices, top)
        for number, own in enumerate(half):
            if number:
                place = fn.intrinsic(f"llvm.ssub.sat.v{lanes}i8", (place, step), t)
                own = fn.binary(llvm.XOrOp, own, half[number - 1])
            found = fn.intrinsic(name, (own, place), t)
            total = found if total is None else fn.binary(llvm.XOrOp, total, found)
    assert total is not None
    return total


def _looked_up_in_quarters(
    fn: FunctionConverter, table: SSAValue, indices: SSAValue, lanes: int
) -> SSAValue:
    """Looks up quarters of the table; places beyond a quarter leave what was found before."""
    t, quarter = indices.type, 64
    parts = _parts(fn, table, 16)
    name = "llvm.aarch64.neon.tbl4.v16i8"
    found = fn.intrinsic(name, (*parts[:4], indices), t)
    for number in range(1, 4):
        start = fn.number(number * quarter - 256 * (number > 1), t)
        place = fn.binary(llvm.SubOp, indices, start)
        of = parts[4 * number : 4 * number + 4]
        found = fn.intrinsic("llvm.aarch64.neon.tbx4.v16i8", (found, *of, place), t)
    return found


_LOOKUPS = {
    LookupKind.VPERMI2B: _looked_up_in_registers,
    LookupKind.PSHUFB: _looked_up_by_rows,
    LookupKind.TBL: _looked_up_in_quarters,
}
