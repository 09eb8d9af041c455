"""Conversion of fused multiply-add, and of the function of `math` that is no intrinsic of LLVM."""

from __future__ import annotations

from xdsl.dialects import llvm, math, vector
from xdsl.dialects.builtin import SymbolRefAttr, VectorType, f16, f32, f64
from xdsl.ir import Operation, SSAValue

from ...glow_dialects import llvm_extended as lx
from .arithmetic import fastmath
from .bfloat import is_bf16, round_to_bf16, to_f32, widened
from .control import make_call
from .function import FunctionConverter, converts
from .rounding import fused_f16
from .types import element_of


@converts(math.FmaOp, vector.FMAOp)
def convert_fma(op: Operation, fn: FunctionConverter) -> None:
    operands = fn.values(op.operands)
    t = operands[0].type
    if element_of(t) == f16:
        fn.define(op.results[0], fused_f16(fn, operands))
        return
    flags = fastmath(op.properties.get("fastmath"))
    fn.define(op.results[0], widened(fn, llvm.FMAOp, operands, t, flags))


@converts(math.ErfOp)
def convert_erf(op: math.ErfOp, fn: FunctionConverter) -> None:
    """Emits one call of the C library for each lane, in f32 for 16-bit floats."""
    value = fn.value(op.operand)
    t = value.type
    if element_of(t) == f64:
        fn.define(op.result, _call_lanes(fn, "erf", value))
        return
    if element_of(t) != f32:
        value = to_f32(fn, value)
    result = _call_lanes(fn, "erff", value)
    if is_bf16(t):
        result = round_to_bf16(fn, result)
    elif t != result.type:
        result = fn.emit(llvm.FPTruncOp, (result,), t)
    fn.define(op.result, result)


def _call_lanes(fn: FunctionConverter, name: str, value: SSAValue) -> SSAValue:
    t = value.type
    if not isinstance(t, VectorType):
        return _call(fn, name, value)
    result = fn.poison(t)
    for lane in range(t.get_shape()[0]):
        position = fn.number(lane)
        argument = fn.emit(lx.ExtractElementOp, (value, position), t.element_type)
        operands = (result, _call(fn, name, argument), position)
        result = fn.emit(llvm.InsertElementOp, operands, t)
    return result


def _call(fn: FunctionConverter, name: str, value: SSAValue) -> SSAValue:
    fn.libraries[name] = llvm.LLVMFunctionType([value.type], value.type)
    call = make_call(SymbolRefAttr(name), [value], [value.type])
    fn.add(call)
    return call.results[0]
