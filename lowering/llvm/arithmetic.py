"""
Conversion of arithmetic in `arith`, `math`, `vector` and `glow_vec`: operations that LLVM has as
well, and calls of the C library for the function that it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, llvm, math, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    VectorType,
    f32,
    f64,
)
from xdsl.dialects.llvm import FCmpPredicateFlag, ICmpPredicateFlag
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...glow_dialects import glow_vec
from ...glow_dialects import llvm_extended as lx
from ...glow_dialects.identity_cache import cached_by_identity
from .function import FunctionConverter, converts
from .linear import Linear, combine
from .types import convert_type, dense_attr, element_of, failure, int_attr


@cached_by_identity
def fastmath(flags: Attribute | None, contract: bool = False) -> Mapping[str, Attribute]:
    """Returns the properties of an `llvm` operation for the fast-math flags of an `arith` one."""
    found = set(flags.data) if isinstance(flags, arith.FastMathFlagsAttr) else set()
    if contract:
        found.add(FastMathFlag.ALLOW_CONTRACT)
    if not found:
        return {}
    return {"fastmathFlags": llvm.FastMathAttr(tuple(f for f in FastMathFlag if f in found))}


@converts(arith.ConstantOp)
def convert_constant(op: arith.ConstantOp, fn: FunctionConverter) -> None:
    value = op.value
    (result,) = op.results
    t = result.type
    if isinstance(t, IndexType) and isinstance(value, IntegerAttr):
        fn.indices[result] = Linear(value.value.data)
        return
    target = convert_type(t)
    if t is not target and t != target:
        value = _retyped(op, value, target)
    fn.define(result, fn.constant(value, target))


def _retyped(op: arith.ConstantOp, value: Attribute, target: Attribute) -> Attribute:
    if isinstance(value, IntegerAttr) and isinstance(target, IntegerType):
        return int_attr(value.value.data, target)
    if isinstance(value, DenseIntOrFPElementsAttr) and isinstance(target, VectorType):
        return dense_attr(list(value.get_values()), target)
    raise failure(op, f"{value} has no counterpart")


_INTEGER: dict[type[Operation], type[Operation]] = {
    arith.AddiOp: llvm.AddOp,
    arith.SubiOp: llvm.SubOp,
    arith.MuliOp: llvm.MulOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.RemUIOp: llvm.URemOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.AndIOp: llvm.AndOp,
    arith.OrIOp: llvm.OrOp,
    arith.XOrIOp: llvm.XOrOp,
    arith.ShLIOp: llvm.ShlOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.ShRSIOp: llvm.AShrOp,
    arith.MinSIOp: lx.SMinOp,
    arith.MaxSIOp: lx.SMaxOp,
    arith.MinUIOp: lx.UMinOp,
    arith.MaxUIOp: lx.UMaxOp,
}


@converts(*_INTEGER)
def convert_integer(op: Operation, fn: FunctionConverter) -> None:
    """Converts operations on integers. Linear forms of indices stay symbolic."""
    (result,) = op.results
    linear = _linear(op, fn) if isinstance(result.type, IndexType) else None
    if linear is None:
        fn.define(result, fn.binary(_INTEGER[type(op)], *fn.values(op.operands)))
    else:
        fn.indices[result] = linear


_SIGNS: dict[type[Operation], int] = {arith.AddiOp: 1, arith.SubiOp: -1}
_LINEAR = {*_SIGNS, arith.MuliOp}


def _linear(op: Operation, fn: FunctionConverter) -> Linear | None:
    """Returns a sum of indices, or a product with a number; None for other operations."""
    kind = type(op)
    if kind not in _LINEAR:
        return None
    lhs, rhs = (fn.indices[o] for o in op.operands)
    if kind in _SIGNS:
        return combine([(lhs, 1), (rhs, _SIGNS[kind])])
    if lhs.terms and rhs.terms:
        return None
    return combine([(rhs, lhs.constant) if rhs.terms else (lhs, rhs.constant)])


_FLOAT: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
    arith.NegfOp: llvm.FNegOp,
    arith.MaximumfOp: lx.MaximumOp,
    arith.MinimumfOp: lx.MinimumOp,
    glow_vec.RemOp: llvm.FRemOp,
    math.AbsFOp: llvm.FAbsOp,
    math.CeilOp: llvm.FCeilOp,
    math.CosOp: llvm.FCosOp,
    math.ExpOp: llvm.FExpOp,
    math.FloorOp: llvm.FFloorOp,
    math.FmaOp: llvm.FMAOp,
    math.LogOp: llvm.FLogOp,
    math.PowFOp: llvm.FPowOp,
    # programs run in the default rounding mode, to even; where the machine has no instruction for
    # it, `rint` is a function of C99, but `roundeven` is missing in many libraries
    math.RoundEvenOp: lx.RintOp,
    math.SinOp: llvm.FSinOp,
    math.SqrtOp: llvm.FSqrtOp,
    math.TanhOp: lx.TanhOp,
    vector.FMAOp: llvm.FMAOp,
}
_FUSABLE = {llvm.FAddOp, llvm.FSubOp, llvm.FMulOp}


@converts(*_FLOAT)
def convert_float(op: Operation, fn: FunctionConverter) -> None:
    kind = _FLOAT[type(op)]
    flags = fastmath(op.properties.get("fastmath"), fn.contract and kind in _FUSABLE)
    operands = _wide(op, fn)
    fn.define(op.results[0], fn.emit(kind, operands, operands[0].type, flags))


def _wide(op: Operation, fn: FunctionConverter) -> list[SSAValue]:
    """Returns operands of arithmetic. Raises CompileError for 16-bit floats."""
    operands = fn.values(op.operands)
    if element_of(operands[0].type) not in (f32, f64):
        raise failure(op, f"expected f32 or f64, found {operands[0].type}; convert it to f32 first")
    return operands


@converts(arith.CmpiOp, arith.CmpfOp, glow_vec.CmpOp)
def convert_comparison(
    op: arith.CmpiOp | arith.CmpfOp | glow_vec.CmpOp, fn: FunctionConverter
) -> None:
    if isinstance(op, glow_vec.CmpOp):
        predicate = op.predicate.data
        kind = FCmpPredicateFlag if predicate.compares_floats else ICmpPredicateFlag
        flag = kind(predicate.value)
    else:
        kind = FCmpPredicateFlag if isinstance(op, arith.CmpfOp) else ICmpPredicateFlag
        flag = kind.from_int(op.predicate.value.data)
    flags = fastmath(op.properties.get("fastmath"))
    fn.define(op.result, fn.compare(flag, fn.value(op.lhs), fn.value(op.rhs), flags=flags))


@converts(arith.SelectOp, glow_vec.SelectOp)
def convert_select(op: Operation, fn: FunctionConverter) -> None:
    operands = fn.values(op.operands)
    fn.define(op.results[0], fn.emit(lx.SelectOp, operands, operands[1].type))


@converts(arith.BitcastOp, vector.BitcastOp)
def convert_bitcast(op: Operation, fn: FunctionConverter) -> None:
    value, target = fn.value(op.operands[0]), convert_type(op.results[0].type)
    if value.type != target:
        value = fn.emit(llvm.BitcastOp, (value,), target)
    fn.define(op.results[0], value)


@converts(math.ErfOp)
def convert_erf(op: math.ErfOp, fn: FunctionConverter) -> None:
    """Emits one call of the C library for each lane."""
    (value,) = _wide(op, fn)
    name = "erf" if element_of(value.type) == f64 else "erff"
    fn.define(op.result, _call_lanes(fn, name, value))


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
    return fn.call(SymbolRefAttr(name), [value], [value.type])[0]
