"""Conversion of `vector` and of the rest of `glow_vec`. Vectors have one dimension."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, VectorType, f32, f64, i32
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...glow_dialects import glow_vec
from ...glow_dialects import llvm_extended as lx
from ...glow_dialects.creation import create
from .arithmetic import fastmath
from .function import FunctionConverter, converts
from .memory import as_stored, element_address, vector_address
from .types import (
    PTR,
    convert_type,
    dense_attr,
    element_of,
    failure,
    index_array,
    int_attr,
    memory_type,
    natural_alignment,
    splat_attr,
    vector_of,
)


def lanes_of(t: Attribute, op: Operation) -> int:
    if not isinstance(t, VectorType) or len(t.shape.data) != 1:
        raise failure(op, f"expected a vector of one dimension, found {t}")
    return t.shape.data[0].data


def splat(fn: FunctionConverter, value: SSAValue, t: VectorType) -> SSAValue:
    """Returns a scalar in every lane."""
    known = value.owner.value if isinstance(value.owner, llvm.ConstantOp) else None
    if isinstance(known, IntegerAttr | FloatAttr):
        return fn.constant(splat_attr(known.value.data, t), t)
    poison, zero = fn.poison(t), fn.number(0)
    first = fn.emit(llvm.InsertElementOp, (poison, value, zero), t)
    return shuffle(fn, first, poison, [0] * t.get_shape()[0])


def shuffle(fn: FunctionConverter, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
    """Returns the lanes of `a` and then `b`, by number."""
    t = vector_of(element_of(a.type), len(mask))
    properties = {"mask": index_array(*mask)}
    return fn.emit(llvm.ShuffleVectorOp, (a, b), t, properties)


# memory


@converts(vector.MaskedStoreOp)
def convert_masked_store(op: vector.MaskedStoreOp, fn: FunctionConverter) -> None:
    pointer = vector_address(fn, op.base, op.indices, op)
    value = as_stored(fn, fn.value(op.value_to_store))
    properties = {"alignment": natural_alignment(value.type)}
    operands = (value, pointer, fn.value(op.mask))
    fn.add(create(lx.MaskedStoreOp, operands, (), properties))


@converts(glow_vec.GatherOp)
def convert_gather(op: glow_vec.GatherOp, fn: FunctionConverter) -> None:
    pointer, offsets = vector_address(fn, op.base, op.indices, op), fn.value(op.offsets)
    result = convert_type(op.result.type)
    of_lanes = vector_of(PTR, lanes_of(offsets.type, op))
    element = memory_type(element_of(result))
    places = {"rawConstantIndices": index_array(lx.DYNAMIC), "elem_type": element}
    pointers = fn.emit(lx.GEPOp, (pointer, offsets), of_lanes, places)
    operands = (pointers, *fn.values((op.mask, op.pass_thru)))
    properties = {"alignment": natural_alignment(result)}
    fn.define(op.result, fn.emit(lx.MaskedGatherOp, operands, result, properties))


@converts(glow_vec.PrefetchOp)
def convert_prefetch(op: glow_vec.PrefetchOp, fn: FunctionConverter) -> None:
    properties = {"rw": int_attr(0, i32), "hint": op.locality, "cache": int_attr(1, i32)}
    operands = (element_address(fn, op.base, op.indices, op),)
    fn.add(create(lx.PrefetchOp, operands, (), properties))


# lanes


@converts(vector.CreateMaskOp)
def convert_create_mask(op: vector.CreateMaskOp, fn: FunctionConverter) -> None:
    """Computes the mask of the lanes whose number is smaller than the operand."""
    lanes = lanes_of(op.mask_vector.type, op)
    # 32-bit lanes compare twice as fast; a size that they cannot hold is cut to one that they can
    size = fn.binary(lx.SMinOp, fn.value(op.mask_dim_sizes[0]), fn.number(lanes))
    small = fn.emit(llvm.TruncOp, (size,), i32)
    t = vector_of(i32, lanes)
    sizes, numbers = splat(fn, small, t), fn.constant(dense_attr(range(lanes), t), t)
    fn.define(op.mask_vector, fn.compare(llvm.ICmpPredicateFlag.SLT, numbers, sizes))


@converts(vector.BroadcastOp)
def convert_broadcast(op: vector.BroadcastOp, fn: FunctionConverter) -> None:
    (source,), (result,) = op.operands, op.results
    value, t = fn.value(source), convert_type(result.type)
    assert isinstance(t, VectorType)
    if isinstance(value.type, VectorType):
        raise failure(op, f"expected a scalar, found {source.type}")
    fn.define(result, splat(fn, value, t))


@converts(vector.ExtractOp)
def convert_extract(op: vector.ExtractOp, fn: FunctionConverter) -> None:
    position = op.get_mixed_position()
    if len(position) != 1 or not isinstance(position[0], int):
        raise failure(op, "expected one position, a number")
    operands = (fn.value(op.vector), fn.number(position[0]))
    fn.define(op.result, fn.emit(lx.ExtractElementOp, operands, convert_type(op.result.type)))


@converts(vector.ShuffleOp)
def convert_shuffle(op: vector.ShuffleOp, fn: FunctionConverter) -> None:
    a, b = fn.values((op.v1, op.v2))
    if a.type != b.type:
        raise failure(op, f"expected vectors of one length, found {a.type} and {b.type}")
    fn.define(op.result, shuffle(fn, a, b, op.mask.get_values()))


# reductions

_REDUCTIONS: dict[CombiningKindFlag, tuple[type[Operation], float | None]] = {
    CombiningKindFlag.ADD: (llvm.VectorReduceFAddOp, -0.0),
    CombiningKindFlag.MUL: (llvm.VectorReduceFMulOp, 1.0),
    CombiningKindFlag.MAXIMUMF: (lx.ReduceFMaximumOp, None),
    CombiningKindFlag.MINIMUMF: (lx.ReduceFMinimumOp, None),
}
"""The reductions, and the first values of those that take one as an operand."""


@converts(vector.ReductionOp)
def convert_reduction(op: vector.ReductionOp, fn: FunctionConverter) -> None:
    """Converts reductions of floats of 32 or 64 bits without an accumulator."""
    value, kind, element = fn.value(op.vector), op.kind.data, convert_type(op.dest.type)
    if element not in (f32, f64) or op.acc is not None or kind not in _REDUCTIONS:
        raise failure(op, f"{kind} does not reduce {op.vector.type}")
    reduction, start = _REDUCTIONS[kind]
    operands = (value,) if start is None else (fn.number(start, element), value)
    flags = fastmath(op.properties.get("fastmath"))
    fn.define(op.dest, fn.emit(reduction, operands, element, flags))
