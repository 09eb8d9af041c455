"""
Dynamic quantization: matrix products whose left operand is quantized while the program runs.

`x` [..., K] times a constant matrix `w` [K, N] becomes, with one scale per column of `w` and one
scale and zero point for all of `x`, as ONNX's DynamicQuantizeLinear computes them,

    (xq * wq - zero_point * sums of columns of wq) * (scale of x * scales of columns)

where the product `xq * wq` is summed in i32 and all else is elementwise, so that it runs where the
product is stored. Nothing is profiled; the range of `x` is found in one pass over it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType, f32, i32
from xdsl.ir import SSAValue

from ..errors import QuantizationError
from ..glow_dialects.glow.arithmetic import (
    AddOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    NegOp,
    RoundEvenOp,
    SubOp,
)
from ..glow_dialects.glow.base import Node
from ..glow_dialects.glow.logic import EqualOp, SelectOp
from ..glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ..glow_dialects.glow.reduction import ReduceMaxOp, ReduceMinOp
from ..glow_dialects.integers import u8
from ..glow_dialects.operator import element_of, shape_of, with_shape
from ..passes.graph.lowerings.precision import cast
from ..passes.graph.rewriting import Build, is_constant, replace_node
from ..passes.visited_operation import each
from ..semantics.arrays import constant_of, constant_reader, lazy_constant
from .calibration import calibrate_weights
from .schemas import quantize_array

_LEVELS = 255.0


def quantize_dynamically(
    main: func.FuncOp, is_kept: Callable[[Node], bool]
) -> tuple[dict[SSAValue, SSAValue], dict[SSAValue, str]]:
    """
    Rewrites all products of f32 by constant matrices, also in the bodies of branches and loops,
    except those to keep in float. Returns the replacement of each result, and the reasons why other
    products of matrices stay, by their results.
    """
    replaced: dict[SSAValue, SSAValue] = {}
    others: dict[SSAValue, str] = {}
    dynamic: dict[SSAValue, tuple[SSAValue, SSAValue, SSAValue]] = {}
    for node in each(list(main.body.walk())):
        if not isinstance(node, MatMulOp | FullyConnectedOp) or is_kept(node):
            continue
        weights = constant_matrix(node)
        if isinstance(weights, str):
            others[node.results[0]] = weights
            continue
        build = Build()
        value = _product(node, weights, build, dynamic)
        replaced[node.results[0]] = value
        replace_node(node, build.ops, value)
    return replaced, others


def constant_matrix(node: MatMulOp | FullyConnectedOp) -> np.ndarray | str:
    """Returns the constant matrix [K, N] of f32 of a product, or why there is none."""
    array = constant_of(node.operands[1])
    if array is None and is_constant(node.operands[1]):
        return "its weights are repeated for several matrices"
    if array is None and is_constant(node.operands[0]):
        return "its constant is the left operand, and not the right one"
    if array is None:
        return "its weights are not constant"
    if array.dtype != np.float32 or element_of(node.operands[0].type) != f32:
        return "it is no product of f32"
    if not array.size:
        return "its weights have no elements"
    if isinstance(node, FullyConnectedOp):
        return array.T
    if node.transpose_lhs.value.data:
        return "its left operand is transposed"
    if any(d != 1 for d in array.shape[:-2]):
        return "its weights are several matrices"
    matrix = array.reshape(array.shape[-2:])
    return matrix.T if node.transpose_rhs.value.data else matrix


def _product(
    node: MatMulOp | FullyConnectedOp,
    weights: np.ndarray,
    build: Build,
    dynamic: dict[SSAValue, tuple[SSAValue, SSAValue, SSAValue]],
) -> SSAValue:
    x, result = node.operands[0], node.results[0].type
    try:
        t = calibrate_weights(weights, axis=1)
    except QuantizationError as error:
        raise QuantizationError(f"{node.results[0].name_hint or node.name}: {error}") from None
    if x not in dynamic:
        dynamic[x] = _quantized(x, build)
    stored, scale, zero_point = dynamic[x]
    read = constant_reader(node.operands[1])
    assert read is not None
    stored_shape = shape_of(node.operands[1].type)[-2:]
    turned = isinstance(node, FullyConnectedOp) or bool(node.transpose_rhs.value.data)
    lead = shape_of(x.type)[:-2]
    stacked = (*[1] * len(lead), *weights.shape)

    def numbers() -> np.ndarray:
        matrix = read().reshape(stored_shape)
        return quantize_array(matrix.T if turned else matrix, t).reshape(stacked)

    hint = node.operands[1].name_hint or "weights"
    w = build.add(lazy_constant(stacked, IntegerType(8), hint, numbers))
    if any(d != 1 for d in lead):
        w = build.broadcast(w, (*lead, *weights.shape))
    sums = build(MatMulOp, stored, w)
    shape = shape_of(sums.type)
    columns = build.constant(quantize_array(weights, t).sum(axis=0, dtype=np.int32), "sums", i32)
    correction = build(MulOp, build.broadcast(columns, shape), build.broadcast(zero_point, shape))
    centred = cast(build, build(SubOp, sums, correction), f32)
    scales = build.constant(np.array(t.scale_values(), np.float32), "scales")
    factor = build(MulOp, build.broadcast(scales, shape), build.broadcast(scale, shape))
    value = build(MulOp, centred, factor)
    if isinstance(node, FullyConnectedOp):
        value = build(AddOp, value, build.broadcast(node.bias, shape))
    assert value.type == result
    return value


def _quantized(x: SSAValue, build: Build) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Returns `x` as ui8, its scale (f32) and its zero point (i32), which have one element each."""
    axes = list(range(len(shape_of(x.type))))
    zero = build.splat(0.0, with_shape(f32, [1] * len(axes)))
    high = build(MaximumOp, build(ReduceMaxOp, x, axes=axes, keep_dims=True), zero)
    low = build(MinimumOp, build(ReduceMinOp, x, axes=axes, keep_dims=True), zero)
    one = build.splat(1.0, zero.type)
    scale = build(DivOp, build(SubOp, high, low), build.splat(_LEVELS, zero.type))
    # nothing but zeros has no range
    scale = build(SelectOp, build(EqualOp, scale, zero), one, scale)
    point = build(RoundEvenOp, build(NegOp, build(DivOp, low, scale)))
    shape = shape_of(x.type)
    steps = build(RoundEvenOp, build(DivOp, x, build.broadcast(scale, shape)))
    moved = build(AddOp, steps, build.broadcast(point, shape))
    top = build.splat(_LEVELS, moved.type)
    limited = build(MinimumOp, build(MaximumOp, moved, build.splat(0.0, moved.type)), top)
    return cast(build, limited, u8), scale, cast(build, point, i32)
