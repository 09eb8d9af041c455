"""Conversion of `glow_vec.dot`."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType, i32
from xdsl.ir import SSAValue

from ...glow_dialects import glow_vec
from .function import FunctionConverter, converts
from .types import vector_of
from .vectors import lanes_of, shuffle


@converts(glow_vec.DotOp)
def convert_dot(op: glow_vec.DotOp, fn: FunctionConverter) -> None:
    acc, lhs, rhs = fn.values((op.acc, op.lhs, op.rhs))
    if op.kind.data is glow_vec.DotKind.MADD:
        fn.define(op.result, _sum_of_pairs(fn, acc, lhs, rhs))
        return
    lanes = lanes_of(op.acc.type, op)
    name = _DOTS[op.kind.data].format(bits=32 * lanes, lanes=lanes, bytes=4 * lanes)
    call = llvm.CallIntrinsicOp(name, (acc, lhs, rhs), [acc.type])
    fn.add(call)
    assert call.ress is not None
    fn.define(op.result, call.ress)


_DOTS = {
    glow_vec.DotKind.DPBF16PS: "llvm.x86.avx512bf16.dpbf16ps.{bits}",
    # LLVM takes the encoding of AVX-VNNI where it must
    glow_vec.DotKind.VPDPBUSD: "llvm.x86.avx512.vpdpbusd.{bits}",
    glow_vec.DotKind.SDOT: "llvm.aarch64.neon.sdot.v{lanes}i32.v{bytes}i8",
    glow_vec.DotKind.USDOT: "llvm.aarch64.neon.usdot.v{lanes}i32.v{bytes}i8",
}


def _sum_of_pairs(fn: FunctionConverter, acc: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """
    Returns `acc` plus the products of neighbours. LLVM recognizes the emitted operations: they
    become `pmaddwd`, or `vpdpwssd` with VNNI.
    """
    assert isinstance(acc.type, VectorType)
    lanes = acc.type.get_shape()[0]
    wide = vector_of(i32, 2 * lanes)
    factors = [fn.emit(llvm.SExtOp, (v,), wide) for v in (lhs, rhs)]
    products = fn.binary(llvm.MulOp, *factors)
    even, odd = (shuffle(fn, products, products, range(i, 2 * lanes, 2)) for i in (0, 1))
    return fn.binary(llvm.AddOp, acc, fn.binary(llvm.AddOp, even, odd))
