"""Nodes that read weighted elements, or put windows together."""

from __future__ import annotations

from math import prod

import numpy as np

from ....glow_dialects.glow.padding import FoldOp
from ....glow_dialects.glow.resampling import ResampleOp, SampleOp
from ....glow_dialects.operator import element_of, shape_of
from ....semantics.arrays import numpy_dtype
from ..problems import Unsupported
from .elementwise import hint_of
from .generic import as_formula
from .writer import Writer, code_of, exporter


@exporter(ResampleOp)
def resample(writer: Writer, node: ResampleOp) -> str:
    """Writes the reads, the products with weights, and the sums; 16-bit floats compute in f32."""
    x, places, weights = writer.inputs(node)
    axis, shape = node.axis.value.data, shape_of(node.input.type)
    element, wide = element_of(node.input.type), element_of(node.weights.type)
    x = writer.emit("Cast", x, to=code_of(wide)) if element != wide else x
    dtype = numpy_dtype(element_of(node.places.type))
    bounds = [writer.constant(np.array(b, dtype), "bound") for b in (0, shape[axis] - 1)]
    read = writer.emit("Gather", x, writer.emit("Clip", places, *bounds), axis=axis)
    behind = [1] * (len(shape) - 1 - axis)
    factors = writer.reshaped(weights, [*shape_of(node.weights.type), *behind])
    terms, axes = writer.emit("Mul", read, factors), writer.ints([axis + 1], "axes")
    if element == wide:
        return writer.emit("ReduceSum", terms, axes, hint=hint_of(node), keepdims=0)
    total = writer.emit("ReduceSum", terms, axes, keepdims=0)
    return writer.emit("Cast", total, hint=hint_of(node), to=code_of(element))


@exporter(SampleOp)
def sample(writer: Writer, node: SampleOp) -> str:
    return as_formula(writer, node)


@exporter(FoldOp)
def fold(writer: Writer, node: FoldOp) -> str:
    call = node.call
    image, n = call.ints("image"), len(call.ints("image"))
    batch, channels, *sizes = call.shape(0)
    block, counts = sizes[:n], sizes[n:]
    strides, low, dilations = (call.ints(p) for p in ("strides", "low", "dilations"))
    geometry = zip(image, block, counts, strides, low, dilations, strict=True)
    high = [(c - 1) * s + t * (k - 1) + 1 - d - a for d, k, c, s, a, t in geometry]
    if min(high) < 0:
        raise Unsupported(f"windows that leave out the end of {node.result.type}")
    rows = [batch, channels * prod(block), prod(counts)]
    return writer.emit(
        "Col2Im",
        writer.reshaped(writer.name(node.input), rows),
        writer.ints(image, "image"),
        writer.ints(block, "block"),
        hint=hint_of(node),
        strides=list(strides),
        dilations=list(dilations),
        pads=[*low, *high],
    )
