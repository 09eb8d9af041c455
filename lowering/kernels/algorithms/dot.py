"""Matrix products and convolutions of narrow operands, which sum groups of neighbouring terms."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i16, i32
from xdsl.ir import Attribute

from ....glow_dialects.elements import element_bytes, is_byte
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_cpu.dot import DotConvolutionOp, DotMatMulOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, View, affine
from ....glow_dialects.glow_nest.nest import Combine, Reduction
from ....glow_dialects.glow_vec import dot_kind
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.operator import Call
from ....glow_dialects.scalar import Expr, arguments, convert
from ..registry import Kernel, kernel, view_dims
from ..schedules.blocking import rows_widened_together
from .blocked import Points, by_packed_points, point_sizes, windows
from .row_blocks import each_panel

_PAIR = 2


def _has_products(machine: MachineDescription, call: Call) -> bool:
    """
    Returns whether the machine has dot products of these operands, and the weights end with [panel,
    group]. A panel is a vector of sums, or a block of channels.
    """
    *_, panel, terms = call.shape(1)
    fits = panel in (machine.lanes(32), machine.channel_block)
    return fits and dot_kind(machine, call.element(0), call.element(1), terms) is not None


@kernel(DotConvolutionOp, on=_has_products)
def convolution(k: Kernel) -> None:
    """
    Computes `y[n, ob, w, o] = bias[ob, o] + sum(x[n, cb, w * stride + i * dilation, t * g + m] *
    filter[p, cb, i, g, j, m])` over blocks `cb`, offsets `i`, groups `g` and their members `m`.
    Panel `p` and its channel `j` are those of `ob` and `o`. The blocks `cb` of a group are those
    behind the blocks of the groups before it.
    """
    _, filters, bias = k.operands
    if _widens(k) and prod(filters.shape[2:-3]) == 1:
        _by_widened_points(k)
    else:
        _widen(k)
        y = k.result
        n = Dim("n", y.shape[0])
        window, offset, places = windows(k.call, y.shape[2:-1], filters.shape[2:-3])
        _panels(k, Points(n, window, window, k.operands[0], places, [n]), offset)
    blocks, block = bias.shape
    written = filters.shape[0] * filters.shape[-2]
    for ob in range(written // block, blocks):
        first = max(0, written - ob * block)
        # channels that no panel has
        n, e = Dim("n", k.result.shape[0]), Dim("e", block - first)
        window = [Dim(f"w{i}", size) for i, size in enumerate(k.result.shape[2:-1])]
        k.finish([n, *window, e], [n, ob, *window, e + first], [bias[[ob, e + first]]])


def _widens(k: Kernel) -> bool:
    """
    Returns whether pairs of bytes become pairs of 16-bit integers, which the machine multiplies.
    """
    return is_byte(k.operands[0].element) and k.operands[1].shape[-1] == _PAIR


def _widen(k: Kernel) -> None:
    """Widens all pairs of bytes that become pairs of 16-bit integers."""
    x, *rest = k.operands
    if _widens(k):
        k.operands = [k.copied(x, i16), *rest]


def _by_widened_points(k: Kernel) -> None:
    """Computes a convolution of 1 x 1, and widens a few rows of pixels at a time."""
    x, ((rows, *row), _) = k.operands[0], point_sizes(k)
    row_bytes = prod(row) * x.shape[-1] * element_bytes(i16)
    together = rows_widened_together(k.machine, x.shape[1], rows, row_bytes)
    for points in by_packed_points(k, together, i16):
        _panels(k, points, [Dim(f"k{i}", 1) for i in range(x.rank - 3)])


def _panels(k: Kernel, points: Points, offset: Sequence[Dim]) -> None:
    """
    Computes the panels of some pixels, from a window with loops `offset`: those of whole blocks,
    and the first ones of a last block.
    """
    _, filters, bias = k.operands
    groups, y = k.call.int("group"), k.result
    panel, terms = filters.shape[-2:]
    per_block = bias.shape[1] // panel
    group, j = Dim("group", groups), Dim("j", panel)
    cb, g = Dim("cb", filters.shape[1]), Dim("g", filters.shape[-3])
    panels = each_panel(k, filters.shape[0] // groups, per_block, in_nest=True, names=("ob", "p"))
    for block, (*blocks, p) in panels:
        ob = group * (y.shape[1] // groups) + block
        pixel = points.read(group * cb.size + cb, affine(g) * terms)
        reads = pixel, filters[[ob * per_block + p, cb, *offset, g, j, 0]]
        products = Reduction(
            Combine.ADD, k.element, reads, terms=terms, adds_operand=k.element == i32
        )
        o = Affine({p: panel, j: 1})
        dims = [*points.images, group, *blocks, p, *points.loops, j]
        place = [points.image, ob, *points.place, o]
        k.finish(dims, place, [bias[[ob, o]]], X + Y, [cb, *offset, g], products)


@kernel(DotMatMulOp, on=_has_products)
def matmul(k: Kernel) -> None:
    """
    Computes `y[r, p * width + j] = sum(x[r, t * g + m] * weights[p, g, j, m])` over `g` and `m`.
    """
    _widen(k)
    x, weights = k.operands
    width, (*rows, _) = weights.shape[2], view_dims(x, "r")
    for p, (*_, column) in each_panel(k, k.call.int("columns"), width, in_nest=True):
        multiply_groups(k, x, rows, rows, weights, p, rows, p * width, column.size)


def multiply_groups(
    k: Kernel,
    x: View,
    row: Sequence[Index],
    rows: Sequence[Dim],
    panels: View,
    p: Affine,
    place: Sequence[Index],
    start: Affine,
    columns: int,
) -> None:
    """
    Computes the products of rows with panels `p` [panel, group, column, term], as `columns` columns
    of the result from one on. In loops over `rows`, a row is `row` of `x`, and at a `place` of the
    result.
    """
    _, groups, width, terms = panels.shape
    j, g = Dim("j", width), Dim("g", groups)
    reads = x[[*row, affine(g) * terms]], panels[[p, g, j, 0]]
    products = Reduction(Combine.ADD, k.element, reads, terms=terms)
    if columns == width:
        k.finish([*rows, *p.terms, j], [*place, start + j], (), X, [g], products)
        return
    # a panel that is not full is computed as a whole, and its first columns are stored
    c, sums = Dim("c", columns), k.scratch((*(r.size for r in rows), width), k.element)
    k.map([*rows, j], sums[[*rows, j]], (), X, [g], products)
    k.finish([*rows, c], [*place, start + c], [sums[[*rows, c]]])


def converted(reads: Sequence[Access], element: Attribute) -> list[Expr]:
    """Returns the values of reads, converted to an element type where that is another."""
    values = zip(arguments(len(reads)), reads, strict=True)
    return [x if read.element == element else convert(x, element) for x, read in values]
