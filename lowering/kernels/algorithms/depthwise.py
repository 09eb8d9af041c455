"""Depthwise convolution of blocked tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import i8, i32

from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_cpu.blocked import BlockedDepthwiseConvolutionOp
from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from ....glow_dialects.glow_vec import dot_kind
from ....glow_dialects.scalar import Expr, arguments
from ..registry import Kernel, kernel
from .blocked import windows
from .formula import formula

_QUAD = 4


@kernel(BlockedDepthwiseConvolutionOp)
def depthwise_convolution(k: Kernel) -> None:
    """
    Computes the formula. Bytes are multiplied in groups of four neighbouring pixels, where the
    machine has an instruction for such dot products and windows are narrow enough.
    """
    if _has_quads(k):
        _in_quads(k)
    else:
        formula(k)


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
