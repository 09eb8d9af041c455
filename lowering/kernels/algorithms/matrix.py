"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import bf16, i8, i16, i32

from ....glow_dialects.elements import compute_type, element_bytes, storage_type
from ....glow_dialects.glow.elementwise import X
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow_cpu.packed import PackedMatMulOp
from ....glow_dialects.glow_cpu.rounded import RoundedMatMulOp
from ....glow_dialects.glow_nest.affine import Dim, Index, View, affine
from ....glow_dialects.glow_nest.nest import Combine, Reduction
from ....glow_dialects.glow_vec import dot_kind
from ....glow_dialects.integers import u8
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.operator import Call
from ....glow_dialects.scalar import Expr
from ..registry import Kernel, kernel, total, view_dims
from ..schedules.blocking import (
    balanced_panel,
    fills_part,
    finishes_apart,
    panels_packed_together,
    repays_grouping,
    repays_packing,
    repays_transposing,
    rows_finished_together,
    rows_of_panels,
    terms_packed_together,
)
from .grouped import Factors, grouped_product
from .row_blocks import Rows, each_panel, for_rows, in_blocks, one_or_several

_QUAD, _PAIR = 4, 2


def _multiplies_bf16(machine: MachineDescription, call: Call) -> bool:
    return dot_kind(machine, bf16, bf16, _PAIR) is not None


@kernel(RoundedMatMulOp, on=_multiplies_bf16)
@kernel(MatMulOp, keeps_limits=True)
def matmul(k: Kernel) -> None:
    """
    Computes `y[b, i, j] = sum(lhs[b, i, t] * rhs[b, t, j])`.

    A right operand that is stored transposed is read along `t`. If there are many rows with few
    terms each, a transposed copy pays off and is made first. Of large matrices, the left one is
    copied if its rows are not contiguous, and the right one is packed into panels of columns.
    Narrow integers are multiplied in groups, and so are rounded elements.
    """
    lhs, rhs = k.operands
    batch = view_dims(lhs, "b")[:-2]
    if k.call.get("transpose_lhs"):
        lhs = _swapped(lhs)
    if k.call.get("transpose_rhs"):
        rhs = _swapped(rhs)
    rows, terms, columns = lhs.shape[-2], lhs.shape[-1], rhs.shape[-1]
    has_limits = any(v.limits for v in (lhs, rhs, *k.elementwise_views))
    factors, is_rounded = _grouped(k, lhs, rhs), k.call.operator is RoundedMatMulOp
    if factors is not None and (is_rounded or (not has_limits and repays_grouping(rows))):
        grouped_product(k, lhs, rhs, factors)
        return
    size = element_bytes(rhs.element)
    inner = (lhs.limit(-1), rhs.limit(-1))  # panels have all terms of whole columns
    if (
        inner == (None, None)
        and not (batch and has_limits)
        and repays_packing(k.machine, rows, terms * columns * size, rhs.strides[-1] != 1)
    ):
        if lhs.strides[-1] != 1:
            lhs = k.copied(lhs, lhs.element)
        _by_packed_panels(k, batch, lhs, rhs)
        return
    if not has_limits and fills_part(k.lanes(compute_type(k.element)), rows, columns):
        _in_whole_vectors(k, batch, lhs, rhs)
        return
    if rhs.strides[-1] != 1 and repays_transposing(rows, terms):
        rhs = k.copied(rhs, rhs.element)
    i, j = lhs.dim("i", -2), rhs.dim("j", -1)
    t = Dim("t", terms, lhs.limit(-1) or rhs.limit(-2))
    element = compute_type(k.element)
    reduction = total(Combine.ADD, element, lhs[[*batch, i, t]], rhs[[*batch, t, j]])
    k.finish([*batch, i, j], [*batch, i, j], (), X, [t], reduction)


def _grouped(k: Kernel, lhs: View, rhs: View) -> Factors | None:
    """Returns how the machine multiplies groups of narrow numbers; None for other elements."""
    if k.call.operator is RoundedMatMulOp:
        return Factors(bf16, bf16, _PAIR)
    a, b = storage_type(lhs.element), storage_type(rhs.element)
    if k.element != i32 or not {a, b} <= {u8, i8, i16}:
        return None
    if b == i8 and dot_kind(k.machine, a, b, _QUAD) is not None:
        return Factors(a, b, _QUAD)
    return Factors(i16, i16, _PAIR)


def _in_whole_vectors(k: Kernel, batch: Sequence[Dim], lhs: View, rhs: View) -> None:
    """Computes products whose columns fill a part of a vector, from copies in whole vectors."""
    rows, terms, columns = lhs.shape[-2], lhs.shape[-1], rhs.shape[-1]
    panel = k.scratch((1, terms, k.lanes(compute_type(k.element))), rhs.element)
    t, j = Dim("t", terms), Dim("j", columns)
    with k.repeat(*batch):
        k.copy([t, j], panel[[0, t, j]], rhs[[*batch, t, j]])
        _panel(k, lhs, panel, Rows(batch, 0, Dim("i", rows)), 0, [j])


def _by_packed_panels(k: Kernel, batch: Sequence[Dim], lhs: View, rhs: View) -> None:
    """
    Computes products of matrices. Some panels of columns of the right one are packed at a time, and
    meet all rows before the next ones.
    """
    terms, columns = rhs.shape[-2:]
    width = balanced_panel(k.machine, k.lanes(rhs.element), columns)
    panel_bytes = terms * width * element_bytes(rhs.element)
    together = width * panels_packed_together(k.machine, -(-columns // width), panel_bytes)
    with k.repeat(*batch):
        for block, (column,) in each_panel(k, columns, together, names=("c", "j")):
            first = block * together
            panels = _in_panels(k, rhs, batch, first, column.size, width)
            _by_panels(k, lhs, panels, column.size, batch, first)


def _in_panels(
    k: Kernel, matrix: View, batch: Sequence[Dim], first: Index, columns: int, width: int
) -> View:
    """
    Returns a copy of some columns of a matrix [K, N] of a batch in panels [ceil(columns / width),
    K, width]. Zeros fill the last vector of columns.
    """
    inner, is_transposed = matrix.shape[-2], matrix.strides[-1] != 1
    copied = k.scratch((-(-columns // width), inner, width), matrix.element)
    together = inner if is_transposed else terms_packed_together(k.machine)
    for block, (t,) in each_panel(k, inner, together, names=("d", "t")):
        term = block * together + t
        for p, (*panels, j) in each_panel(k, columns, width, in_nest=True, names=("p", "j")):
            column = affine(first) + p * width + j
            k.copy([*panels, t, j], copied[[p, term, j]], matrix[[*batch, term, column]])
    if behind := -columns % k.lanes(matrix.element):
        t, column = Dim("t", inner), Dim("e", behind)
        place = copied[[columns // width, t, column + columns % width]]
        k.map([t, column], place, (), Expr.constant(0, matrix.element))
    return copied


@kernel(PackedMatMulOp, keeps_limits=True)
def packed_matmul(k: Kernel) -> None:
    """
    Computes `y[r, p * width + j] = sum(x[r, t] * weights[p, t, j])`; many rows `r` meet one panel
    `p` after the other.
    """
    x, weights = k.operands
    _by_panels(k, x, weights, k.call.int("columns"))


def _by_panels(
    k: Kernel, x: View, panels: View, columns: int, batch: Sequence[Dim] = (), first: Index = 0
) -> None:
    """
    Computes the products of rows, those of a matrix of a batch if there is one, with a matrix in
    panels. They are `columns` columns of the result from the first one on.
    """
    _, inner, width = panels.shape
    together = rows_of_panels(k.machine, prod(x.shape[len(batch) : -1]), inner)
    if batch:
        blocks = in_blocks(k, Rows(batch, 0, x.dim("i", -2)), together)
    else:
        blocks = for_rows(k, x.rank - 1, x, together)
    for rows in blocks:
        for part, is_one in one_or_several(k, rows):
            for p, dims in each_panel(k, columns, width, in_nest=is_one):
                _panel(k, x, panels, part, p, dims, first)


def _panel(
    k: Kernel, x: View, weights: View, rows: Rows, p: Index, dims: list[Dim], first: Index = 0
) -> None:
    """
    Computes the products of some rows with a panel, or with several. The loops `dims` of the nest
    are over panels, if there are several, and over columns of a panel; `first` is the column of the
    result that is the first one of panel 0. Where the last columns do not fill a vector, the sums
    of the columns behind them, which panels have, are computed as well.
    """
    *panels, column = dims
    element, (_, inner, width) = compute_type(k.element), weights.shape
    t, lanes = Dim("t", inner), k.lanes(element)
    filled = min(-(-column.size // lanes) * lanes, width)
    start = affine(first) + affine(p) * width

    def products(few: Rows, j: Dim) -> Reduction:
        return total(Combine.ADD, element, x[[*few.place, t]], weights[[p, t, j]])

    j = Dim("j", column.size)
    if filled == column.size and not finishes_apart(k.epilogue.body):
        k.finish([rows.row, *panels, j], [*rows.place, start + j], (), X, [t], products(rows, j))
        return
    together = min(rows_finished_together(), rows.row.size)
    sums = k.scratch((together, *(d.size for d in panels), filled), element)
    for few in in_blocks(k, rows, together):
        whole = Dim("j", filled)
        summed, finished = [few.row, *panels, whole], [few.row, *panels, j]
        k.map(summed, sums[summed], (), X, [t], products(few, whole))
        k.finish(finished, [*few.place, start + j], [sums[finished]])


def _swapped(view: View) -> View:
    """Returns the same matrices with rows and columns exchanged."""
    return view.along([*range(view.rank - 2), -1, -2])
