"""Conversion between number types: the casts of `arith`, and `glow_vec.cast` for vectors."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from ...glow_dialects import glow_vec
from ...glow_dialects import llvm_extended as lx
from ...glow_dialects.glow_vec import CastKind
from .function import FunctionConverter, converts
from .rounding import f64_to_odd_f32, integer_to_odd_f64, is_bf16, round_to_bf16, truncated
from .text import suffix
from .types import convert_type, element_of, element_size, with_element

_CASTS: Mapping[CastKind, type[Operation]] = {
    CastKind.EXTSI: llvm.SExtOp,
    CastKind.EXTUI: llvm.ZExtOp,
    CastKind.TRUNCI: llvm.TruncOp,
    CastKind.SITOFP: llvm.SIToFPOp,
    CastKind.UITOFP: lx.UIToFPOp,
    CastKind.FPTOSI: lx.FPToSIOp,
    CastKind.FPTOUI: lx.FPToUIOp,
}
_TO_FLOAT = {CastKind.SITOFP, CastKind.UITOFP}


def cast(fn: FunctionConverter, kind: CastKind, value: SSAValue, target: Attribute) -> SSAValue:
    """Returns a conversion of a scalar, or lane by lane."""
    if kind is CastKind.INDEX_CAST:
        source, wanted = element_of(value.type), element_of(target)
        assert isinstance(source, IntegerType)
        assert isinstance(wanted, IntegerType)
        if source == wanted:
            return value
        kind = CastKind.EXTSI if source.bitwidth < wanted.bitwidth else CastKind.TRUNCI
    if kind is CastKind.LRINT:
        # one instruction for vectors of f32 and i32; in the default rounding mode, ties to even
        name = f"llvm.lrint.{suffix(target)}.{suffix(value.type)}"
        return fn.intrinsic(name, (value,), target)
    operation = _CASTS[kind]
    if kind in _TO_FLOAT and is_bf16(target):
        return _integer_to_bf16(fn, operation, value)
    return fn.emit(operation, (value,), target)


def _integer_to_bf16(
    fn: FunctionConverter, operation: type[Operation], value: SSAValue
) -> SSAValue:
    """
    Converts integers with one rounding: integers of up to 16 bits are exact in f32, larger ones go
    through f64.
    """
    if element_size(element_of(value.type)) <= 2:
        wide = fn.emit(operation, (value,), with_element(value.type, f32))
    else:
        wide = f64_to_odd_f32(fn, integer_to_odd_f64(fn, operation, value))
    return round_to_bf16(fn, wide)


@converts(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp, glow_vec.CastOp)
@converts(arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp)
def convert_cast(op: Operation, fn: FunctionConverter) -> None:
    """Converts a cast of `arith`, whose name has the kinds."""
    vectors = isinstance(op, glow_vec.CastOp)
    kind = op.kind.data if vectors else CastKind(op.name.removeprefix("arith."))
    target = convert_type(op.results[0].type)
    fn.define(op.results[0], cast(fn, kind, fn.value(op.operands[0]), target))


@converts(arith.ExtFOp, arith.TruncFOp)
def convert_float_cast(op: arith.ExtFOp | arith.TruncFOp, fn: FunctionConverter) -> None:
    value, target = fn.value(op.input), convert_type(op.result.type)
    if isinstance(op, arith.ExtFOp):
        fn.define(op.result, fn.emit(llvm.FPExtOp, (value,), target))
    else:
        fn.define(op.result, truncated(fn, value, target))
