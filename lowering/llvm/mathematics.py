"""Conversion of what `math` has beyond intrinsics of LLVM: mostly calls of the C library."""

from __future__ import annotations

from xdsl.dialects import llvm, math, vector
from xdsl.dialects.builtin import Float64Type, SymbolRefAttr, VectorType, f16, f32
from xdsl.ir import Operation, SSAValue

from ...glow_dialects import llvm_extended as lx
from .arithmetic import fastmath
from .bfloat import is_bf16, round_to_bf16, to_f32, widened
from .control import make_call
from .function import FunctionConverter, converts
from .rounding import fused_f16
from .types import element_of, i1, int_attr

LIBRARY: dict[type[Operation], str] = {
    math.AcoshOp: "acosh",
    math.AsinhOp: "asinh",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.ErfOp: "erf",
    math.ExpM1Op: "expm1",
    math.Log1pOp: "log1p",
}
"""Functions of libm, in their names for doubles; those for floats end with an f."""


@converts(math.FmaOp, vector.FMAOp)
def convert_fma(op: Operation, fn: FunctionConverter) -> None:
    operands = fn.values(op.operands)
    t = operands[0].type
    if element_of(t) == f16:
        fn.define(op.results[0], fused_f16(fn, operands))
        return
    flags = fastmath(op.properties.get("fastmath"))
    fn.define(op.results[0], widened(fn, llvm.FMAOp, operands, t, flags))


@converts(math.RsqrtOp)
def convert_rsqrt(op: math.RsqrtOp, fn: FunctionConverter) -> None:
    flags = fastmath(op.properties.get("fastmath"))
    value = fn.value(op.operand)
    t = value.type
    root = widened(fn, llvm.FSqrtOp, (value,), t, flags)
    fn.define(op.result, widened(fn, llvm.FDivOp, (fn.number(1.0, t), root), t, flags))


@converts(math.AbsIOp)
def convert_absi(op: math.AbsIOp, fn: FunctionConverter) -> None:
    value = fn.value(op.operand)
    properties = {"is_int_min_poison": int_attr(0, i1)}
    fn.define(op.result, fn.emit(lx.AbsOp, (value,), value.type, properties))


@converts(*LIBRARY)
def convert_library_call(op: Operation, fn: FunctionConverter) -> None:
    """Emits one call for each lane, in f32 for 16-bit floats."""
    value = fn.value(op.operands[0])
    t = value.type
    name = LIBRARY[type(op)]
    if isinstance(element_of(t), Float64Type):
        fn.define(op.results[0], _call_lanes(fn, name, value, op))
        return
    if element_of(t) != f32:
        value = to_f32(fn, value)
    result = _call_lanes(fn, name + "f", value, op)
    if is_bf16(t):
        result = round_to_bf16(fn, result)
    elif t != result.type:
        result = fn.emit(llvm.FPTruncOp, (result,), t)
    fn.define(op.results[0], result)


def _call_lanes(fn: FunctionConverter, name: str, value: SSAValue, op: Operation) -> SSAValue:
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
