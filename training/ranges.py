"""
Ranges in the graph of a training: moving averages, and the scales and zero points for them.

The arithmetic is that of the schemas `asymmetric` and `symmetric` of `glow.quantization`, in f64 as
there, so that an exported network has the scales of the trained one to the bit.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType

from ..glow_dialects.glow.activation import ClipOp
from ..glow_dialects.glow.arithmetic import MaximumOp, MinimumOp, MulOp, RoundEvenOp
from ..glow_dialects.glow.logic import EqualOp, SelectOp
from ..glow_dialects.glow.quantization import FakeQuantizeOp
from ..glow_dialects.glow.reduction import ReduceMaxOp, ReduceMinOp
from ..glow_dialects.integers import integer_range
from ..nn.functions import concat
from ..nn.tensor import Tensor, elementwise
from ..quantization.schemas import LARGEST_SCALE, SMALLEST_SCALE, ZERO_SCALE


def range_of(x: Tensor) -> Tensor:
    """Returns the least and the greatest number of a tensor, f32[2]."""
    axes = list(range(x.rank))
    ends = [x.graph.node(op, x, axes=axes) for op in (ReduceMinOp, ReduceMaxOp)]
    return concat([end.cast("float32").reshape(1) for end in ends], 0)


def moved_range(old: Tensor, new: Tensor, momentum: float) -> Tensor:
    """
    Returns the exponential moving average of a range, f32[2], after one more batch (Jacob et al.
    2018, section 3.1). An old range of zeros is none: then the new one is that of the batch.
    """
    graph = old.graph
    size = elementwise(MaximumOp, old.slice([1], [1]), -old.slice([0], [1]))
    none = graph.node(EqualOp, size, graph.number(0.0, size)).broadcast([2])
    return graph.node(SelectOp, none, new, old * (1 - momentum) + new * momentum)


def asymmetric(found: Tensor, storage: IntegerType) -> tuple[Tensor, Tensor]:
    """Returns the scale and the zero point for a range f32[2], f32[1] both."""
    graph, (bottom, top) = found.graph, integer_range(storage)
    wide = found.cast("float64")
    low = elementwise(MinimumOp, wide.slice([0], [1]), 0.0)
    high = elementwise(MaximumOp, wide.slice([1], [1]), 0.0)
    scale, none = _scale((high - low) / (top - bottom))
    point = graph.node(RoundEvenOp, bottom - low / scale.cast("float64"))
    limited = graph.node(ClipOp, point, min=float(bottom), max=float(top))
    point = graph.node(SelectOp, none, graph.number(float(max(0, bottom)), point), limited)
    return scale, point.cast("float32")


def symmetric(weights: Tensor, storage: IntegerType, axis: int | None) -> Tensor:
    """
    Returns the scales for weights whose zero point is 0: one for each index of a dimension, f32[C],
    or one, f32[1].
    """
    axes = [a for a in range(weights.rank) if a != axis]
    low, high = (weights.graph.node(op, weights, axes=axes) for op in (ReduceMinOp, ReduceMaxOp))
    largest = elementwise(MaximumOp, high, -low).reshape(-1).cast("float64")
    return _scale(largest / integer_range(storage)[1])[0]


def product_scale(activation: Tensor, weights: Tensor) -> Tensor:
    """Returns the scales of products, f32, as many as weights have: those of a bias in i32."""
    wide = weights.cast("float64")
    return _scale(elementwise(MulOp, wide, activation.cast("float64")))[0]


def _scale(exact: Tensor) -> tuple[Tensor, Tensor]:
    """Returns scales as f32, normal and positive, and where there is nothing but 0."""
    graph = exact.graph
    limited = graph.node(ClipOp, exact, min=SMALLEST_SCALE, max=LARGEST_SCALE).cast("float32")
    none = graph.node(EqualOp, exact, graph.number(0.0, exact))
    return graph.node(SelectOp, none, graph.number(ZERO_SCALE, limited), limited), none


def fake_quantized(
    x: Tensor, scale: Tensor, zero_point: Tensor, storage: IntegerType, axis: int | None = None
) -> Tensor:
    """Returns x rounded to quantized numbers, with one scale or one for each index of an axis."""
    least, greatest = integer_range(storage)
    spread: list[Tensor] = []
    for parameter in (scale, zero_point):
        shape = [1] * x.rank
        if axis is not None:
            shape[axis] = parameter.shape[0]
        spread.append(parameter.cast(x.dtype).reshape(*shape).broadcast(x.shape))
    return x.graph.node(FakeQuantizeOp, x, *spread, least=least, greatest=greatest)
