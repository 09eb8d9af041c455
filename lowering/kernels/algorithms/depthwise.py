"""Depthwise convolution of blocked tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import i8, i16, i32

from ....glow_dialects.elements import storage_type
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_cpu.blocked import BlockedDepthwiseConvolutionOp
from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.nest import Combine, Reduction
from ....glow_dialects.glow_vec import dot_kind
from ....glow_dialects.integers import u8
from ....glow_dialects.scalar import Expr
from ..registry import Kernel, kernel
from .blocked import windows
from .dot import converted
from .formula import formula

_QUAD, _PAIR = 4, 2
_MOST_COLUMNS = 4
"""Columns of windows whose terms are gathered."""


@kernel(BlockedDepthwiseConvolutionOp)
def depthwise_convolution(k: Kernel) -> None:
    """
    Computes the formula. Bytes are multiplied in groups of neighbouring pixels, where windows are
    narrow enough.
    """
    terms = _group(k)
    if terms > 1:
        _in_groups(k, terms)
    else:
        formula(k)


def _group(k: Kernel) -> int:
    """
    Returns how many neighbouring pixels the machine multiplies at once: four bytes if it has an
    instruction for such dot products, or two that are widened to words; otherwise 1. (Words were
    not measured on machines with many registers.)
    """
    x, filters, _ = k.operands
    *_, width, block = filters.shape
    if not 1 < width <= _MOST_COLUMNS or block % k.machine.lanes(32):
        return 1
    if dot_kind(k.machine, x.element, filters.element, _QUAD) is not None:
        return _QUAD
    in_words = storage_type(x.element) == u8 and filters.element == i8
    return _PAIR if in_words and not k.machine.broadcasts_operands else 1


def _in_groups(k: Kernel, terms: int) -> None:
    """
    Computes the convolution with rows of the filter in groups of columns. Zeros fill a group that
    lacks columns; one that would end beyond the row overlaps the group before it instead, and has
    zeros for the columns of that.
    """
    x, filters, bias = k.operands
    y = k.result
    blocks, *rows, width, block = filters.shape
    n, b, c = Dim("n", y.shape[0]), Dim("b", blocks), Dim("c", block)
    groups = -(-width // terms)
    window, offset, places = windows(k.call, y.shape[2:-1], [*rows, groups])
    *down, group = offset
    apart = k.call.ints("dilations")[-1]
    last = width - terms
    if groups > 1:
        places[-1] = places[-1] + group * ((last - 1) * apart)
    element = i8 if terms == _QUAD else i16
    packed = k.scratch((blocks, *rows, groups, block, terms), element)
    for g in range(groups):
        first = max(0, min(g * terms, last))
        columns = {m: first + m for m in range(terms) if g * terms <= first + m < width}
        reads = [filters[[b, *down, column, c]] for column in columns.values()]
        values = dict(zip(columns, converted(reads, element), strict=True))
        zero = Expr.constant(0, element)
        writes = [packed[[b, *down, g, c, m]] for m in range(terms)]
        k.map_all([b, *down, c], writes, reads, [values.get(m, zero) for m in range(terms)])
    step = x.strides[-2] * apart
    products = Reduction(
        Combine.ADD,
        i32,
        (x[[n, b, *places, c]], packed[[b, *down, group, c, 0]]),
        terms=terms,
        fields=tuple(m * step for m in range(min(terms, width))),
        adds_operand=True,
    )
    place = [n, b, *window, c]
    k.finish(place, place, [bias[[b, c]]], X + Y, offset, products)
