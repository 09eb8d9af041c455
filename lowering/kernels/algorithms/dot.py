"""Matrix products and convolutions of narrow operands, which sum groups of neighbouring terms."""

from __future__ import annotations

from xdsl.dialects.builtin import i16, i32

from ....glow_dialects.elements import is_byte
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_cpu.dot import DotConvolutionOp, DotMatMulOp
from ....glow_dialects.glow_nest.affine import Affine, Dim, Index, affine
from ....glow_dialects.glow_nest.nest import Combine, Reduction
from ....glow_dialects.glow_vec import dot_kind
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.operator import Call
from ..registry import Kernel, kernel, view_dims
from .blocked import windows

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
    panels = k.operands[1].shape[0]
    blocks, block = k.operands[2].shape
    per_block = block // k.operands[1].shape[-2]
    full, rest = divmod(panels, per_block)
    _widen(k)
    group = k.call.int("group")
    if full:
        _panels(k, Dim("group", group), Dim("ob", full // group), per_block)
    if rest:
        _panels(k, 0, full, rest)
    first = rest * k.operands[1].shape[-2]
    for ob in range(full, blocks):
        if first < block:
            _only_bias(k, ob, first, block - first)
        first = 0


def _widen(k: Kernel) -> None:
    """Widens pairs of bytes to pairs of 16-bit integers, which the machine multiplies."""
    x, *rest = k.operands
    if is_byte(x.element) and k.operands[1].shape[-1] == _PAIR:
        k.operands = [k.copied(x, i16), *rest]


def _panels(k: Kernel, group: Dim | int, block: Dim | int, count: int) -> None:
    """Computes the first `count` panels of a block of a group, or of all of them in loops."""
    x, filters, bias = k.operands
    y = k.result
    panel, terms = filters.shape[-2:]
    n, p, j = Dim("n", y.shape[0]), Dim("p", count), Dim("j", panel)
    cb, g = Dim("cb", filters.shape[1]), Dim("g", filters.shape[-3])
    window, offset, places = windows(k.call, y.shape[2:-1], filters.shape[2:-3])
    around = [d for d in (group, block) if isinstance(d, Dim)]
    ob = affine(group) * (y.shape[1] // k.call.int("group")) + block
    number = ob * (y.shape[-1] // panel) + p
    pixel = x[[n, affine(group) * cb.size + cb, *places, affine(g) * terms]]
    reads, is_exact = (pixel, filters[[number, cb, *offset, g, j, 0]]), k.element == i32
    products = Reduction(Combine.ADD, k.element, reads, terms=terms, adds_operand=is_exact)
    o = Affine({p: panel, j: 1})
    dims = [n, *around, p, *window, j]
    place: list[Index] = [n, ob, *window, o]
    k.finish(dims, place, [bias[[ob, o]]], X + Y, [cb, *offset, g], products)


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
