"""Matrix products and convolutions of narrow operands, which sum groups of neighbouring terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i16, i32

from ....glow_dialects.elements import element_bytes, is_byte
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_cpu.dot import DotConvolutionOp, DotMatMulOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, affine
from ....glow_dialects.glow_nest.nest import Combine, Reduction
from ....glow_dialects.glow_vec import dot_kind
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.operator import Call
from ..registry import Kernel, kernel, view_dims
from ..schedules.blocking import rows_widened_together
from .blocked import PackedPoints, PointSizes, by_packed_points, windows

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

        def read(block: Index, channel: Index) -> Access:
            return k.operands[0][[n, block, *places, channel]]

        _all_panels(k, _Points([n], window, n, window, offset, read))
    blocks, block = bias.shape
    written = filters.shape[0] * filters.shape[-2]
    for ob in range(written // block, blocks):
        first = max(0, written - ob * block)
        _only_bias(k, ob, first, block - first)


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
    x, points = k.operands[0], PointSizes.of(k)
    row_bytes = points.row * x.shape[-1] * element_bytes(i16)
    together = rows_widened_together(k.machine, x.shape[1], points.rows, row_bytes)

    def visit(packed: PackedPoints) -> None:
        offset = [Dim(f"k{i}", 1) for i in range(x.rank - 3)]
        place = packed.place
        _all_panels(k, _Points([], packed.loops, packed.image, place, offset, packed.read))

    by_packed_points(k, points, together, i16, visit)


@dataclass(frozen=True)
class _Points:
    """Pixels of the result, and what they read."""

    images: Sequence[Dim]
    """The loop over images, if there is one."""
    loops: Sequence[Dim]
    """The loops over the pixels of an image."""
    image: Dim
    place: Sequence[Index]
    """The place of a pixel in an image of the result."""
    offset: Sequence[Dim]
    """The loops over a window."""
    read: Callable[[Index, Index], Access]
    """Returns a channel of a block of channels, where a window is at an offset."""


def _all_panels(k: Kernel, points: _Points) -> None:
    """Computes all panels of some pixels."""
    filters, group = k.operands[1], k.call.int("group")
    per_block = k.operands[2].shape[1] // filters.shape[-2]
    full, rest = divmod(filters.shape[0], per_block)
    if full:
        _panels(k, points, Dim("group", group), Dim("ob", full // group), per_block)
    if rest:
        _panels(k, points, 0, full, rest)


def _panels(k: Kernel, points: _Points, group: Dim | int, block: Dim | int, count: int) -> None:
    """Computes the first `count` panels of a block of a group, or of all of them in loops."""
    _, filters, bias = k.operands
    y = k.result
    panel, terms = filters.shape[-2:]
    p, j = Dim("p", count), Dim("j", panel)
    cb, g = Dim("cb", filters.shape[1]), Dim("g", filters.shape[-3])
    around = [d for d in (group, block) if isinstance(d, Dim)]
    ob = affine(group) * (y.shape[1] // k.call.int("group")) + block
    number = ob * (y.shape[-1] // panel) + p
    pixel = points.read(affine(group) * cb.size + cb, affine(g) * terms)
    reads, is_exact = (pixel, filters[[number, cb, *points.offset, g, j, 0]]), k.element == i32
    products = Reduction(Combine.ADD, k.element, reads, terms=terms, adds_operand=is_exact)
    o = Affine({p: panel, j: 1})
    dims = [*points.images, *around, p, *points.loops, j]
    place: list[Index] = [points.image, ob, *points.place, o]
    k.finish(dims, place, [bias[[ob, o]]], X + Y, [cb, *points.offset, g], products)


def _only_bias(k: Kernel, ob: int, first: int, count: int) -> None:
    """Stores the bias into the channels of a block that no panel has."""
    y, bias = k.result, k.operands[2]
    n, e = Dim("n", y.shape[0]), Dim("e", count)
    window = [Dim(f"w{i}", size) for i, size in enumerate(y.shape[2:-1])]
    k.finish([n, *window, e], [n, ob, *window, e + first], [bias[[ob, e + first]]])


@kernel(DotMatMulOp, on=_has_products)
def matmul(k: Kernel) -> None:
    """
    Computes `y[r, p * width + j] = sum(x[r, t * g + m] * weights[p, g, j, m])` over `g` and `m`.
    """
    _widen(k)
    x, weights = k.operands
    _, groups, width, terms = weights.shape
    *rows, _ = view_dims(x, "r")
    j, g = Dim("j", width), Dim("g", groups)

    def products(p: Dim | int) -> Reduction:
        reads = (x[[*rows, affine(g) * terms]], weights[[p, g, j, 0]])
        return Reduction(Combine.ADD, k.element, reads, terms=terms)

    full, rest = divmod(k.call.int("columns"), width)
    if full:
        p = Dim("p", full)
        k.finish([*rows, p, j], [*rows, affine(p) * width + j], (), X, [g], products(p))
    if rest:
        # the last panel is computed as a whole, and its first columns are stored
        c, sums = Dim("c", rest), k.scratch((*(r.size for r in rows), width), k.element)
        k.map([*rows, j], sums[[*rows, j]], (), X, [g], products(full))
        k.finish([*rows, c], [*rows, c + full * width], [sums[[*rows, c]]])
