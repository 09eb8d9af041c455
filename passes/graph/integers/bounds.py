"""Limits to an interval, which quantization applies anyway or stored numbers can be held to."""

from __future__ import annotations

from math import inf

from xdsl.ir import SSAValue

from ....glow_dialects.glow.activation import ClipOp, ReluOp
from ....glow_dialects.glow.quantization import QuantizeOp
from ....glow_dialects.quant import QuantizedType
from ..canonicalization.bounds import interval_of
from ..rewriting import Build
from .grids import (
    bounds,
    dequantize,
    dequantized_from,
    per_tensor,
    storage_cast,
    stored_number,
    zero_of,
)
from .table import move


def stored_interval(q: QuantizedType, interval: tuple[float, float]) -> tuple[int, int]:
    """Returns the stored numbers of the limits of an interval."""
    least, greatest = bounds(q)
    low, high = interval
    return (
        least if low == -inf else stored_number(q, low),
        greatest if high == inf else stored_number(q, high),
    )


def limited(build: Build, value: SSAValue, q: QuantizedType, low: int, high: int) -> SSAValue:
    """Returns stored numbers limited to an interval."""
    least, greatest = bounds(q)
    limits = {
        name: limit
        for name, limit, free in (("min", low, low == least), ("max", high, high == greatest))
        if not free
    }
    if not limits:
        return value
    return storage_cast(
        build, build(ClipOp, storage_cast(build, value, q.storage), result_types=None, **limits), q
    )


@move(QuantizeOp)
def drop_bounds(node: QuantizeOp, build: Build) -> SSAValue | None:
    """
    Removes a `relu` or `clip` before quantization if the range of the type is no wider.
    Quantization keeps the order of numbers, so it stores every number beyond the bound as the bound
    itself.
    """
    q, interval = per_tensor(node.result.type), interval_of(node.input)
    if q is None or interval is None or stored_interval(q, interval) != bounds(q):
        return None
    return build(QuantizeOp, node.input.owner.operands[0], result_types=[node.result.type])  # pyright: ignore


@move(QuantizeOp)
def limit_stored(node: QuantizeOp, build: Build) -> SSAValue | None:
    """Limits between two quantizations on the same grid."""
    q, interval = per_tensor(node.result.type), interval_of(node.input)
    if q is None or interval is None:
        return None
    source = dequantized_from(node.input.owner.operands[0])  # pyright: ignore
    if source is None or source.type != node.result.type:
        return None
    return limited(build, source, q, *stored_interval(q, interval))


@move(ReluOp)
def relu_of_stored(node: ReluOp, build: Build) -> SSAValue | None:
    """
    Computes `relu` on stored numbers: 0 is on every grid, so the result is on the grid of the
    operand.
    """
    source = dequantized_from(node.input)
    if source is None:
        return None
    q = per_tensor(source.type)
    assert q is not None
    return dequantize(build, limited(build, source, q, zero_of(q), bounds(q)[1]))
