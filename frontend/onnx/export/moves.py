"""The export of nodes that only move elements."""

from __future__ import annotations

import numpy as np

from ....glow_dialects.elements import storage_type
from ....glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ....glow_dialects.operator import element_of, shape_of
from ....glow_dialects.python_values import to_python
from ....semantics.arrays import number, numpy_dtype
from .elementwise import hint_of
from .writer import Writer, exporter

_BEFORE_FIRST = -(2**62)
"""An end that makes a slice with a negative step include the first element."""


@exporter(ReshapeOp)
def reshape(writer: Writer, node: ReshapeOp) -> str:
    shape = shape_of(node.result.type)
    inputs = (writer.name(node.input), writer.ints(shape))
    return writer.emit("Reshape", *inputs, hint=hint_of(node), allowzero=1 if 0 in shape else None)


@exporter(BroadcastOp)
def broadcast(writer: Writer, node: BroadcastOp) -> str:
    shape = writer.ints(shape_of(node.result.type))
    return writer.emit("Expand", writer.name(node.input), shape, hint=hint_of(node))


@exporter(TransposeOp)
def transpose(writer: Writer, node: TransposeOp) -> str:
    perm = list(node.permutation.get_values())
    return writer.emit("Transpose", writer.name(node.input), hint=hint_of(node), perm=perm)


@exporter(ConcatOp)
def concat(writer: Writer, node: ConcatOp) -> str:
    axis = node.axis.value.data
    return writer.emit("Concat", *writer.inputs(node), hint=hint_of(node), axis=axis)


@exporter(SliceOp)
def slice_(writer: Writer, node: SliceOp) -> str:
    call = node.call
    starts, sizes, steps = (call.ints(p) for p in ("starts", "sizes", "strides"))
    ends = [start + n * step for start, n, step in zip(starts, sizes, steps, strict=True)]
    ends = [_BEFORE_FIRST if end < 0 else end for end in ends]
    lists = [writer.ints(v) for v in (starts, ends, range(len(starts)), steps)]
    return writer.emit("Slice", writer.name(node.input), *lists, hint=hint_of(node))


@exporter(PadOp)
def pad(writer: Writer, node: PadOp) -> str:
    amounts = [*node.call.ints("low"), *node.call.ints("high")]
    dtype = numpy_dtype(storage_type(element_of(node.result.type)))
    value = writer.constant(number(to_python(node.value), dtype), "pad")
    name, pads = writer.name(node.input), writer.ints(amounts)
    return writer.emit("Pad", name, pads, value, hint=hint_of(node), mode="constant")


@exporter(GatherOp)
def gather(writer: Writer, node: GatherOp) -> str:
    """
    Returns indices out of range, which are limited here, are an error in ONNX; so they are limited.
    """
    size = shape_of(node.data.type)[node.axis.value.data]
    dtype = numpy_dtype(element_of(node.indices.type))
    bounds = [writer.constant(np.array(b, dtype), "bound") for b in (-size, size - 1)]
    limited = writer.emit("Clip", writer.name(node.indices), *bounds)
    data = writer.name(node.data)
    return writer.emit("Gather", data, limited, hint=hint_of(node), axis=node.axis.value.data)
