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
from .types import element_of, with_element


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
