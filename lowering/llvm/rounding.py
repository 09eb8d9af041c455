"""
Conversions to 16-bit floats, rounded once, without help from the machine or from a runtime library.

LLVM turns a rounding to bf16 into a library call on processors without AVX512-BF16, and no library
is linked. So rounding is integer arithmetic.

Few machines convert f64 or i64 to f16 or bf16, and LLVM calls functions of the compiler's runtime
on the others. Through f32, the number would be rounded twice, which is wrong next to ties. So the
first rounding is to odd: a number that is not exact becomes the one of its two neighbours whose
last bit is 1. It is never a tie of the shorter type, and lies on the same side of it.

Source: Boldo and Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using
rounding to odd, 2008.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import BFloat16Type, bf16, f32, f64, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...glow_dialects import llvm_extended as lx
from .function import FunctionConverter
from .types import element_of, element_size, with_element

_EXACT_BITS = 53
"""The number of bits up to which integers are exact in f64."""
_DROPPED = 64 - _EXACT_BITS


def f64_to_odd_f32(fn: FunctionConverter, value: SSAValue) -> SSAValue:
    """Returns an f64, scalar or vector, rounded to an odd f32; NaN and exact values stay."""
    bits_type = with_element(value.type, i32)
    near = fn.emit(llvm.FPTruncOp, (value,), with_element(value.type, f32))
    back = fn.emit(llvm.FPExtOp, (near,), value.type)
    inexact = fn.compare(llvm.FCmpPredicateFlag.ONE, back, value)
    sizes = [fn.emit(llvm.FAbsOp, (v,), value.type) for v in (back, value)]
    above = fn.compare(llvm.FCmpPredicateFlag.OGT, *sizes)
    bits = fn.emit(llvm.BitcastOp, (near,), bits_type)
    truncated = fn.binary(llvm.SubOp, bits, fn.emit(llvm.ZExtOp, (above,), bits_type))
    odd = fn.binary(llvm.OrOp, truncated, fn.emit(llvm.ZExtOp, (inexact,), bits_type))
    return fn.emit(llvm.BitcastOp, (odd,), near.type)


def integer_to_odd_f64(
    fn: FunctionConverter, operation: type[Operation], value: SSAValue
) -> SSAValue:
    """
    Returns an integer as f64 by `operation`, which is `sitofp` or `uitofp`. Of those with 64 bits,
    large ones are rounded to odd multiples of the unit of the largest f64 that is an integer of 64
    bits.
    """
    if element_size(element_of(value.type)) == 8:
        value = _odd_integer(fn, value, operation is llvm.SIToFPOp)
    return fn.emit(operation, (value,), with_element(value.type, f64))


def _odd_integer(fn: FunctionConverter, value: SSAValue, signed: bool) -> SSAValue:
    """Returns an i64 that is exact in f64: large ones without their last bits."""
    t = value.type
    low = fn.binary(llvm.AndOp, value, fn.number((1 << _DROPPED) - 1, t))
    high = fn.binary(llvm.XOrOp, value, low)
    some = fn.compare(llvm.ICmpPredicateFlag.NE, low, fn.number(0, t))
    unit = fn.binary(llvm.ShlOp, fn.emit(llvm.ZExtOp, (some,), t), fn.number(_DROPPED, t))
    odd = fn.binary(llvm.OrOp, high, unit)
    # those that are exact as they are: signed ones lie around 0
    shifted = fn.binary(llvm.AddOp, value, fn.number(1 << _EXACT_BITS if signed else 0, t))
    above = fn.binary(llvm.LShrOp, shifted, fn.number(_EXACT_BITS + signed, t))
    large = fn.compare(llvm.ICmpPredicateFlag.NE, above, fn.number(0, t))
    return fn.emit(lx.SelectOp, (large, odd, value), t)


# bf16


def is_bf16(t: Attribute) -> bool:
    return type(element_of(t)) is BFloat16Type


def truncated(fn: FunctionConverter, value: SSAValue, target: Attribute) -> SSAValue:
    """Returns a float, scalar or vector, rounded once to a shorter type."""
    if element_of(value.type) == f64 and element_of(target) != f32:
        value = f64_to_odd_f32(fn, value)
    if is_bf16(target):
        return round_to_bf16(fn, value)
    return fn.emit(llvm.FPTruncOp, (value,), target)


def round_to_bf16(fn: FunctionConverter, value: SSAValue) -> SSAValue:
    """
    Returns an f32 rounded to the nearest bf16, ties to even. Half of the last kept bit, less one if
    that bit is even, is added to the pattern before it is cut off. A NaN stays one, with its quiet
    bit set.
    """
    wide, narrow = with_element(value.type, i32), with_element(value.type, i16)
    bits = fn.emit(llvm.BitcastOp, (value,), wide)
    kept = fn.binary(llvm.LShrOp, bits, fn.number(16, wide))
    odd = fn.binary(llvm.AndOp, kept, fn.number(1, wide))
    bias = fn.binary(llvm.AddOp, odd, fn.number(0x7FFF, wide))
    sum_ = fn.binary(llvm.AddOp, bits, bias)
    rounded = fn.binary(llvm.LShrOp, sum_, fn.number(16, wide))
    quiet = fn.binary(llvm.OrOp, kept, fn.number(0x40, wide))
    is_nan = fn.compare(llvm.FCmpPredicateFlag.UNO, value, value)
    chosen = fn.emit(lx.SelectOp, (is_nan, quiet, rounded), wide)
    cut = fn.emit(llvm.TruncOp, (chosen,), narrow)
    return fn.emit(llvm.BitcastOp, (cut,), with_element(value.type, bf16))
