"""Conversion of `arith`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...glow_dialects import glow_vec
from ...glow_dialects import llvm_extended as lx
from ...glow_dialects.glow_vec import Predicate
from .bfloat import widened
from .failure import failure
from .function import FunctionConverter, converts
from .linear import Linear, combine
from .types import convert_type, dense_attr, i32, int_attr, mask_for

NO_OVERFLOW = {"overflowFlags": int_attr(0, i32)}
CONTRACT = FastMathFlag.ALLOW_CONTRACT


@cache
def fastmath(flags: Attribute | None, contract: bool = False) -> Mapping[str, Attribute]:
    """Returns the properties of an `llvm` operation for the fast-math flags of an `arith` one."""
    found = set(flags.data) if isinstance(flags, arith.FastMathFlagsAttr) else set()
    if contract:
        found.add(CONTRACT)
    return {"fastmathFlags": llvm.FastMathAttr(tuple(f for f in FastMathFlag if f in found))}


@converts(arith.ConstantOp)
def convert_constant(op: arith.ConstantOp, fn: FunctionConverter) -> None:
    value = op.value
    t = op.result.type
    if isinstance(t, IndexType) and isinstance(value, IntegerAttr):
        fn.define_index(op.result, Linear(value.value.data))
        return
    target = convert_type(t)
    if t != target:
        value = _retyped(op, value, target)
    fn.define(op.result, fn.constant(value, target))


def _retyped(op: arith.ConstantOp, value: Attribute, target: Attribute) -> Attribute:
    if isinstance(value, IntegerAttr) and isinstance(target, IntegerType):
        return int_attr(value.value.data, target)
    if isinstance(value, DenseIntOrFPElementsAttr) and isinstance(target, VectorType):
        return dense_attr(list(value.get_values()), target)
    raise failure(op, f"{value} has no counterpart")


# index arithmetic stays symbolic


@converts(arith.AddiOp)
def convert_addi(op: arith.AddiOp, fn: FunctionConverter) -> None:
    if isinstance(op.result.type, IndexType):
        fn.define_index(op.result, fn.index(op.lhs) + fn.index(op.rhs))
    else:
        convert_integer(op, fn)


@converts(arith.SubiOp)
def convert_subi(op: arith.SubiOp, fn: FunctionConverter) -> None:
    if isinstance(op.result.type, IndexType):
        difference = combine([(fn.index(op.lhs), 1), (fn.index(op.rhs), -1)])
        fn.define_index(op.result, difference)
    else:
        convert_integer(op, fn)


@converts(arith.MuliOp)
def convert_muli(op: arith.MuliOp, fn: FunctionConverter) -> None:
    if not isinstance(op.result.type, IndexType):
        convert_integer(op, fn)
        return
    lhs, rhs = fn.index(op.lhs), fn.index(op.rhs)
    if not rhs.terms:
        fn.define_index(op.result, lhs.scaled(rhs.constant))
    elif not lhs.terms:
        fn.define_index(op.result, rhs.scaled(lhs.constant))
    else:
        convert_integer(op, fn)


INTEGER: dict[type[Operation], type[Operation]] = {
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
_WITH_FLAGS = {llvm.AddOp, llvm.SubOp, llvm.MulOp, llvm.ShlOp}
_OWN_CONVERTER = {arith.AddiOp, arith.SubiOp, arith.MuliOp}


@converts(*(op for op in INTEGER if op not in _OWN_CONVERTER))
def convert_integer(op: Operation, fn: FunctionConverter) -> None:
    kind = INTEGER[type(op)]
    operands = fn.values(op.operands)
    properties = NO_OVERFLOW if kind in _WITH_FLAGS else {}
    fn.define(op.results[0], fn.emit(kind, operands, operands[0].type, properties))


@converts(arith.FloorDivSIOp, arith.CeilDivSIOp)
def convert_rounded_division(op: Operation, fn: FunctionConverter) -> None:
    """
    Computes the truncated quotient, and corrects it where the remainder is not 0 and the rounding
    was wrong.
    """
    a, b = fn.values(op.operands)
    t = a.type
    zero = fn.number(0, t)
    floor = isinstance(op, arith.FloorDivSIOp)
    quotient = fn.emit(llvm.SDivOp, (a, b), t)
    remainder = fn.emit(llvm.SRemOp, (a, b), t)
    inexact = compare(fn, llvm.ICmpPredicateFlag.NE, remainder, zero)
    signs = fn.emit(llvm.XOrOp, (a, b), t)
    # truncation rounded up if the exact quotient is negative
    wrong = llvm.ICmpPredicateFlag.SLT if floor else llvm.ICmpPredicateFlag.SGE
    rounded = compare(fn, wrong, signs, zero)
    correct = fn.emit(llvm.AndOp, (inexact, rounded), mask_for(t))
    step = fn.number(-1 if floor else 1, t)
    corrected = fn.emit(llvm.AddOp, (quotient, step), t, NO_OVERFLOW)
    fn.define(
        op.results[0], fn.emit(lx.SelectOp, (correct, corrected, quotient), t, fastmath(None))
    )


@converts(arith.CeilDivUIOp)
def convert_ceildivui(op: arith.CeilDivUIOp, fn: FunctionConverter) -> None:
    a, b = fn.values(op.operands)
    t = a.type
    quotient = fn.emit(llvm.UDivOp, (a, b), t)
    remainder = fn.emit(llvm.URemOp, (a, b), t)
    inexact = compare(fn, llvm.ICmpPredicateFlag.NE, remainder, fn.number(0, t))
    one = fn.emit(llvm.ZExtOp, (inexact,), t)
    fn.define(op.results[0], fn.emit(llvm.AddOp, (quotient, one), t, NO_OVERFLOW))


def compare(
    fn: FunctionConverter, flag: llvm.ICmpPredicateFlag, a: SSAValue, b: SSAValue
) -> SSAValue:
    """Compares integers, scalars or vectors."""
    return fn.emit(llvm.ICmpOp, (a, b), mask_for(a.type), {"predicate": int_attr(flag.to_int())})


@converts(arith.CmpiOp)
def convert_cmpi(op: arith.CmpiOp, fn: FunctionConverter) -> None:
    operands = fn.values((op.lhs, op.rhs))
    properties = {"predicate": int_attr(op.predicate.value.data)}
    t = mask_for(operands[0].type)
    fn.define(op.result, fn.emit(llvm.ICmpOp, operands, t, properties))


# floats

FLOAT: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
    arith.NegfOp: llvm.FNegOp,
    arith.MaximumfOp: lx.MaximumOp,
    arith.MinimumfOp: lx.MinimumOp,
    arith.MaxnumfOp: llvm.VectorFMaxOp,
    arith.MinnumfOp: llvm.VectorFMinOp,
}
_FUSABLE = {llvm.FAddOp, llvm.FSubOp, llvm.FMulOp}


@converts(*FLOAT)
def convert_float(op: Operation, fn: FunctionConverter) -> None:
    kind = FLOAT[type(op)]
    flags = fastmath(op.properties.get("fastmath"), fn.contract and kind in _FUSABLE)
    operands = fn.values(op.operands)
    fn.define(op.results[0], widened(fn, kind, operands, operands[0].type, flags))


@converts(arith.CmpfOp)
def convert_cmpf(op: arith.CmpfOp, fn: FunctionConverter) -> None:
    operands = fn.values((op.lhs, op.rhs))
    t = mask_for(operands[0].type)
    flags = {
        "predicate": int_attr(op.predicate.value.data),
        **fastmath(op.properties.get("fastmath")),
    }
    fn.define(op.result, fn.emit(lx.FCmpOp, operands, t, flags))


_INTEGER_PREDICATES = {flag.value: flag.to_int() for flag in llvm.ICmpPredicateFlag}
_FLOAT_PREDICATES = {
    Predicate.OEQ: llvm.FCmpPredicateFlag.OEQ,
    Predicate.OLT: llvm.FCmpPredicateFlag.OLT,
    Predicate.OLE: llvm.FCmpPredicateFlag.OLE,
    Predicate.UNE: llvm.FCmpPredicateFlag.UNE,
}


@converts(glow_vec.CmpOp)
def convert_vector_comparison(op: glow_vec.CmpOp, fn: FunctionConverter) -> None:
    operands = fn.values((op.lhs, op.rhs))
    t = mask_for(operands[0].type)
    predicate = op.predicate.data
    if predicate.compares_floats:
        number = _FLOAT_PREDICATES[predicate].to_int()
        flags = {"predicate": int_attr(number), **fastmath(None)}
        fn.define(op.result, fn.emit(lx.FCmpOp, operands, t, flags))
        return
    properties = {"predicate": int_attr(_INTEGER_PREDICATES[predicate.value])}
    fn.define(op.result, fn.emit(llvm.ICmpOp, operands, t, properties))


@converts(glow_vec.RemOp)
def convert_remainder(op: glow_vec.RemOp, fn: FunctionConverter) -> None:
    operands = fn.values((op.lhs, op.rhs))
    t = operands[0].type
    fn.define(op.result, widened(fn, llvm.FRemOp, operands, t, fastmath(None)))


@converts(arith.SelectOp)
def convert_select(op: arith.SelectOp, fn: FunctionConverter) -> None:
    operands = fn.values((op.cond, op.lhs, op.rhs))
    flags = fastmath(None)
    fn.define(op.result, fn.emit(lx.SelectOp, operands, operands[1].type, flags))


@converts(arith.BitcastOp)
def convert_bitcast(op: arith.BitcastOp, fn: FunctionConverter) -> None:
    value, target = fn.value(op.input), convert_type(op.result.type)
    if value.type != target:
        value = fn.emit(llvm.BitcastOp, (value,), target)
    fn.define(op.result, value)
