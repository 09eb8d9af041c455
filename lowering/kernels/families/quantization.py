"""Conversion between real and quantized numbers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, f64, i32, i64
from xdsl.ir import Attribute

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ....glow_dialects.operator import Call, element_of
from ....glow_dialects.quant import QuantizedType
from ....glow_dialects.scalar import Primitive
from ..affine import Access, Dim
from ..algebra import ArithAlgebra, Value
from ..nest import Body
from ..primitives import add, divide, multiply, subtract
from ..registry import Kernel, kernel, view_dims

_MAX_TABLE = 2048
"""Scales of a type that a kernel writes to scratch, one instruction each."""


def _is_small(call: Call) -> bool:
    types = [element_of(t) for t in (*call.operands, *call.results)]
    return all(len(t.scales) <= _MAX_TABLE for t in types if isinstance(t, QuantizedType))


@kernel(QuantizeOp, when=_is_small)
def quantize(k: Kernel) -> None:
    """`clamp(round(x / scale) + zero_point)`; quotient and zero point add in f64."""
    quantized = k.result.element
    assert isinstance(quantized, QuantizedType)
    real = compute_type(k.operands[0].element)
    low, high = quantized.storage_min.data, quantized.storage_max.data

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        x, scale, zero_point = values
        steps = alg.apply(Primitive.ROUND_EVEN, divide(alg, x, scale))
        ordered = alg.apply(Primitive.EQ, steps, steps)
        steps = alg.apply(Primitive.SELECT, ordered, steps, alg.number(0.0, real))
        stored = add(alg, alg.convert(steps, f64), zero_point)
        stored = alg.apply(Primitive.MAXIMUM, stored, alg.number(low, f64))
        stored = alg.apply(Primitive.MINIMUM, stored, alg.number(high, f64))
        # the storage range fits into i64 whatever its signedness
        return [alg.convert(alg.convert(stored, i64), quantized.storage)]

    _map(k, quantized, real, f64, body)


@kernel(DequantizeOp, when=_is_small)
def dequantize(k: Kernel) -> None:
    """`(stored - zero_point) * scale`, the difference exactly."""
    quantized = k.operands[0].element
    assert isinstance(quantized, QuantizedType)
    real = compute_type(k.result.element)
    wide = i64 if quantized.storage.width.data > 16 else i32

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        stored, scale, zero_point = values
        centred = subtract(alg, alg.convert(stored, wide), zero_point)
        return [multiply(alg, alg.convert(centred, real), scale)]

    _map(k, quantized, real, wide, body)


def _map(k: Kernel, quantized: QuantizedType, real: Attribute, wide: Attribute, body: Body) -> None:
    """Run `body` on each element, its scale (a `real`) and its zero point (a `wide`)."""
    dims = view_dims(k.result)
    operand = k.operands[0][dims]
    scales, points = quantized.scale_values(), quantized.zero_point_values()
    if not isinstance(quantized.axis, IntAttr):

        def whole(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
            parameters = [alg.number(scales[0], real), alg.number(points[0], wide)]
            return body(alg, [*values, *parameters])

        k.map(dims, k.result[dims], [operand], whole, weight=8)
        return
    channel = dims[quantized.axis.data]
    parameters = [_table(k, scales, real, channel), _table(k, points, wide, channel)]
    k.map(dims, k.result[dims], [operand, *parameters], body, weight=8)


def _table(k: Kernel, values: Sequence[float], element: Attribute, channel: Dim) -> Access:
    """The numbers as an array in scratch, indexed by `channel`."""
    table = k.scratch((len(values),), element)
    for i, value in enumerate(values):
        k.map(
            [], table[[i]], (), lambda alg, _, value=value: [alg.number(value, element)], weight=0
        )
    return table[[channel]]
