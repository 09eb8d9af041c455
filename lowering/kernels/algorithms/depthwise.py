"""Depthwise convolution of blocked tensors."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_cpu.blocked import BlockedDepthwiseConvolutionOp
from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from ....glow_dialects.glow_vec import dot_kind
from ....glow_dialects.scalar import Expr, arguments, convert
from ..codegen.types import bits, memory_type
from ..registry import Kernel, kernel, total
from .blocked import windows

_EXACT_IN_F32 = 1 << 24
_QUAD = 4


@kernel(BlockedDepthwiseConvolutionOp)
def depthwise_convolution(k: Kernel) -> None:
    """
    Computes `y[n, b, w, c] = bias[b, c] + sum(x[n, b, w * stride + i * dilation, c] * filter[b, i,
    c])`.

    Bytes are multiplied in groups of four neighbouring pixels, where the machine has an instruction
    for such dot products and windows are narrow enough. Otherwise they are multiplied in f32 if all
    sums are exact there, because most processors multiply f32 faster than i32.
    """
    x, filters, bias = k.operands
    y = k.result
    if _has_quads(k):
        _in_quads(k)
        return
    n, b, c = Dim("n", y.shape[0]), Dim("b", y.shape[1]), Dim("c", y.shape[-1])
    window, offset, places = windows(k.call, y.shape[2:-1], filters.shape[1:-1])
    element, value = compute_type(k.element), X + Y
    if element == i32 and _is_exact_in_f32(x.element, filters.element, prod(filters.shape[1:-1])):
        element, value = f32, convert(X, i32) + Y
    k.reduce(
        dims=[n, b, *window, c],
        reduced=offset,
        reduction=total(Combine.ADD, element, x[[n, b, *places, c]], filters[[b, *offset, c]]),
        place=[n, b, *window, c],
        operands=[bias[[b, c]]],
        value=value,
    )


def _is_exact_in_f32(a: Attribute, b: Attribute, terms: int) -> bool:
    """Returns whether f32 holds each sum of `terms` products of these integers exactly."""
    return terms << (bits(memory_type(a)) + bits(memory_type(b)) - 1) <= _EXACT_IN_F32


def _has_quads(k: Kernel) -> bool:
    x, filters, _ = k.operands
    *_, width, block = filters.shape
    kind = dot_kind(k.machine, x.element, filters.element, _QUAD)
    return kind is not None and 1 < width <= _QUAD and block % k.machine.lanes(32) == 0


def _in_quads(k: Kernel) -> None:
    """
    Computes the convolution with rows of the filter in groups of four columns; zeros fill the last
    group.
    """
    x, filters, bias = k.operands
    y = k.result
    blocks, *rows, width, block = filters.shape
    n, b, c = Dim("n", y.shape[0]), Dim("b", blocks), Dim("c", block)
    window, offset, places = windows(k.call, y.shape[2:-1], [*rows, 1])
    quads = k.scratch((blocks, *rows, block, _QUAD), i8)
    down = offset[:-1]

    missing = [Expr.constant(0, i8)] * (_QUAD - width)
    fill = Body((*arguments(width), *missing), (i8,) * _QUAD)
    reads = tuple(filters[[b, *down, m, c]] for m in range(width))
    writes = tuple(quads[[b, *down, c, m]] for m in range(_QUAD))
    k.nest(Nest((b, *down, c), writes, fill, reads))
    apart = x.strides[-2] * k.call.ints("dilations")[-1]
    products = Reduction(
        Combine.ADD,
        i32,
        (x[[n, b, *places, c]], quads[[b, *down, c, 0]]),
        terms=_QUAD,
        fields=tuple(m * apart for m in range(width)),
        adds_operand=True,
    )
    place = [n, b, *window, c]
    k.reduce(place, offset, products, place, [bias[[b, c]]], X + Y)
