"""
Products of two matrices that are both computed at run time, in groups of neighbouring terms.

The right one is packed into panels of one vector of sums, with the terms of a group together. The
left one is copied only where its rows are not such groups as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute

from ....glow_dialects.elements import element_bytes, storage_type
from ....glow_dialects.glow_nest.affine import Affine, Dim, Index, View, affine
from ....glow_dialects.scalar import Expr
from ..registry import Kernel
from ..schedules.blocking import panels_packed_together
from .dot import converted, multiply_groups
from .row_blocks import each_panel


@dataclass(frozen=True)
class Factors:
    """The element types in which matrices are multiplied, and how many terms a group has."""

    lhs: Attribute
    rhs: Attribute
    terms: int


def grouped_product(k: Kernel, lhs: View, rhs: View, factors: Factors) -> None:
    """
    Computes `y[b, i, p * lanes + j] = sum(x[i, t * g + m] * w[p, g, j, m])` over `g` and `m`, where
    `x` and `w` are the matrices `b` as `factors` say. Some panels `p` are packed at a time, and
    meet all rows before the next ones.
    """
    batch = [Dim(f"b{i}", size) for i, size in enumerate(lhs.shape[:-2])]
    with k.repeat(*batch):
        _Product(k, batch, lhs, rhs, factors).compute()


class _Product:
    """The product of two matrices of a batch, whose columns are packed a few panels at a time."""

    def __init__(self, k: Kernel, batch: Sequence[Dim], lhs: View, rhs: View, factors: Factors):
        self.k, self.batch, self.matrix, self.factors = k, batch, rhs, factors
        self.lanes = k.machine.lanes(32)
        self.terms, self.columns = rhs.shape[-2:]
        self.groups = -(-self.terms // factors.terms)
        self.row_place, self.rows = self._grouped_rows(lhs)

    def compute(self) -> None:
        whole, rest = divmod(self.columns, self.lanes)
        panel_bytes = self.terms * self.lanes * element_bytes(self.factors.rhs)
        together = panels_packed_together(self.k.machine, whole, panel_bytes)
        for b, (p,) in each_panel(self.k, whole, together, names=("b", "p")):
            self._panels(b * together, affine(p), p.size, self.lanes)
        if rest:
            self._panels(affine(whole), affine(0), 1, rest)

    def _grouped_rows(self, matrix: View) -> tuple[list[Index], View]:
        """
        Returns a view with rows of whole groups, and where those of the batch are in it: the left
        matrix, or a copy with zeros at the end of each row.
        """
        k, i, t = self.k, Dim("i", matrix.shape[-2]), Dim("t", self.terms)
        element, padded = self.factors.lhs, self.groups * self.factors.terms
        is_contiguous = matrix.strides[-1] == 1
        if is_contiguous and padded == t.size and storage_type(matrix.element) == element:
            return [*self.batch], matrix
        read = matrix[[*self.batch, i, t]]
        if not is_contiguous:
            turned = k.scratch((i.size, t.size), matrix.element)
            k.copy([i, t], turned[[i, t]], read)
            read = turned[[i, t]]
        copied = k.scratch((i.size, padded), element)
        k.copy([i, t], copied[[i, t]], read)
        if padded > t.size:
            end = Dim("e", padded - t.size)
            k.map([i, end], copied[[i, end + t.size]], (), Expr.constant(0, element))
        return [], copied

    def _panels(self, first: Affine, p: Affine, count: int, columns: int) -> None:
        """Computes `count` panels `p`, with `columns` columns each, from panel `first` on."""
        i, panels = Dim("i", self.rows.shape[-2]), self._packed(first, count, columns)
        row, place, start = [*self.row_place, i], [*self.batch, i], (first + p) * self.lanes
        multiply_groups(self.k, self.rows, row, [i], panels, p, place, start, columns)

    def _packed(self, first: Affine, count: int, columns: int) -> View:
        """
        Returns panels of the matrix [K, N] as [count, ceil(K / t), lanes, t]. Of a panel, the first
        `columns` columns are written.
        """
        terms, element = self.factors.terms, self.factors.rhs
        p, j = Dim("p", count), Dim("j", columns)
        panels = self.k.scratch((count, self.groups, self.lanes, terms), element)
        source, place = self._rows_of(first * self.lanes, (count - 1) * self.lanes + columns)
        column = place[-1] + p * self.lanes + j
        groups = each_panel(self.k, self.terms, terms, in_nest=True, names=("g", "m"))
        for group, (*loops, m) in groups:
            rows = [group * terms + i for i in range(m.size)]
            reads = [source[[*place[:-1], row, column]] for row in rows]
            values = converted(reads, element)
            values += [Expr.constant(0, element)] * (terms - m.size)
            writes = [panels[[p, group, j, i]] for i in range(terms)]
            self.k.map_all([*loops, p, j], writes, reads, values)
        return panels

    def _rows_of(self, start: Affine, columns: int) -> tuple[View, list[Affine]]:
        """
        Returns a view with contiguous rows that has columns of the matrix, and where the first one
        is there: the matrix of the batch, and the column.
        """
        place = [affine(dim) for dim in self.batch]
        if self.matrix.strides[-1] == 1:
            return self.matrix, [*place, start]
        t, c = Dim("t", self.terms), Dim("c", columns)
        turned = self.k.scratch((t.size, c.size), self.matrix.element)
        self.k.copy([t, c], turned[[t, c]], self.matrix[[*place, t, start + c]])
        return turned, [affine(0)]
