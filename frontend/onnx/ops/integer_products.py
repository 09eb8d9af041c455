"""
Products of integers with zero points that may be known only when the network runs.

The products are of the stored numbers, and the contributions of zero points are subtracted
afterwards: with zero points `a` of the left and `b` of the right operand, which have K elements
along a sum, `sum((x - a) * (w - b)) = sum(x * w) - a * sum(w) - b * sum(x) + K * a * b` (Jacob et
al. 2018, section 2.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType, i8, i16, i32
from xdsl.ir import SSAValue

from ....glow_dialects.elements import is_unsigned
from ....glow_dialects.glow.arithmetic import AddOp, MulOp, SubOp
from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ..builder import GraphBuilder, element, known_array, rank, shape
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from .convolution import convolution_window
from .matrix import matrix_product
from .quantization import dynamically_quantized

_HALF = 128
"""The difference between a number stored as u8 and the same number stored as i8."""


def _zero_point(node: OnnxNode, index: int) -> SSAValue | None:
    """Returns a zero point as i32, None if it is known to be 0."""
    value = node.optional(index)
    if value is None:
        return None
    array = known_array(value)
    return None if array is not None and not array.any() else node.build.cast(value, i32)


def _signed(
    build: GraphBuilder, x: SSAValue, zero_point: SSAValue | None
) -> tuple[SSAValue, SSAValue | None]:
    """Returns the same differences `x - zero_point` with `x` as i8."""
    if not is_unsigned(element(x)):
        return x, zero_point
    shifted = build.cast(build.with_number(SubOp, build.cast(x, i16), _HALF), i8)
    if zero_point is None:
        return shifted, build.splat(-_HALF, i32, [])
    moved = build.with_number(SubOp, zero_point, _HALF)
    array = known_array(moved)
    return shifted, None if array is not None and not array.any() else moved


def _check(*operands: SSAValue) -> None:
    for value in operands:
        t = element(value)
        if not isinstance(t, IntegerType) or t.width.data != 8:
            raise Unsupported(f"a product of integers with {value.type}")


@converter("MatMulInteger")
def matmul(node: OnnxNode) -> SSAValue:
    zero_points = _zero_point(node, 2), _zero_point(node, 3)
    return _integer_product(node.build, node.input(0), node.input(1), *zero_points)


@converter("MatMulIntegerToFloat", domain=CONTRIB)
def matmul_to_float(node: OnnxNode) -> SSAValue:
    """Converts a product of integers that is scaled, plus a bias."""
    zero_points = _zero_point(node, 4), _zero_point(node, 5)
    products = _integer_product(node.build, node.input(0), node.input(1), *zero_points)
    return _scaled(node, products, [node.input(2), node.input(3)], 6)


@converter("DynamicQuantizeMatMul", domain=CONTRIB)
def matmul_of_quantized(node: OnnxNode) -> SSAValue:
    """Converts the same with a left operand of reals, which is quantized by its range."""
    x, scale, zero_point = dynamically_quantized(node.build, node.input(0))
    of_rows = node.build.cast(zero_point, i32)
    products = _integer_product(node.build, x, node.input(1), of_rows, _zero_point(node, 3))
    return _scaled(node, products, [scale, node.input(2)], 4)


def _scaled(node: OnnxNode, products: SSAValue, scales: Sequence[SSAValue], bias: int) -> SSAValue:
    """Returns products times the scales of the operands, plus an optional input."""
    build = node.build
    result = build.cast(products, element(scales[0]))
    result = build.elementwise(MulOp, result, build.elementwise(MulOp, *scales))
    given = node.optional(bias)
    return result if given is None else build.elementwise(AddOp, result, given)


def _integer_product(
    build: GraphBuilder,
    a: SSAValue,
    b: SSAValue,
    of_rows: SSAValue | None,
    of_columns: SSAValue | None,
) -> SSAValue:
    """Returns the product of integers minus their zero points."""
    _check(a, b)
    b, of_columns = _signed(build, b, of_columns)
    result = matrix_product(build, a, b)
    if min(rank(a), rank(b)) < 2 and (of_rows is not None or of_columns is not None):
        raise Unsupported("a product of a vector with zero points")
    inner = shape(a)[-1]
    if of_rows is not None and rank(of_rows) == 1 and shape(of_rows) != (1,):
        of_rows = build.reshape(of_rows, [*shape(of_rows), 1])
    if of_rows is not None:
        sums = build.op(ReduceSumOp, build.cast(b, i32), axes=[rank(b) - 2], keep_dims=True)
        result = _less(build, result, build.elementwise(MulOp, sums, of_rows))
    if of_columns is not None:
        sums = build.op(ReduceSumOp, build.cast(a, i32), axes=[rank(a) - 1], keep_dims=True)
        if of_rows is not None:
            shift = build.with_number(MulOp, of_rows, inner)
            sums = build.elementwise(SubOp, sums, shift)
        result = _less(build, result, build.elementwise(MulOp, sums, of_columns))
    return result


def _less(build: GraphBuilder, x: SSAValue, correction: SSAValue) -> SSAValue:
    return build.op(SubOp, x, build.broadcast(correction, shape(x)))


@converter("ConvInteger")
def convolution(node: OnnxNode) -> SSAValue:
    """
    Returns a filter with zero points gives products of the differences to all zero points, as i16.
    """
    build, x, w = node.build, node.input(0), node.input(1)
    _check(x, w)
    window = convolution_window(node, x, w)
    of_input = _zero_point(node, 2)
    signed, of_filter = _signed(build, w, _zero_point(node, 3))
    nothing = build.splat(0, i32, [shape(w)[0]])
    if of_filter is None:
        result = build.op(ConvolutionOp, x, signed, nothing, **window)
        if of_input is None:
            return result
        sums = _sums_of_filter(node, x, signed, window)
        return _less(build, result, build.elementwise(MulOp, sums, build.reshape(of_input, [])))
    column = [-1] + [1] * (rank(w) - 1)
    spread = build.reshape(of_filter, [*shape(of_filter), *column[1:]])
    differences = [
        _difference(build, x, of_input and build.reshape(of_input, [])),
        _difference(build, signed, build.reshape(of_filter, []) if not rank(of_filter) else spread),
    ]
    return build.op(ConvolutionOp, *differences, nothing, **window)


def _difference(build: GraphBuilder, x: SSAValue, zero_point: SSAValue | None) -> SSAValue:
    """Returns `x - zero_point` as i16."""
    wide = build.cast(x, i16)
    if zero_point is None:
        return wide
    return build.op(SubOp, wide, build.broadcast(build.cast(zero_point, i16), shape(x)))


def _sums_of_filter(
    node: OnnxNode, x: SSAValue, w: SSAValue, window: dict[str, object]
) -> SSAValue:
    """
    Returns the sum of those elements of each filter that do not fall on padding, for each window.
    """
    build = node.build
    over_channels = build.op(ReduceSumOp, build.cast(w, i32), axes=[1], keep_dims=True)
    ones = build.constant(np.ones((1, 1, *shape(x)[2:]), np.int32))
    nothing = build.splat(0, i32, [shape(w)[0]])
    return build.op(ConvolutionOp, ones, over_channels, nothing, **{**window, "group": 1})
