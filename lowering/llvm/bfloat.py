"""
Arithmetic of bf16, without help from the machine or from a runtime library.

LLVM turns a rounding to bf16 into a library call on processors without AVX512-BF16, and no library
is linked. So bf16 is computed in f32, and rounding is integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import BFloat16Type, bf16, f32, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...glow_dialects import llvm_extended as lx
from .function import FunctionConverter
from .types import element_of, int_attr, mask_for, with_element

_NO_OVERFLOW = {"overflowFlags": int_attr(0, i32)}
_NO_FASTMATH = {"fastmathFlags": llvm.FastMathAttr(None)}
_NAN = {"predicate": int_attr(llvm.FCmpPredicateFlag.UNO.to_int()), **_NO_FASTMATH}


def is_bf16(t: Attribute) -> bool:
    return isinstance(element_of(t), BFloat16Type)


def widened(
    fn: FunctionConverter,
    kind: type[Operation],
    operands: Sequence[SSAValue],
    result: Attribute,
    properties: Mapping[str, Attribute],
) -> SSAValue:
    """
    Returns an operation on floats of one type; on bf16 it computes in f32 and rounds its result.
    """
    if not is_bf16(result):
        return fn.emit(kind, operands, result, properties)
    wide = [to_f32(fn, operand) for operand in operands]
    return round_to_bf16(fn, fn.emit(kind, wide, with_element(result, f32), properties))


def to_f32(fn: FunctionConverter, value: SSAValue) -> SSAValue:
    return fn.emit(llvm.FPExtOp, (value,), with_element(value.type, f32))


def round_to_bf16(fn: FunctionConverter, value: SSAValue) -> SSAValue:
    """
    Returns an f32 rounded to the nearest bf16, ties to even. Half of the last kept bit, less one if
    that bit is even, is added to the pattern before it is cut off. A NaN stays one, with its quiet
    bit set.
    """
    wide, narrow = with_element(value.type, i32), with_element(value.type, i16)
    bits = fn.emit(llvm.BitcastOp, (value,), wide)
    kept = fn.emit(llvm.LShrOp, (bits, fn.number(16, wide)), wide)
    odd = fn.emit(llvm.AndOp, (kept, fn.number(1, wide)), wide)
    bias = fn.emit(llvm.AddOp, (odd, fn.number(0x7FFF, wide)), wide, _NO_OVERFLOW)
    sum_ = fn.emit(llvm.AddOp, (bits, bias), wide, _NO_OVERFLOW)
    rounded = fn.emit(llvm.LShrOp, (sum_, fn.number(16, wide)), wide)
    quiet = fn.emit(llvm.OrOp, (kept, fn.number(0x40, wide)), wide)
    is_nan = fn.emit(lx.FCmpOp, (value, value), mask_for(value.type), _NAN)
    chosen = fn.emit(lx.SelectOp, (is_nan, quiet, rounded), wide, _NO_FASTMATH)
    cut = fn.emit(llvm.TruncOp, (chosen,), narrow, {"overflowFlags": llvm.OverflowAttr("none")})
    return fn.emit(llvm.BitcastOp, (cut,), with_element(value.type, bf16))
