"""Matrix products."""

from __future__ import annotations

from math import prod

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow_cpu.packed import PackedMatMulOp
from ....glow_dialects.glow_nest.affine import Dim, Index, View, affine
from ....glow_dialects.glow_nest.nest import Combine, Reduction
from ..registry import Kernel, kernel, total, view_dims
from ..schedules.blocking import (
    finishes_apart,
    repays_turning,
    rows_finished_together,
    rows_of_panels,
)
from .row_blocks import Rows, for_rows, in_blocks


@kernel(MatMulOp)
def matmul(k: Kernel) -> None:
    """
    Computes `y[b, i, j] = sum(lhs[b, i, t] * rhs[b, t, j])`.

    A right operand that is stored transposed is read along `t`. If there are many rows with few
    terms each, a transposed copy pays off and is made first.
    """
    lhs, rhs = k.operands
    batch = view_dims(View(lhs.buffer, lhs.shape[:-2], lhs.strides[:-2]), "b")
    if k.call.get("transpose_lhs"):
        lhs = _swapped(lhs)
    if k.call.get("transpose_rhs"):
        rhs = _swapped(rhs)
    terms = lhs.shape[-1]
    if rhs.strides[-1] != 1 and repays_turning(lhs.shape[-2], terms):
        rhs = _dense(k, rhs)
    i, j, t = Dim("i", lhs.shape[-2]), Dim("j", rhs.shape[-1]), Dim("t", terms)
    element = compute_type(k.element)
    reduction = total(Combine.ADD, element, lhs[[*batch, i, t]], rhs[[*batch, t, j]])
    k.reduce([*batch, i, j], [t], reduction, [*batch, i, j])


@kernel(PackedMatMulOp)
def packed_matmul(k: Kernel) -> None:
    """
    Computes `y[r, p * width + j] = sum(x[r, t] * weights[p, t, j])`; many rows `r` meet one panel
    `p` after the other.
    """
    x, weights = k.operands
    panels, inner, width = weights.shape
    rest = k.call.int("columns") - (panels - 1) * width
    p = Dim("p", panels if rest == width else panels - 1)

    def visit(rows: Rows) -> None:
        if p.size:
            with k.repeat(p):
                _panel(k, rows, p, width)
        if rest < width:
            _panel(k, rows, panels - 1, rest)

    together = rows_of_panels(k.machine, prod(x.shape[:-1]), inner)
    for_rows(k, x.rank - 1, [x], together, visit)


def _panel(k: Kernel, rows: Rows, p: Dim | int, columns: int) -> None:
    """Computes the products of some rows with the first columns of a panel."""
    if not finishes_apart(k.epilogue.body):
        dims, terms, products, place = _product(k, rows, p, columns)
        k.reduce(dims, terms, products, place)
        return
    together = rows_finished_together()
    sums = k.scratch((min(together, rows.row.size), columns), compute_type(k.element))

    def visit(few: Rows) -> None:
        dims, terms, products, place = _product(k, few, p, columns)
        k.map(dims, sums[dims], (), X, terms, products)
        k.finish(dims, place, [sums[dims]])

    in_blocks(k, rows, together, visit)


def _product(
    k: Kernel, rows: Rows, p: Dim | int, columns: int
) -> tuple[list[Dim], list[Dim], Reduction, list[Index]]:
    """Returns the loop variables, the reduced ones, the reduction, and the place of its results."""
    x, weights = k.operands
    _, inner, width = weights.shape
    j, t = Dim("j", columns), Dim("t", inner)
    element = compute_type(k.element)
    products = total(Combine.ADD, element, x[[*rows.place, t]], weights[[p, t, j]])
    return [rows.row, j], [t], products, [*rows.place, affine(p) * width + j]


def _swapped(view: View) -> View:
    """Returns the same matrices with rows and columns exchanged."""
    order = (*range(view.rank - 2), view.rank - 1, view.rank - 2)
    shape = tuple(view.shape[d] for d in order)
    return View(view.buffer, shape, tuple(view.strides[d] for d in order), view.offset)


def _dense(k: Kernel, view: View) -> View:
    copied = k.scratch(view.shape, view.element)
    dims = view_dims(view)
    k.copy(dims, copied[dims], view[dims])
    return copied
