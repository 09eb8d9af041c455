"""Nodes that look for elements, or that indices tell what to pick or replace."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ....glow_dialects.glow import indexing as g
from ....glow_dialects.operator import element_of, shape_of
from ....semantics.arrays import numpy_dtype
from .elementwise import hint_of
from .writer import Writer, exporter


def limited(writer: Writer, indices: str, element: np.dtype, size: int) -> str:
    """Indices out of range, which are limited here, are an error in ONNX; so they are limited."""
    bounds = [writer.constant(np.array(b, element), "bound") for b in (-size, size - 1)]
    return writer.emit("Clip", indices, *bounds)


@exporter(g.GatherElementsOp)
def gather_elements(writer: Writer, node: g.GatherElementsOp) -> str:
    axis = node.axis.value.data
    dtype = numpy_dtype(element_of(node.indices.type))
    size = shape_of(node.data.type)[axis]
    indices = limited(writer, writer.name(node.indices), dtype, size)
    data = writer.name(node.data)
    return writer.emit("GatherElements", data, indices, hint=hint_of(node), axis=axis)


@exporter(g.IntLookupTableOp)
def int_lookup_table(writer: Writer, node: g.IntLookupTableOp) -> str:
    """Converts bytes to indices: a negative one counts from the end, where its element is."""
    places = writer.emit("Cast", writer.name(node.input), to=TensorProto.INT32)
    return writer.emit("Gather", writer.name(node.mapping), places, hint=hint_of(node))


@exporter(g.ArgMaxOp, g.ArgMinOp)
def arg_extreme(writer: Writer, node: g.ArgMaxOp | g.ArgMinOp) -> str:
    return writer.emit(
        "ArgMax" if isinstance(node, g.ArgMaxOp) else "ArgMin",
        writer.name(node.input),
        hint=hint_of(node),
        axis=node.axis.value.data,
        keepdims=0,
        select_last_index=int(node.call.get("last")),
    )


@exporter(g.TopIndicesOp)
def top_indices(writer: Writer, node: g.TopIndicesOp) -> str:
    largest, axis = int(not node.call.get("smallest")), node.axis.value.data
    inputs = writer.name(node.input), writer.ints([node.k.value.data], "k")
    found = writer.emit("TopK", *inputs, hint=hint_of(node), axis=axis, largest=largest)
    writer.nodes[-1].output.insert(0, writer.fresh("values"))
    return found


@exporter(g.CumSumOp, g.CumProdOp)
def cumulative(writer: Writer, node: g.CumSumOp | g.CumProdOp) -> str:
    operator = "CumSum"
    if isinstance(node, g.CumProdOp):
        operator = "CumProd"
        writer.needs(26)
    axis = writer.constant(np.array(node.axis.value.data, np.int64), "axis")
    flags = {name: int(node.call.get(name)) for name in ("exclusive", "reverse")}
    return writer.emit(operator, writer.name(node.input), axis, hint=hint_of(node), **flags)


@exporter(g.ScatterOp)
def scatter(writer: Writer, node: g.ScatterOp) -> str:
    dtype = numpy_dtype(element_of(node.indices.type))
    rows, (count,) = shape_of(node.data.type)[0], shape_of(node.indices.type)
    indices = limited(writer, writer.name(node.indices), dtype, rows)
    column = writer.reshaped(writer.emit("Cast", indices, to=7), [count, 1])
    inputs = writer.name(node.data), column, writer.name(node.updates)
    return writer.emit("ScatterND", *inputs, hint=hint_of(node), reduction=node.reduction.data)
