"""
Random small networks over the graph dialect, for tests that compare a pass or a backend with the
interpreter.

`random_graph(seed, steps)` grows a graph step by step: each step appends one node, or a short idiom
such as a convolution with batch normalisation, to values that exist already. Shapes are small and
odd. The graph of fewer steps is a prefix of the graph of more, so hypothesis can shrink `steps`.

Each value carries a bound of its magnitude, and steps that would exceed `LARGEST` are not taken, so
no value overflows. Functions that jump (comparisons, rounding) only see integers and constants, and
functions with steep places are kept away from them, so a change of rounding stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

import numpy as np
from glow.glow_dialects.glow import activation, arithmetic, logic, normalization, reduction
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from glow.glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from glow.glow_dialects.glow.shape import (
    ConcatOp,
    GatherOp,
    PadOp,
    SliceOp,
    TransposeOp,
)
from glow.glow_dialects.operator import element_of, shape_of, with_shape
from glow.semantics.arrays import numpy_dtype
from glow.tests.support.graph_grower import INPUT_BOUND, STEPS, Grower, Refused, step
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ModuleOp,
    f16,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

BOTH = (f32, f16)
"""Element types for `random_graph` that mix precisions."""


def random_graph(seed: int, steps: int = 12, floats: Sequence[Attribute] = (f32,)) -> ModuleOp:
    """
    Returns a module with one function `main` (arguments `x0`, ..., results `y0`, ...) of about
    `steps` nodes.

    `floats` are the float element types to use; `f32` alone unless given.
    """
    g = Grower(seed, floats)
    for _ in range(steps):
        index = g.int(0, len(STEPS) - 1)
        try:
            STEPS[index](g)
        except Refused:
            continue
    return g.finish()


def random_inputs(module: ModuleOp, seed: int) -> dict[str, np.ndarray]:
    """
    Returns arrays for the arguments of `main` in [-INPUT_BOUND, INPUT_BOUND]; integers and floats.
    """
    rng = np.random.default_rng(seed)
    (main,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    inputs: dict[str, np.ndarray] = {}
    for i, argument in enumerate(main.body.block.args):
        shape, dtype = shape_of(argument.type), numpy_dtype(element_of(argument.type))
        numbers = np.clip(rng.standard_normal(shape), -INPUT_BOUND, INPUT_BOUND)
        scaled = np.rint(numbers) if dtype.kind in "iu" else numbers
        inputs[f"x{i}"] = np.asarray(scaled).astype(dtype)
    return inputs


_SMOOTH = (
    *(arithmetic.NegOp, arithmetic.AbsOp, activation.ReluOp, activation.LeakyReluOp),
    *(activation.EluOp, activation.SigmoidOp, activation.TanhOp, activation.ErfOp),
    *(activation.GeluOp, activation.SoftplusOp, activation.HardSigmoidOp),
    *(activation.HardSwishOp, arithmetic.SinOp, arithmetic.CosOp),
)


@step
def unary(g: Grower) -> SSAValue:
    kind = _SMOOTH[g.int(0, len(_SMOOTH) - 1)]
    x = g.floating(bound=20)
    return g.node(kind, x, bound=max(1.0, g.bounds[x] + 1))


@step
def clip(g: Grower) -> SSAValue:
    bounds = {name: float(g.int(-2, 2)) for name in ("min", "max") if g.flip()}
    if bounds.get("min", -9) > bounds.get("max", 9):
        bounds["min"], bounds["max"] = bounds["max"], bounds["min"]
    return g.node(activation.ClipOp, g.floating(), **bounds)


@step
def steep(g: Grower) -> SSAValue:
    x = g.floating(bound=4)
    kind = g.int(0, 4)
    if kind == 0:
        return g.node(arithmetic.ExpOp, x, bound=np.exp(g.bounds[x]))
    positive = g.positive(x)
    if kind == 1:
        exponent = g.splat(g.rng.choice([0.5, 1.0, 2.0, 1.3]), x.type)
        return g.node(arithmetic.PowOp, positive, exponent, bound=g.bounds[positive] ** 2 + 1)
    roots = (arithmetic.SqrtOp, arithmetic.LogOp, arithmetic.ReciprocalOp)
    return g.node(roots[kind - 2], positive, bound=g.bounds[positive] + 2)


@step
def binary(g: Grower) -> SSAValue:
    a = g.floating(bound=20)
    b = g.partner(a)
    operands = (a, b) if g.flip() else (b, a)
    kinds = (arithmetic.AddOp, arithmetic.SubOp, arithmetic.MaximumOp, arithmetic.MinimumOp)
    return g.node(kinds[g.int(0, 3)], *operands, bound=g.bounds[a] + g.bounds[b])


@step
def product(g: Grower) -> SSAValue:
    a = g.floating(bound=20)
    b = g.partner(a)
    if g.flip():
        return g.node(arithmetic.MulOp, a, b, bound=g.bounds[a] * g.bounds[b])
    return g.node(arithmetic.DivOp, a, g.positive(b), bound=2 * g.bounds[a])


@step
def prelu(g: Grower) -> SSAValue:
    x = g.floating(bound=20)
    slope = g.partner(x)
    bound = g.bounds[x] * max(1.0, g.bounds[slope])
    return g.node(activation.PReluOp, x, slope, bound=bound)


@step
def choose(g: Grower) -> SSAValue:
    x = g.floating()
    condition = g.array(g.rng.integers(0, 2, shape_of(x.type)).astype(bool))
    if g.flip():
        condition = g.node(logic.NotOp, condition)
    return g.node(logic.SelectOp, condition, x, g.partner(x))


@step
def integers(g: Grower) -> SSAValue:
    x = g.pick(lambda v: element_of(v.type) == i32 and g.bounds[v] < 10)
    kind = g.int(0, 4)
    if kind == 0:
        result = with_shape(g.float(), shape_of(x.type))
        return g.node(logic.CastOp, x, result_types=[result])
    if kind == 1:
        wide = g.node(logic.CastOp, x, result_types=[with_shape(i64, shape_of(x.type))])
        return g.node(logic.CastOp, wide, result_types=[x.type])
    y = g.array(g.rng.integers(-2, 3, shape_of(x.type)).astype(np.int32))
    if kind == 2:
        less = g.node(logic.LessOp, x, y)
        return g.node(logic.SelectOp, less, x, y)
    kinds = (arithmetic.AddOp, arithmetic.MulOp)
    return g.node(kinds[kind - 3], x, y, bound=2 * g.bounds[x] + 2)


@step
def convert(g: Grower) -> SSAValue:
    x = g.floating()
    return g.node(logic.CastOp, x, result_types=[with_shape(g.float(), shape_of(x.type))])


@step
def reshape(g: Grower) -> SSAValue:
    x = g.floating()
    left, shape = prod(shape_of(x.type)), []
    while left > 1 and len(shape) < 3:
        factors = [f for f in range(1, left + 1) if left % f == 0]
        shape.append(factors[g.int(0, len(factors) - 1)])
        left //= shape[-1]
    return g.reshape(x, [*shape, left])


@step
def broadcast(g: Grower) -> SSAValue:
    x = g.floating(ranks=range(4))
    shape = [s if s > 1 else g.int(1, 3) for s in shape_of(x.type)]
    return g.broadcast(x, [*g.shape(g.int(0, 1)), *shape])


@step
def transpose(g: Grower) -> SSAValue:
    x = g.floating(ranks=range(2, 5))
    return g.node(TransposeOp, x, permutation=g.permutation(len(shape_of(x.type))))


@step
def transposed_chain(g: Grower) -> SSAValue:
    """Returns a data-parallel node or a reduction between a transpose and its inverse."""
    x = g.floating(ranks=range(2, 5), bound=20)
    rank = len(shape_of(x.type))
    permutation = g.permutation(rank)
    y = g.node(TransposeOp, x, permutation=permutation)
    kind = g.int(0, 4)
    if kind == 0:
        other = g.constant(shape_of(y.type), element_of(y.type))
        y = g.node(arithmetic.AddOp, y, other, bound=g.bounds[x] + 3)
    elif kind == 1:
        y = g.node(normalization.SoftmaxOp, y, axis=g.int(0, rank - 1), bound=1)
    elif kind == 2:
        axes = [g.int(0, rank - 1)]
        y = g.node(reduction.ReduceMeanOp, y, axes=axes, keep_dims=True)
    elif kind == 3:
        y = g.node(ConcatOp, y, y, axis=g.int(0, rank - 1))
    else:
        y = g.node(activation.ReluOp, y)
    inverse = [int(i) for i in np.argsort(permutation)]
    return g.node(TransposeOp, y, permutation=inverse)


@step
def concat(g: Grower) -> SSAValue:
    x = g.floating(ranks=range(1, 5))
    axis = g.int(0, len(shape_of(x.type)) - 1)
    return g.node(
        ConcatOp, *(g.partner(x) if g.flip() else x for _ in range(g.int(1, 3))), axis=axis
    )


def _slice(g: Grower, x: SSAValue, starts, sizes, strides) -> SSAValue:
    return g.node(SliceOp, x, starts=starts, sizes=sizes, strides=strides)


@step
def cut(g: Grower) -> SSAValue:
    x = g.floating(ranks=range(1, 5))
    starts, sizes, strides = [], [], []
    for size in shape_of(x.type):
        start, stride = g.int(0, size - 1), [1, 1, 2, -1][g.int(0, 3)]
        most = (size - start + stride - 1) // stride if stride > 0 else start + 1
        starts.append(start)
        strides.append(stride)
        sizes.append(g.int(1, most))
    return _slice(g, x, starts, sizes, strides)


@step
def split_and_join(g: Grower) -> SSAValue:
    """Returns two slices that share a tensor, joined again in or out of order."""
    x = g.floating(ranks=range(1, 5))
    shape = shape_of(x.type)
    axis = g.int(0, len(shape) - 1)
    if shape[axis] < 2:
        raise Refused
    at = g.int(1, shape[axis] - 1)
    ones = [1] * len(shape)
    low = _slice(g, x, [0] * len(shape), [*shape[:axis], at, *shape[axis + 1 :]], ones)
    starts = [at if d == axis else 0 for d in range(len(shape))]
    high = _slice(g, x, starts, [s - a for s, a in zip(shape, starts, strict=True)], ones)
    return g.node(ConcatOp, *((low, high) if g.flip() else (high, low)), axis=axis)


@step
def pad(g: Grower) -> SSAValue:
    x = g.floating(ranks=range(1, 5))
    rank = len(shape_of(x.type))
    low, high = ([g.int(0, 2) for _ in range(rank)] for _ in range(2))
    return g.node(PadOp, x, low=low, high=high, value=[0.0, 1.5][g.int(0, 1)])


@step
def gather(g: Grower) -> SSAValue:
    x = g.floating(ranks=range(1, 4))
    shape = shape_of(x.type)
    axis = g.int(0, len(shape) - 1)
    size = shape[axis]
    indices = g.rng.integers(-size, size, g.shape(g.int(0, 2))).astype(np.int64)
    return g.node(GatherOp, x, g.array(indices), axis=axis, bound=g.bounds[x])


@step
def reduce(g: Grower) -> SSAValue:
    x = g.floating(ranks=range(1, 5), bound=20)
    shape = shape_of(x.type)
    axes = sorted({g.int(0, len(shape) - 1) for _ in range(g.int(0, 2))})
    kinds = (*[reduction.ReduceMeanOp] * 2, reduction.ReduceMaxOp, reduction.ReduceMinOp)
    kind, bound = kinds[g.int(0, 3)], g.bounds[x]
    if g.flip():
        kind, bound = reduction.ReduceSumOp, bound * prod(shape[a] for a in axes)
    return g.node(kind, x, axes=axes, keep_dims=g.flip(), bound=bound)


@step
def softmax(g: Grower) -> SSAValue:
    x = g.floating(ranks=range(1, 5), bound=20)
    axis = g.int(0, len(shape_of(x.type)) - 1)
    if g.flip():
        return g.node(normalization.SoftmaxOp, x, axis=axis, bound=1)
    return g.node(normalization.LogSoftmaxOp, x, axis=axis, bound=2 * g.bounds[x] + 3)


@step
def local_response_norm(g: Grower) -> SSAValue:
    x = g.floating(ranks=range(2, 5), bound=10)
    return g.node(normalization.LocalResponseNormOp, x, size=g.int(1, 5), alpha=0.1, beta=0.75)


def _batch_norm(g: Grower, x: SSAValue) -> SSAValue:
    channels, element = shape_of(x.type)[1], element_of(x.type)
    scale, bias, mean = (g.constant([channels], element, 0.5) for _ in range(3))
    variance = g.array(g.rng.uniform(0.5, 2, channels).astype(numpy_dtype(element)))
    bound = 2.2 * (g.bounds[x] + 1.5) + 1.5
    return g.node(
        normalization.BatchNormOp, x, scale, bias, mean, variance, epsilon=1e-3, bound=bound
    )


def _affine(g: Grower, x: SSAValue) -> SSAValue:
    """Adds batch normalisation, or a product or sum with a number for each channel."""
    kind = g.int(0, 4)
    if kind == 0:
        return _batch_norm(g, x)
    c = g.channels(x)
    if kind == 1:
        return g.node(arithmetic.MulOp, x, c, bound=g.bounds[x] * g.bounds[c])
    operands = (c, x) if kind == 2 else (x, c)
    bound = g.bounds[x] + g.bounds[c]
    return g.node(arithmetic.SubOp if kind < 4 else arithmetic.AddOp, *operands, bound=bound)


@step
def affine(g: Grower) -> SSAValue:
    x = g.floating(ranks=range(2, 5), bound=10)
    for _ in range(g.int(1, 3)):
        x = _affine(g, x)
    return x


def _spatial(g: Grower, x: SSAValue) -> tuple[list[int], dict[str, Any]]:
    sizes = shape_of(x.type)[2:]
    pads = [g.int(0, 1) for _ in range(2 * len(sizes))]
    room = [s + pads[d] + pads[d + len(sizes)] for d, s in enumerate(sizes)]
    kernel = [g.int(1, min(3, r)) for r in room]
    dilations = [
        2 if 2 * (k - 1) < r and g.flip() else 1 for k, r in zip(kernel, room, strict=True)
    ]
    return kernel, {
        "pads": pads,
        "dilations": dilations,
        "strides": [g.int(1, 2) for _ in sizes],
    }


@step
def convolution(g: Grower) -> SSAValue:
    x = g.floating(ranks=(3, 4), bound=20)
    channels, element = shape_of(x.type)[1], element_of(x.type)
    groups = [d for d in range(1, channels + 1) if channels % d == 0]
    group = groups[g.int(0, len(groups) - 1)]
    outputs = group * g.int(1, 3)
    kernel, window = _spatial(g, x)
    inner = channels // group * prod(kernel)
    w = g.constant([outputs, channels // group, *kernel], element, 1 / sqrt(inner))
    b = g.constant([outputs], element)
    bound = g.bounds[x] * 2 * sqrt(inner) + 3
    y = g.node(ConvolutionOp, x, w, b, group=group, bound=bound, **window)
    for _ in range(g.int(0, 3)):
        y = _affine(g, y)
    return y


@step
def pool(g: Grower) -> SSAValue:
    x = g.floating(ranks=(3, 4))
    kernel, window = _spatial(g, x)
    # padding must be smaller than the window's reach, or some window holds padding only
    if any(k == 1 for k in kernel) or g.flip():
        window["pads"] = [0] * len(window["pads"])
        shape = shape_of(x.type)[2:]
        kernel = [min(k, s) for k, s in zip(kernel, shape, strict=True)]
        window["dilations"] = [1] * len(shape)
    else:
        window["dilations"] = [1] * len(kernel)
    if g.flip():
        return g.node(MaxPoolOp, x, kernel=kernel, **window)
    return g.node(AvgPoolOp, x, kernel=kernel, count_include_pad=g.flip(), **window)


@step
def matrix_product(g: Grower) -> SSAValue:
    x = g.floating(ranks=(2, 3), bound=20)
    *batch, rows, columns = shape_of(x.type)
    flags = {"transpose_lhs": g.flip(), "transpose_rhs": g.flip()}
    inner = rows if flags["transpose_lhs"] else columns
    width = g.int(1, 5)
    shape = [width, inner] if flags["transpose_rhs"] else [inner, width]
    w = g.constant([*batch, *shape], element_of(x.type), 1 / sqrt(inner))
    return g.node(MatMulOp, x, w, bound=g.bounds[x] * 2 * sqrt(inner), **flags)


@step
def fully_connected(g: Grower) -> SSAValue:
    x = g.floating(ranks=(2,), bound=20)
    inner, width, element = shape_of(x.type)[1], g.int(1, 6), element_of(x.type)
    w = g.constant([width, inner], element, 1 / sqrt(inner))
    b = g.constant([width], element)
    y = g.node(FullyConnectedOp, x, w, b, bound=g.bounds[x] * 2 * sqrt(inner) + 3)
    return _affine(g, y) if g.flip() else y
