"""
Quantization rises and dequantization sinks over nodes that only move numbers, or keep their order,
so that these work on stored numbers. Where the two meet on one type, they cancel.

Moving over a node gives the same numbers: the largest of quantized numbers is the quantized
largest, and so on. A node whose result others use too is left where it is by quantization, so
nothing is computed twice.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import SSAValue

from ....glow_dialects.elements import is_unsigned, num_elements
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.constant import ConstantOp, SplatOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.pooling import MaxPoolOp
from ....glow_dialects.glow.quantization import DequantizeOp, QuantizeOp, StorageCastOp
from ....glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ....glow_dialects.python_values import to_python
from ....glow_dialects.quant import QuantizedType
from ..rewriting import Build, defining_op
from .grids import (
    dequantize,
    dequantized_from,
    per_tensor,
    quantize,
    same_grid,
    storage_cast,
    stored_number,
)
from .table import move

_ONE_OPERAND = (ReshapeOp, TransposeOp, SliceOp, MaxPoolOp)
_RISING = (ReshapeOp, TransposeOp, BroadcastOp, MaxPoolOp)
"""
Operators that quantization moves above. Slices are not among them: more would be quantized than is
needed.
"""


def moved(build: Build, node: Node, *operands: SSAValue) -> SSAValue:
    """Returns `node`, which moves numbers, on other operands with elements of one other type."""
    result = with_shape(element_of(operands[0].type), shape_of(node.results[0].type))
    return build(type(node), *operands, result_types=[result], **node.properties)


# pairs


@move(StorageCastOp)
def merge_storage_casts(node: StorageCastOp, build: Build) -> SSAValue | None:
    if node.input.type == node.result.type:
        return node.input
    inner = defining_op(node.input, StorageCastOp)
    if inner is not None:
        return storage_cast(build, inner.input, element_of(node.result.type))
    return None


@move(StorageCastOp)
def storage_cast_of_constant(node: StorageCastOp, build: Build) -> SSAValue | None:
    """Returns the same bytes under another type."""
    match node.input.owner:
        case SplatOp(value=value):
            return build(SplatOp, result_types=[node.result.type], value=value)
        case ConstantOp(value=value):
            return build(ConstantOp, result_types=[node.result.type], value=value)
        case _:
            return None


@move(QuantizeOp)
def cancel(node: QuantizeOp, build: Build) -> SSAValue | None:
    """
    Replaces the quantization of a value that was dequantized from the same type by the stored
    value.
    """
    source = dequantized_from(node.input)
    return source if source is not None and source.type == node.result.type else None


@move(QuantizeOp)
def quantize_once(node: QuantizeOp, build: Build) -> SSAValue | None:
    """
    Quantizes real numbers directly to the second storage of a grid, if nothing else needs the first
    one.
    """
    source = dequantized_from(node.input)
    first = None if source is None else defining_op(source, QuantizeOp)
    to = per_tensor(node.result.type)
    before = None if first is None else per_tensor(first.result.type)
    if first is None or to is None or before is None or not same_grid(before, to):
        return None
    if not (first.result.has_one_use() and node.input.has_one_use()):
        return None
    return quantize(build, first.input, to)


@move(QuantizeOp)
def change_storage_before_move(node: QuantizeOp, build: Build) -> SSAValue | None:
    """
    Changes the storage of a grid before a node that moves numbers, where only this change needs the
    moved ones, so that it meets the quantization.
    """
    source, to = dequantized_from(node.input), per_tensor(node.result.type)
    if source is None or to is None or not isinstance(source.owner, _RISING):
        return None
    before = per_tensor(source.type)
    if before is None or not same_grid(before, to):
        return None
    if not (source.has_one_use() and node.input.has_one_use()):
        return None
    first = dequantize(build, source.owner.operands[0])
    return moved(build, source.owner, quantize(build, first, to))


@move(DequantizeOp)
def dequantize_first(node: DequantizeOp, build: Build) -> SSAValue | None:
    """
    Returns the value before a conversion to another storage of the same grid. Conversions from
    signed to unsigned storage stay, because products need them.
    """
    second = defining_op(node.input, QuantizeOp)
    source = None if second is None else dequantized_from(second.input)
    if source is None:
        return None
    a, b = per_tensor(source.type), per_tensor(node.input.type)
    if a is None or b is None or not same_grid(a, b):
        return None
    if is_unsigned(b.storage) and not is_unsigned(a.storage):
        return None
    return dequantize(build, source)


# dequantization sinks


@move(*_ONE_OPERAND)
def sink_dequantize(node: Node, build: Build) -> SSAValue | None:
    source = dequantized_from(node.operands[0])
    return None if source is None else dequantize(build, moved(build, node, source))


@move(BroadcastOp)
def sink_below_broadcast(node: BroadcastOp, build: Build) -> SSAValue | None:
    """
    Moves a dequantization below a broadcast that a product reads. Elsewhere it would convert more
    numbers.
    """
    source = dequantized_from(node.input)
    if source is None or not any(isinstance(u.operation, MatMulOp) for u in node.result.uses):
        return None
    return dequantize(build, moved(build, node, source))


@move(GatherOp)
def sink_below_gather(node: GatherOp, build: Build) -> SSAValue | None:
    source = dequantized_from(node.data)
    if source is None:
        return None
    return dequantize(build, build(GatherOp, source, node.indices, axis=node.axis))


@move(PadOp)
def sink_below_pad(node: PadOp, build: Build) -> SSAValue | None:
    """Moves a dequantization below a pad whose number is on the grid."""
    source = dequantized_from(node.input)
    number = to_python(node.value)
    if source is None:
        return None
    q = per_tensor(source.type)
    assert q is not None
    stored = stored_number(q, number)
    if (stored - q.zero_point_values()[0]) * q.scale_values()[0] != number:
        return None
    padded = build(PadOp, source, low=node.low, high=node.high, value=float(stored))
    return dequantize(build, padded)


@move(ConcatOp)
def sink_below_concat(node: ConcatOp, build: Build) -> SSAValue | None:
    """Moves dequantizations below a concatenation whose parts all have one type."""
    sources = [dequantized_from(part) for part in node.inputs]
    found = [s for s in sources if s is not None]
    if len(found) < len(sources) or len({element_of(s.type) for s in found}) > 1:
        return None
    return dequantize(build, build(ConcatOp, *found, axis=node.axis))


@move(TransposeOp)
def sink_scales_below_transpose(node: TransposeOp, build: Build) -> SSAValue | None:
    inner = defining_op(node.input, DequantizeOp)
    q = None if inner is None else element_of(inner.input.type)
    if inner is None or not isinstance(q, QuantizedType) or not isinstance(q.axis, IntAttr):
        return None
    axis = list(node.permutation.get_values()).index(q.axis.data)
    return _with_axis(build, inner.input, node, q, axis)


@move(ReshapeOp)
def sink_scales_below_reshape(node: ReshapeOp, build: Build) -> SSAValue | None:
    """Moves a dequantization below a reshape that keeps the dimension of the scales."""
    inner = defining_op(node.input, DequantizeOp)
    q = None if inner is None else element_of(inner.input.type)
    if inner is None or not isinstance(q, QuantizedType) or not isinstance(q.axis, IntAttr):
        return None
    source, target = shape_of(node.input.type), shape_of(node.result.type)
    before, size = num_elements(source[: q.axis.data]), source[q.axis.data]
    for axis, extent in enumerate(target):
        if extent == size and num_elements(target[:axis]) == before:
            return _with_axis(build, inner.input, node, q, axis)
    return None


def _with_axis(build: Build, source: SSAValue, node: Node, q: QuantizedType, axis: int) -> SSAValue:
    """Returns `node` on a quantized `source`, whose scales then belong to dimension `axis`."""
    plain = moved(build, node, storage_cast(build, source, q.storage))
    bounds = (q.storage_min.data, q.storage_max.data)
    scales, points = q.scale_values(), q.zero_point_values()
    t = QuantizedType(q.storage, q.expressed, scales, points, axis, bounds)
    return dequantize(build, storage_cast(build, plain, t))


# the same for plain integers that represent quantized numbers


@move(*_ONE_OPERAND)
def sink_storage_cast(node: Node, build: Build) -> SSAValue | None:
    inner = defining_op(node.operands[0], StorageCastOp)
    if inner is None or per_tensor(inner.input.type) is None:
        return None
    return storage_cast(build, moved(build, node, inner.input), element_of(inner.result.type))


@move(PadOp)
def sink_storage_cast_below_pad(node: PadOp, build: Build) -> SSAValue | None:
    inner = defining_op(node.input, StorageCastOp)
    if inner is None or per_tensor(inner.input.type) is None:
        return None
    return storage_cast(build, moved(build, node, inner.input), element_of(inner.result.type))


@move(ConcatOp)
def sink_storage_cast_below_concat(node: ConcatOp, build: Build) -> SSAValue | None:
    inner = [defining_op(part, StorageCastOp) for part in node.inputs]
    casts = [c for c in inner if c is not None and per_tensor(c.input.type)]
    if len(casts) < len(inner) or len({element_of(c.input.type) for c in casts}) > 1:
        return None
    joined = build(ConcatOp, *(c.input for c in casts), axis=node.axis)
    return storage_cast(build, joined, element_of(node.result.type))


# quantization rises


N = TypeVar("N", bound=Node)


def _single(node: QuantizeOp, *kinds: type[N]) -> tuple[QuantizedType, N] | None:
    """
    Returns the type of a quantization with one scale, and the node that makes its operand for it
    alone.
    """
    to, owner = per_tensor(node.result.type), node.input.owner
    if to is None or not isinstance(owner, kinds) or not node.input.has_one_use():
        return None
    return to, owner


@move(QuantizeOp)
def rise_over_move(node: QuantizeOp, build: Build) -> SSAValue | None:
    found = _single(node, *_RISING)
    if found is None:
        return None
    to, owner = found
    return moved(build, owner, quantize(build, owner.operands[0], to))


@move(QuantizeOp)
def rise_over_pad(node: QuantizeOp, build: Build) -> SSAValue | None:
    found = _single(node, PadOp)
    if found is None:
        return None
    to, pad = found
    stored = float(stored_number(to, to_python(pad.value)))
    inner = quantize(build, pad.input, to)
    return build(PadOp, inner, low=pad.low, high=pad.high, value=stored)


@move(QuantizeOp)
def rise_over_concat(node: QuantizeOp, build: Build) -> SSAValue | None:
    """Quantizes each operand of a concatenation instead of the result."""
    found = _single(node, ConcatOp)
    if found is None:
        return None
    to, concat = found
    return moved(build, concat, *(quantize(build, part, to) for part in concat.inputs))
