"""Recipes for operators whose operands have shapes that fit each other: products and windows."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

from glow.glow_dialects.elements import storage_type
from glow.glow_dialects.glow import attention, matrix, normalization, pooling, shape
from glow.glow_dialects.glow.constant import ConstantOp, SplatOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.generic import GenericOp
from glow.glow_dialects.glow.logic import SelectOp, Shift
from glow.glow_dialects.glow.padding import FoldOp
from glow.glow_dialects.glow.quantization import (
    DequantizeOp,
    QuantizeOp,
    RescaleOp,
    StorageCastOp,
)
from glow.glow_dialects.glow.transposed import TransposedConvolutionOp
from glow.glow_dialects.operator import Node, element_of, is_narrow_integer, shape_of, with_shape
from glow.semantics import make_constant
from glow.tests.support.drawn_graph import (
    ELEMENTS,
    FLOATS,
    INTEGERS,
    NARROW,
    STORAGE,
    DrawnGraph,
    Refused,
)
from glow.tests.support.drawn_nodes import recipe, sized
from xdsl.dialects.builtin import i1, i8, i32
from xdsl.ir import Attribute, SSAValue

FACTORS = (*FLOATS, *(e for e in INTEGERS if e in STORAGE), i32, *NARROW)
"""Element types of operands of products."""


@recipe(ConstantOp, SplatOp)
def constant(g: DrawnGraph, operator: type[Node]) -> Node:
    element, dims = g.element(), g.shape(g.int(0, 3))
    array = g.numbers(element, dims, None, None)
    if operator is ConstantOp:
        return make_constant(array, element=element)
    value = 1 if array.dtype.kind in "iub" else 1.5
    return SplatOp.of(result_types=[with_shape(element, dims)], value=value)


@recipe(shape.ReshapeOp)
def reshape(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(ELEMENTS)
    left, dims = prod(shape_of(x.type)), list[int]()
    while left > 1 and len(dims) < 3:
        dims.append(g.pick([f for f in range(1, left + 1) if left % f == 0]))
        left //= dims[-1]
    return operator.of(x, result_types=[with_shape(element_of(x.type), [*dims, left])])


@recipe(shape.BroadcastOp)
def broadcast(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(ELEMENTS)
    dims = [s if s != 1 else g.pick([1, 3, 9]) for s in shape_of(x.type)]
    result = [*([g.int(1, 3)] if g.flip() else []), *dims]
    return operator.of(x, result_types=[with_shape(element_of(x.type), result)])


@recipe(shape.TransposeOp)
def transpose(g: DrawnGraph, operator: type[Node]) -> Node:
    x, order = g.some(ELEMENTS, range(1, 6)), list[int]()
    rest = list(range(len(shape_of(x.type))))
    while rest:
        order.append(rest.pop(g.int(0, len(rest) - 1)))
    return operator.of(x, permutation=order)


@recipe(shape.ConcatOp)
def concat(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(ELEMENTS, range(1, 5))
    dims, element = sized(x)
    axis, operands = g.int(0, len(dims) - 1), [x]
    for _ in range(g.int(0, 2)):
        other = [*dims[:axis], g.pick((dims[axis], 1, 3, 8)), *dims[axis + 1 :]]
        operands.append(g.operand(element, other))
    return operator.of(*operands, axis=axis)


@recipe(shape.SliceOp)
def slice_(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(ELEMENTS, range(1, 5))
    starts, sizes, strides = list[int](), list[int](), list[int]()
    for size in shape_of(x.type):
        start, stride = g.int(0, max(0, size - 1)), g.pick([1, 1, 2, -1])
        most = (size - start + stride - 1) // stride if stride > 0 else min(size, start + 1)
        starts.append(start)
        strides.append(stride)
        sizes.append(g.int(min(1, most), most))
    return operator.of(x, starts=starts, sizes=sizes, strides=strides)


@recipe(shape.PadOp)
def pad(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some((*FLOATS, *INTEGERS), range(5))
    low, high = ([g.int(0, 2) for _ in shape_of(x.type)] for _ in range(2))
    value = g.int(0, 3) if element_of(x.type) in INTEGERS else g.pick([0.0, 1.5, -2.0])
    return operator.of(x, low=low, high=high, value=value)


@recipe(Shift)
def shift(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(INTEGERS)
    dims, element = sized(x)
    bits = storage_type(element).bitwidth  # pyright: ignore
    return operator.of(x, g.operand(element, dims, 0, bits - 1))


@recipe(SelectOp)
def select(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(ELEMENTS)
    dims, element = sized(x)
    return operator.of(g.operand(i1, dims), x, g.operand(element, dims))


# quantized numbers


@recipe(QuantizeOp)
def quantize(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FLOATS)
    dims, element = sized(x)
    return operator.of(x, result_types=[with_shape(g.quantized(dims, element), dims)])


@recipe(DequantizeOp)
def dequantize(g: DrawnGraph, operator: type[Node]) -> Node:
    quantized = [v for v in g.values if element_of(v.type) not in ELEMENTS]
    if quantized and g.flip():
        x = g.pick(quantized)
    else:
        dims = g.shape(g.int(0, 4))
        x = g.operand(g.quantized(dims, g.element(FLOATS)), dims)
    expressed = element_of(x.type).expressed  # pyright: ignore
    return operator.of(x, result_types=[with_shape(expressed, shape_of(x.type))])


@recipe(StorageCastOp)
def storage_cast(g: DrawnGraph, operator: type[Node]) -> Node:
    dims = g.shape(g.int(0, 4))
    quantized = g.quantized(dims)
    source, target = (quantized, quantized.storage) if g.flip() else (quantized.storage, quantized)
    return operator.of(g.operand(source, dims), result_types=[with_shape(target, dims)])


@recipe(RescaleOp)
def rescale(g: DrawnGraph, operator: type[Node]) -> Node:
    dims = g.shape(g.int(0, 4))
    source = i32 if g.flip() else g.quantized()
    multiplier, bits = g.operand(i32, dims, 1, 2**20), g.operand(i32, dims, 1, 40)
    result = with_shape(g.quantized(), dims)
    return operator.of(g.operand(source, dims), multiplier, bits, result_types=[result])


# products


def factor(g: DrawnGraph, x: SSAValue) -> Attribute:
    """Returns an element type that may be multiplied with those of `x`."""
    if not is_narrow_integer(element_of(x.type)):
        return element_of(x.type)
    return g.pick((i8, *(e for e in FACTORS if is_narrow_integer(e))))


def summed(x: SSAValue) -> Attribute:
    return i32 if is_narrow_integer(element_of(x.type)) else element_of(x.type)


@recipe(matrix.MatMulOp)
def matmul(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FACTORS, range(2, 5))
    *batch, rows, columns = shape_of(x.type)
    left, right = g.flip(), g.flip()
    inner, width = rows if left else columns, g.pick((3, 1, 5, 8, 17, 33))
    other = [width, inner] if right else [inner, width]
    y = g.operand(factor(g, x), [*batch, *other])
    return operator.of(x, y, transpose_lhs=left, transpose_rhs=right)


@recipe(matrix.FullyConnectedOp)
def fully_connected(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FACTORS, (2,))
    width = g.pick((3, 1, 5, 8, 17, 33))
    w = g.operand(factor(g, x), [width, shape_of(x.type)[1]])
    return operator.of(x, w, g.operand(summed(x), [width]))


@recipe(matrix.DeterminantOp)
def determinant(g: DrawnGraph, operator: type[Node]) -> Node:
    rows = g.int(1, 4)
    return operator.of(g.operand(g.element(FLOATS), [*g.shape(g.int(0, 1)), rows, rows]))


def geometry(g: DrawnGraph, sizes: tuple[int, ...]) -> tuple[list[int], dict[str, Any]]:
    """Returns a kernel for spatial dimensions, and paddings, dilations and strides."""
    pads = [g.int(0, 2) for _ in range(2 * len(sizes))]
    room = [s + pads[d] + pads[d + len(sizes)] for d, s in enumerate(sizes)]
    kernel = [g.pick([k for k in (1, 3, 2, 5) if k <= max(1, r)]) for r in room]
    reach = zip(kernel, room, strict=True)
    dilations = [2 if 2 * (k - 1) < r and g.flip() else 1 for k, r in reach]
    strides = [g.int(1, 3) for _ in sizes]
    return kernel, {"pads": pads, "dilations": dilations, "strides": strides}


@recipe(ConvolutionOp)
def convolution(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FACTORS, (4, 3, 5))
    channels = shape_of(x.type)[1]
    group = g.pick([d for d in range(1, channels + 1) if channels % d == 0] or [1])
    outputs = group * g.pick((1, 2, 3, 8))
    kernel, window = geometry(g, shape_of(x.type)[2:])
    w = g.operand(factor(g, x), [outputs, channels // group, *kernel])
    return operator.of(x, w, g.operand(summed(x), [outputs]), group=group, **window)


@recipe(TransposedConvolutionOp)
def transposed_convolution(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FLOATS, (4, 3, 5))
    (_, channels, *sizes), element = sized(x)
    group = g.pick([d for d in range(1, channels + 1) if channels % d == 0] or [1])
    width = g.int(1, 3)
    kernel, window = geometry(g, tuple(sizes))
    w = g.operand(element, [channels, width, *kernel])
    padding = [g.int(0, 1) for _ in sizes]
    b = g.operand(element, [width * group])
    return operator.of(x, w, b, group=group, output_padding=padding, **window)


@recipe(pooling.Windowed)
def windowed(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some((*FLOATS, *INTEGERS), (4, 3, 5))
    kernel, window = geometry(g, shape_of(x.type)[2:])
    flags: dict[str, Any] = {"ceil_mode": g.flip()}
    if operator is pooling.MaxPoolPlacesOp:
        pooled = g.node(pooling.MaxPoolOp.of(x, kernel=kernel, **window, **flags))
        flags["column_major"] = g.flip()
        return operator.of(x, pooled, kernel=kernel, **window, **flags)
    if "count_include_pad" in operator.get_irdl_definition().properties:
        flags["count_include_pad"] = g.flip()
    more: dict[str, Any] = {"p": g.int(1, 3)} if operator is pooling.LpPoolOp else {}
    return operator.of(x, kernel=kernel, **window, **flags, **more)


@recipe(FoldOp)
def fold(g: DrawnGraph, operator: type[Node]) -> Node:
    n = g.int(1, 2)
    dims = [g.int(1, 3), g.int(1, 5), *(g.int(1, 4) for _ in range(2 * n))]
    image = [g.pick((5, 3, 9)) for _ in range(n)]
    numbers: dict[str, Any] = {
        "strides": [g.int(1, 3) for _ in range(n)],
        "dilations": [g.int(1, 2) for _ in range(n)],
        "low": [g.int(0, 2) for _ in range(n)],
    }
    return operator.of(g.operand(g.element((*FLOATS, *INTEGERS)), dims), image=image, **numbers)


# normalisation and attention


@recipe(normalization.BatchNormOp)
def batch_norm(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FLOATS, range(2, 6))
    dims, element = sized(x)
    numbers = [g.operand(element, [dims[1]]) for _ in range(3)]
    return operator.of(x, *numbers, g.operand(element, [dims[1]], 0.5, 2), epsilon=1e-3)


@recipe(normalization.LayerNormOp, normalization.RmsNormOp)
def row_norm(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FLOATS, range(1, 5))
    dims, element = sized(x)
    axis = g.int(0, len(dims) - 1)
    count = len(operator.get_irdl_definition().operands) - 1
    scales = [g.operand(element, dims[axis:]) for _ in range(count)]
    return operator.of(x, *scales, axis=axis, epsilon=g.pick((1e-2, 1e-5)))


@recipe(normalization.GroupNormOp)
def group_norm(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FLOATS, range(2, 6))
    dims, element = sized(x)
    groups = g.pick([d for d in range(1, dims[1] + 1) if dims[1] % d == 0] or [1])
    scales = [g.operand(element, [dims[1]]) for _ in range(2)]
    return operator.of(x, *scales, groups=groups, epsilon=g.pick((1e-2, 1e-5)))


@recipe(attention.AttentionOp, attention.MaskedAttentionOp)
def attend(g: DrawnGraph, operator: type[Node]) -> Node:
    n, rows, keys, heads = g.int(1, 2), g.pick((5, 1, 17)), g.pick((7, 1, 9, 33)), g.int(1, 3)
    width, depth, element = g.pick((4, 1, 8, 13)), g.pick((3, 8, 17)), g.element(FLOATS)
    groups = g.pick([d for d in range(1, heads + 1) if heads % d == 0])
    shapes = [[n, rows, heads, width], [n, keys, groups, width], [n, keys, groups, depth]]
    if operator is attention.MaskedAttentionOp:
        shapes.append([n, heads, rows, keys])
    operands = [g.operand(element, s) for s in shapes]
    return operator.of(*operands, scale=1 / sqrt(width), safe=g.pick((False, True)))


FORMULAS = (
    "y[i..] = a[i..] * 2 + 1",
    "y[i.., j] = max(k) a[i.., k] * b[k, j]",
    "y[i.., j] = a[i.., j] - m[i..] where m[i..] = sum(k) a[i.., k]",
)


@recipe(GenericOp)
def generic(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some((*FLOATS, i32), range(1, 4))
    dims, element = sized(x)
    formula = g.pick(FORMULAS)
    operands = [x]
    if "b[" in formula:
        operands.append(g.operand(element, [dims[-1], g.pick((3, 8, 17))]))
        dims = (*dims[:-1], shape_of(operands[1].type)[1])
    if not prod(dims):
        raise Refused("a formula of nothing")
    return operator.of(*operands, formula=formula, result_types=[with_shape(element, dims)])
