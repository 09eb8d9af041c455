"""
Products of dequantized operands, computed on the stored numbers.

With zero points `a` and `b` of operands `x` and `w`, and scales `s` and `t`, a sum of real products
is `s * t * sum((x - a) * (w - b))`. Weights are brought to `b = 0`, and `- a * sum(w)` is part of
the bias (Jacob et al., "Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference", 2018, section 2.3). Padding becomes explicit, with the stored
number for 0.

Operands of 8 bits are multiplied as (u8 or i8) by i8. Weights with zero points other than 0 (128
for u8), or with more bits, are multiplied as i16, less their zero points. A product stays one of
floats if its sums might not fit into i32; a bias that does not fit is added in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, f32, i8, i16, i32, i64
from xdsl.ir import SSAValue

from ....glow_dialects.elements import is_unsigned
from ....glow_dialects.glow.arithmetic import AddOp, MulOp, SubOp
from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ....glow_dialects.glow.quantization import DequantizeOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ....glow_dialects.glow.shape import PadOp
from ....glow_dialects.operator import element_of, shape_of
from ....glow_dialects.quant import QuantizedType
from ....semantics.arrays import constant_of
from ....semantics.registry import evaluate
from ..lowerings.precision import cast
from ..rewriting import Build, defining_op
from .grids import (
    bounds,
    dequantize,
    dequantized_from,
    per_tensor,
    quantize,
    scale_of,
    storage_cast,
    zero_of,
)
from .table import product
from .weights import Weights, fits

_LARGEST = 2**31 - 1
_STEPS = 1e-4
"""
The largest relative deviation of the scale of a bias from the product of the other two scales.
"""


@dataclass(frozen=True)
class Bias:
    """
    A bias in two forms: the initial value of the accumulator, i64 [outputs], and the real numbers
    that are added to the product if it does not fit there.
    """

    steps: np.ndarray
    rest: np.ndarray | None = None


def stored_bias(value: SSAValue, steps: np.ndarray, room: int) -> Bias | None:
    """Returns a constant bias in units of `steps`, if it is known."""
    count = shape_of(value.type)[0]
    node = defining_op(value, DequantizeOp)
    exact = None if node is None else _bias_as_stored(node, steps)
    if exact is not None and np.abs(exact).max(initial=0) <= room:
        return Bias(exact)
    real = constant_of(value) if node is None else _real(node)
    if real is None:
        return None
    with np.errstate(all="ignore"):
        numbers = np.rint(real.astype(np.float64) / steps.astype(np.float64))
    if not np.isfinite(numbers).all() or np.abs(numbers).max(initial=0) > room:
        return Bias(np.zeros(count, np.int64), real.astype(np.float32))
    return Bias(np.broadcast_to(numbers, count).astype(np.int64))


def _real(node: DequantizeOp) -> np.ndarray | None:
    stored = constant_of(node.input)
    return None if stored is None else evaluate(node.call, [stored])[0]


def _bias_as_stored(node: DequantizeOp, steps: np.ndarray) -> np.ndarray | None:
    """
    Returns the stored numbers of a bias whose scale is the product of the others, as it should be.
    """
    stored, q = constant_of(node.input), element_of(node.input.type)
    assert isinstance(q, QuantizedType)
    scales = np.array(q.scale_values(), np.float64)
    if stored is None or not np.allclose(scales, steps.astype(np.float64), _STEPS, 0):
        return None
    return stored.astype(np.int64) - np.array(q.zero_point_values(), np.int64)


@dataclass(frozen=True)
class Prepared:
    """
    The operands of a product of integers, and the factors that turn its result into real numbers.
    """

    x: SSAValue
    weights: SSAValue
    bias: SSAValue
    scales: np.ndarray
    rest: np.ndarray | None


def prepare(
    build: Build,
    x: SSAValue,
    weights: Weights,
    bias: SSAValue,
    pad: Callable[[SSAValue, int], SSAValue],
    swap: bool = False,
) -> Prepared | None:
    """
    Returns the operands of a product of quantized `x` by constant weights; None if sums might not
    fit.

    `pad` surrounds `x` with a stored number.
    """
    q = per_tensor(x.type)
    if q is None or q.storage.width.data > 16 or weights.bits > 16:
        return None
    narrow = q.storage.width.data == 8 and weights.bits <= 8 and weights.is_symmetric
    if not narrow and is_unsigned(q.storage) and q.storage.width.data > 8:
        return None
    if not narrow and not fits(weights.centred(), i16):
        return None
    zero, (low, high) = zero_of(q), bounds(q)
    sums, magnitudes = weights.sums()
    largest = int(magnitudes.max(initial=0)) * max(zero - low, high - zero)
    scales = np.float32(scale_of(q)) * weights.scales
    found = stored_bias(bias, scales, _LARGEST - largest)
    if found is None:
        return None
    start = np.broadcast_to(found.steps, sums.shape) - zero * sums
    if largest > _LARGEST or not fits(start, i32):
        return None
    padded = pad(x, zero)
    if not narrow:
        padded = cast(build, storage_cast(build, padded, q.storage), i16)
    constant = weights.constant(build, i8 if narrow else i16, swap)
    start_values = build.constant(start.astype(np.int32), bias.name_hint or "bias")
    return Prepared(padded, constant, start_values, scales, found.rest)


def real_result(build: Build, acc: SSAValue, by: Prepared, element: object) -> SSAValue:
    """Returns the accumulated i32 as real numbers: times the scales, plus the rest of the bias."""
    shape = shape_of(acc.type)
    column = [1, -1] + [1] * (len(shape) - 2)
    real = cast(build, acc, f32)
    real = build(MulOp, real, spread(build, by.scales, column, shape))
    if by.rest is not None:
        real = build(AddOp, real, spread(build, by.rest, column, shape))
    return cast(build, real, element)  # pyright: ignore


def spread(
    build: Build, numbers: np.ndarray, column: Sequence[int], shape: Sequence[int]
) -> SSAValue:
    """
    Returns f32 numbers, one for all or one for each index of a dimension, in the shape `shape`.
    """
    numbers = numbers.astype(np.float32).reshape(-1)
    if (numbers == numbers[:1]).all():
        numbers = numbers[:1]
    shaped = numbers.reshape(column if numbers.size > 1 else [1] * len(shape))
    return build.broadcast(build.constant(shaped, "scales"), shape)


@product(ConvolutionOp)
def convolution(node: ConvolutionOp, build: Build) -> SSAValue | None:
    x, weights = dequantized_from(node.input), Weights.of(node.filter, 0)
    if x is None or weights is None:
        return None
    pads = list(node.pads.get_values())
    n = len(pads) // 2
    explicit = False

    def pad(value: SSAValue, stored: int) -> SSAValue:
        nonlocal explicit
        if not stored or not any(pads):
            return value
        explicit = True
        low, high = [0, 0, *pads[:n]], [0, 0, *pads[n:]]
        return build(PadOp, value, low=low, high=high, value=float(stored))

    by = prepare(build, x, weights, node.bias, pad)
    if by is None:
        return None
    inner = [0] * (2 * n) if explicit else pads
    properties = {**node.properties, "pads": DenseArrayBase.from_list(i64, inner)}
    acc = build(ConvolutionOp, by.x, by.weights, by.bias, **properties)
    return real_result(build, acc, by, element_of(node.result.type))


def _unpadded(value: SSAValue, stored: int) -> SSAValue:
    return value


@product(FullyConnectedOp)
def fully_connected(node: FullyConnectedOp, build: Build) -> SSAValue | None:
    x, weights = dequantized_from(node.input), Weights.of(node.weights, 0)
    by = x and weights and prepare(build, x, weights, node.bias, _unpadded)
    if not by:
        return None
    acc = build(FullyConnectedOp, by.x, by.weights, by.bias)
    return real_result(build, acc, by, element_of(node.result.type))


@product(MatMulOp)
def product_by_constant(node: MatMulOp, build: Build) -> SSAValue | None:
    """Turns a product of single matrices with a constant right one into a fully connected layer."""
    if len(shape_of(node.result.type)) != 2 or node.transpose_lhs.value.data:
        return None
    transposed = bool(node.transpose_rhs.value.data)
    x, weights = dequantized_from(node.lhs), Weights.of(node.rhs, 0 if transposed else 1)
    if x is None or weights is None:
        return None
    columns = shape_of(node.result.type)[1]
    nothing = build.constant(np.zeros(columns, np.float32))
    by = prepare(build, x, weights, nothing, _unpadded, swap=not transposed)
    if by is None:
        return None
    acc = build(FullyConnectedOp, by.x, by.weights, by.bias)
    return real_result(build, acc, by, element_of(node.result.type))


@product(MatMulOp)
def product_of_activations(node: MatMulOp, build: Build) -> SSAValue | None:
    """Returns sums of rows and columns correct for the zero points."""
    a, b = dequantized_from(node.lhs), dequantized_from(node.rhs)
    if a is None or b is None:
        return None
    p, q = per_tensor(a.type), per_tensor(b.type)
    assert p is not None
    assert q is not None
    last = len(shape_of(a.type)) - 1
    inner_a = last - 1 if node.transpose_lhs.value.data else last
    inner_b = last if node.transpose_rhs.value.data else last - 1
    inner = shape_of(a.type)[inner_a]
    if {p.storage.width.data, q.storage.width.data} != {8} or inner * 2**16 > _LARGEST:
        return None
    if is_unsigned(q.storage):
        b, q = as_signed(build, b, q)
    acc = build(MatMulOp, a, b, result_types=None, **node.properties)
    za, zb = zero_of(p), zero_of(q)
    if za:
        sums = _sums(build, b, q, inner_b, node.transpose_rhs.value.data)
        acc = _less(build, acc, sums, za)
    if zb:
        sums = _sums(build, a, p, inner_a, node.transpose_lhs.value.data)
        if za:
            sums = build(SubOp, sums, build.splat(inner * za, sums.type))
        acc = _less(build, acc, sums, zb)
    scale = np.float32(scale_of(p)) * np.float32(scale_of(q))
    real = cast(build, acc, f32)
    real = build(MulOp, real, build.splat(float(scale), real.type))
    return cast(build, real, element_of(node.result.type))


def as_signed(build: Build, value: SSAValue, q: QuantizedType) -> tuple[SSAValue, QuantizedType]:
    """Returns the same numbers stored as i8, which were stored as u8."""
    low, high = bounds(q)
    signed = QuantizedType(
        i8, q.expressed, scale_of(q), zero_of(q) - 128, None, (low - 128, high - 128)
    )
    return quantize(build, dequantize(build, value), signed), signed


def _sums(build: Build, value: SSAValue, q: QuantizedType, axis: int, swap: int) -> SSAValue:
    """
    Returns sums of stored numbers along a dimension, i32, so that they broadcast to the product.
    """
    wide = cast(build, storage_cast(build, value, q.storage), i32)
    sums = build(ReduceSumOp, wide, axes=[axis], keep_dims=True)
    shape = list(shape_of(sums.type))
    if swap:
        shape[-2:] = shape[:-3:-1]
    return build.reshape(sums, shape)


def _less(build: Build, acc: SSAValue, sums: SSAValue, factor: int) -> SSAValue:
    scaled = build(MulOp, sums, build.splat(factor, sums.type))
    return build(SubOp, acc, build.broadcast(scaled, shape_of(acc.type)))
