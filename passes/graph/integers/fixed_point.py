"""
Real numbers between dequantization and quantization as integers with a scale.

`glow.rescale` multiplies by a number that is an integer over a power of two, and rounds. The terms
of a sum have `FRACTION` binary places more than its result, and saturate far outside of the
result's range. Means are sums with another scale. Any elementwise nodes on one operand of 8 bits
become a table of 256 stored numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import frexp, prod
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from ....glow_dialects.glow.activation import ClipOp, ReluOp
from ....glow_dialects.glow.arithmetic import AddOp, MulOp, SubOp
from ....glow_dialects.glow.base import DataParallel, Node
from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.indexing import IntLookupTableOp
from ....glow_dialects.glow.logic import CastOp
from ....glow_dialects.glow.pooling import AvgPoolOp
from ....glow_dialects.glow.quantization import DequantizeOp, QuantizeOp, RescaleOp
from ....glow_dialects.glow.reduction import ReduceMeanOp, ReduceSumOp
from ....glow_dialects.glow.shape import BroadcastOp, PadOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ....glow_dialects.quant import QuantizedType
from ....semantics.arrays import constant_of
from ....table import Table
from ..canonicalization.bounds import interval_of
from ..lowerings.precision import cast
from ..rewriting import Build, defining_op, is_constant, source_of
from ..use_lookup_tables import ByteFunction
from .bounds import limited, stored_interval
from .grids import dequantized_from, per_tensor, scale_of, storage_cast, zero_of
from .table import integer

FRACTION = 12
"""The number of binary places of sums beyond the places of the result."""
_ROOM = 2**29
"""Terms of sums are limited to a range with this many times as many integers."""
_DEEPEST = 8

N = TypeVar("N", bound=Node)


@dataclass(frozen=True)
class Fixed:
    """
    Real numbers as `(value - zero point) * scales`: `value` is i32 or quantized with one scale
    (which does not count), and `scales` f64 broadcasts to it.
    """

    value: SSAValue
    scales: np.ndarray

    def rescaled(self, build: Build, to: QuantizedType) -> SSAValue:
        """Returns quantized by integer arithmetic."""
        multiplier, shift = fixed_point(self.scales / scale_of(to))
        shape = shape_of(self.value.type)
        operands = [
            build.broadcast(build.constant(n, hint), shape)
            for n, hint in ((multiplier, "multiplier"), (shift, "shift"))
        ]
        result = with_shape(to, shape)
        return build(RescaleOp, self.value, *operands, result_types=[result])


def fixed_point(factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Returns integers `multiplier` and `shift` (i32, 1 to 62) with `multiplier / 2**shift` nearest to
    factors above 0. The multiplier of a power of two below 1 is 1. Factors below 2**-31 are 0.
    """
    multiplier, shift = np.zeros(factors.shape, np.int32), np.ones(factors.shape, np.int32)
    for place, factor in np.ndenumerate(factors):
        mantissa, exponent = frexp(factor)
        number, places = round(mantissa * 2**31), 31 - exponent
        while number % 2 == 0 and number and places > 1:
            number, places = number // 2, places - 1
        while places < 1:
            number, places = number * 2, places + 1
        if places <= 62:
            multiplier[place], shift[place] = min(number, 2**31 - 1), places
    return multiplier, shift


Compute: TypeAlias = "Callable[[N, FixedPoint], Fixed | None]"
_COMPUTED: Table[type[Node], Compute[Any]] = Table("an integer form")


def computed(*operators: type[N]) -> Callable[[Compute[N]], Compute[N]]:
    """Registers how the result of an operator is computed in integers."""
    return _COMPUTED.entry(*operators)


class FixedPoint:
    """Values as integers, for a result of type `to`."""

    def __init__(self, build: Build, to: QuantizedType):
        self.build = build
        low, high = -_ROOM, _ROOM - 1
        self.term = QuantizedType(
            i32, f32, scale_of(to) / 2**FRACTION, 0, storage_bounds=(low, high)
        )
        self._depth = 0

    def of(self, value: SSAValue) -> Fixed | None:
        """Returns the value in integers; None if some node on the way has no integer form."""
        if is_constant(value):
            return self._constant(value)
        compute = _COMPUTED.get(type(value.owner))
        if compute is None or self._depth == _DEEPEST:
            return None
        self._depth += 1
        result = compute(value.owner, self)
        self._depth -= 1
        return result

    def _constant(self, value: SSAValue) -> Fixed | None:
        array = _known(value)
        steps = np.rint(array.astype(np.float64) / scale_of(self.term))
        if not (np.abs(steps) < _ROOM).all():
            return None
        stored = self.build.constant(steps.astype(np.int32))
        spread = self.build.broadcast(stored, shape_of(value.type))
        return Fixed(spread, np.full(1, scale_of(self.term)))

    def as_term(self, value: SSAValue) -> SSAValue | None:
        """Returns a value as i32 with the scale of terms."""
        fixed = self.of(value)
        if fixed is None:
            return None
        if is_constant(value):
            return fixed.value
        return storage_cast(self.build, fixed.rescaled(self.build, self.term), i32)


def _known(value: SSAValue) -> np.ndarray:
    """Returns a constant, before it is broadcast, with the rank of the value."""
    array = constant_of(source_of(value))
    assert array is not None
    return array.reshape([1] * (len(shape_of(value.type)) - array.ndim) + list(array.shape))


@computed(DequantizeOp)
def stored(node: DequantizeOp, by: FixedPoint) -> Fixed | None:
    q = per_tensor(node.input.type)
    rank = len(shape_of(node.input.type))
    if q is None or q.storage.width.data > 16:
        return None
    return Fixed(node.input, np.full([1] * rank, scale_of(q)))


@computed(MulOp)
def scaled(node: MulOp, by: FixedPoint) -> Fixed | None:
    """Returns an accumulator times constants."""
    inner = defining_op(node.lhs, CastOp)
    if inner is None or element_of(inner.input.type) != i32 or not is_constant(node.rhs):
        return _product(node, by)
    scales = _known(node.rhs).astype(np.float64)
    return Fixed(inner.input, scales) if (scales > 0).all() else None


def _product(node: MulOp, by: FixedPoint) -> Fixed | None:
    """Returns the product of two 8-bit operands."""
    factors = []
    scale = 1.0
    for operand in (node.lhs, node.rhs):
        source = dequantized_from(operand)
        q = None if source is None else per_tensor(source.type)
        if source is None or q is None or q.storage.width.data != 8:
            return None
        factors.append(_centred(by.build, source, q))
        scale *= scale_of(q)
    product = by.build(MulOp, *factors)
    return Fixed(product, np.full([1] * len(shape_of(product.type)), scale))


def _centred(build: Build, value: SSAValue, q: QuantizedType) -> SSAValue:
    """Returns stored numbers minus the zero point, as i32."""
    wide = cast(build, storage_cast(build, value, q.storage), i32)
    return build(SubOp, wide, build.splat(zero_of(q), wide.type)) if zero_of(q) else wide


@computed(ReluOp)
def positive(node: ReluOp, by: FixedPoint) -> Fixed | None:
    """Returns the rectifier of an accumulator. Stored numbers already have their limits."""
    fixed = by.of(node.input)
    if fixed is None or element_of(fixed.value.type) != i32:
        return None
    return Fixed(by.build(ReluOp, fixed.value), fixed.scales)


@computed(BroadcastOp)
def repeated(node: BroadcastOp, by: FixedPoint) -> Fixed | None:
    fixed, shape = by.of(node.input), shape_of(node.result.type)
    if fixed is None:
        return None
    ones = [1] * (len(shape) - len(shape_of(node.input.type)))
    scales = fixed.scales.reshape([*ones, *fixed.scales.shape])
    return Fixed(by.build.broadcast(fixed.value, shape), scales)


@computed(AddOp, SubOp)
def summed(node: AddOp | SubOp, by: FixedPoint) -> Fixed | None:
    lhs, rhs = by.as_term(node.lhs), by.as_term(node.rhs)
    if lhs is None or rhs is None:
        return None
    return Fixed(by.build(type(node), lhs, rhs), _like(lhs, scale_of(by.term)))


def _like(value: SSAValue, scale: float) -> np.ndarray:
    return np.full([1] * len(shape_of(value.type)), scale)


@computed(ReduceMeanOp)
def mean(node: ReduceMeanOp, by: FixedPoint) -> Fixed | None:
    source = dequantized_from(node.input)
    q = None if source is None else per_tensor(source.type)
    shape, axes = shape_of(node.input.type), node.axes.get_values()
    count = prod(shape[a] for a in axes)
    if source is None or q is None or q.storage.width.data > 8 or not 0 < count < 2**22:
        return None
    wide = _centred(by.build, source, q)
    sums = by.build(ReduceSumOp, wide, axes=node.axes, keep_dims=node.keep_dims)
    return Fixed(sums, _like(sums, scale_of(q) / count))


@computed(AvgPoolOp)
def average(node: AvgPoolOp, by: FixedPoint) -> Fixed | None:
    """
    Returns the convolution of each channel with ones; how many there are depends on the place.
    """
    source = dequantized_from(node.input)
    q = None if source is None else per_tensor(source.type)
    if source is None or q is None or q.storage.width.data > 8 or node.ceil_mode.value.data:
        return None
    counts = _counts(node)
    if counts is None:
        return None
    build, channels, zero = by.build, shape_of(source.type)[1], zero_of(q)
    kernel, pads = list(node.call.ints("kernel")), list(node.call.ints("pads"))
    half = len(kernel)
    low, high = [0, 0, *pads[:half]], [0, 0, *pads[half:]]
    padded = build(PadOp, source, low=low, high=high, value=float(zero)) if any(pads) else source
    ones = build.constant(np.ones((channels, 1, *kernel), np.int8), "ones", i8)
    bias = build.constant(np.full(channels, -zero * prod(kernel), np.int32), "bias")
    sums = build(
        ConvolutionOp,
        padded,
        ones,
        bias,
        strides=node.strides,
        dilations=node.dilations,
        group=channels,
    )
    return Fixed(sums, scale_of(q) / counts)


def _counts(node: AvgPoolOp) -> np.ndarray | None:
    """Returns the number of elements of each mean, as f64 that broadcasts to the result."""
    kernel = node.call.ints("kernel")
    if node.count_include_pad.value.data or not any(node.pads.get_values()):
        return np.full([1] * (2 + len(kernel)), float(prod(kernel)))
    counts = np.ones([1] * (2 + len(kernel)))
    n = len(kernel)
    result, sizes = shape_of(node.result.type)[2:], shape_of(node.input.type)[2:]
    strides, dilations = node.strides.get_values(), node.dilations.get_values()
    for d in range(n):
        starts = np.arange(result[d]) * strides[d] - node.pads.get_values()[d]
        places = starts[:, None] + np.arange(kernel[d]) * dilations[d]
        inside = ((places >= 0) & (places < sizes[d])).sum(1)
        counts = counts * inside.reshape([-1 if i == d + 2 else 1 for i in range(n + 2)])
    return counts if counts.all() else None


@integer(QuantizeOp)
def quantize_integers(node: QuantizeOp, build: Build) -> SSAValue | None:
    """Quantizes integers. Limits after the last step become limits of the stored numbers."""
    to = per_tensor(node.result.type)
    if to is None or element_of(node.input.type) != f32:
        return None
    value, interval = node.input, None
    if isinstance(value.owner, ReluOp | ClipOp):
        interval = interval_of(value)
        value = value.owner.input
    fixed = None if is_constant(value) else FixedPoint(build, to).of(value)
    if fixed is None:
        return None
    result = fixed.rescaled(build, to)
    return limited(build, result, to, *stored_interval(to, interval)) if interval else result


# tables


def _chain(value: SSAValue) -> tuple[DequantizeOp, list[DataParallel]] | None:
    """
    Returns the nodes on single elements, the last one first, between `value` and the only operand.
    """
    nodes: list[DataParallel] = []
    while not isinstance(value.owner, DequantizeOp):
        owner = value.owner
        if not isinstance(owner, DataParallel) or len(nodes) == _DEEPEST:
            return None
        variables = {o for o in owner.operands if not is_constant(o)}
        numbers = [o for o in owner.operands if is_constant(o)]
        if len(variables) != 1 or any(_known(n).size != 1 for n in numbers):
            return None
        nodes.append(owner)
        (value,) = variables
    return value.owner, nodes


@integer(QuantizeOp)
def table(node: QuantizeOp, build: Build) -> SSAValue | None:
    """Returns the stored number for each of 256 operands, computed as the interpreter does."""
    to, found = per_tensor(node.result.type), _chain(node.input)
    q = None if found is None else per_tensor(found[0].input.type)
    if found is None or to is None or q is None or q.storage.width.data != 8:
        return None
    source, nodes = found
    if is_constant(source.input):
        return None
    function = ByteFunction(source.input, (source, *reversed(nodes), node))
    return build(IntLookupTableOp, source.input, function.table(build))
