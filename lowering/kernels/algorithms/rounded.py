"""Products of matrices whose elements are rounded to bf16 when they are packed."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import bf16

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_cpu.rounded import RoundedMatMulOp
from ....glow_dialects.glow_nest.affine import Affine, Dim, Index, View, affine
from ....glow_dialects.glow_nest.nest import Combine, Reduction
from ....glow_dialects.glow_vec import dot_kind
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.operator import Call
from ....glow_dialects.scalar import Expr, convert
from ..registry import Kernel, kernel
from ..schedules.blocking import panels_packed_together
from .matrix import swapped
from .row_blocks import each_panel

_PAIR = 2
_ZERO = Expr.constant(0.0, bf16)


def _multiplies_bf16(machine: MachineDescription, call: Call) -> bool:
    return dot_kind(machine, bf16, bf16, _PAIR) is not None


@kernel(RoundedMatMulOp, on=_multiplies_bf16)
def rounded_matmul(k: Kernel) -> None:
    """
    Computes `y[b, i, p * lanes + j] = sum(x[i, 2 * g + m] * w[p, g, j, m])` over `g` and `m`, where
    `x` and `w` are rounded copies of the matrices `b`. Some panels `p` are copied at a time, and
    meet all rows before the next ones.
    """
    lhs, rhs = k.operands
    if k.call.get("transpose_lhs"):
        lhs = swapped(lhs)
    if k.call.get("transpose_rhs"):
        rhs = swapped(rhs)
    batch = [Dim(f"b{i}", size) for i, size in enumerate(lhs.shape[:-2])]
    with k.repeat(*batch):
        _Product(k, batch, lhs, rhs).compute()


class _Product:
    """The product of two matrices of a batch, whose columns are packed a few panels at a time."""

    def __init__(self, k: Kernel, batch: Sequence[Dim], lhs: View, rhs: View):
        self.k, self.batch, self.matrix = k, batch, rhs
        self.lanes = k.machine.lanes(32)
        self.terms, self.columns = rhs.shape[-2:]
        self.rows = self._rounded_rows(lhs)

    def compute(self) -> None:
        whole, rest = divmod(self.columns, self.lanes)
        panel_bytes = self.terms * self.lanes * element_bytes(bf16)
        together = panels_packed_together(self.k.machine, whole, panel_bytes)
        for b, (p,) in each_panel(self.k, whole, together, names=("b", "p")):
            self._panels(b * together, p)
        if rest:
            self._last_columns(whole, rest)

    def _rounded_rows(self, matrix: View) -> View:
        """Returns a matrix [M, K] in bf16, with a zero at the end of each row if K is odd."""
        k, i, t = self.k, Dim("i", matrix.shape[-2]), Dim("t", self.terms)
        read = matrix[[*self.batch, i, t]]
        if matrix.strides[-1] != 1:
            turned = k.scratch((i.size, t.size), matrix.element)
            k.copy([i, t], turned[[i, t]], read)
            read = turned[[i, t]]
        copied = k.scratch((i.size, -(-t.size // _PAIR) * _PAIR), bf16)
        k.copy([i, t], copied[[i, t]], read)
        if t.size % _PAIR:
            k.map([i], copied[[i, t.size]], (), _ZERO)
        return copied

    def _panels(self, first: Affine, p: Dim) -> None:
        """Computes panels `p` of columns from panel `first` on."""
        i, j = Dim("i", self.rows.shape[0]), Dim("j", self.lanes)
        panels = self._packed(first, p.size, self.lanes)
        g, place = Dim("g", panels.shape[1]), [*self.batch, i, (first + p) * self.lanes + j]
        products = self._products(panels, i, p, j, g)
        self.k.finish([i, p, j], place, (), X, [g], products)

    def _last_columns(self, panel: int, columns: int) -> None:
        """Computes a panel that is not full, and stores its first columns."""
        k, i, j, c = self.k, Dim("i", self.rows.shape[0]), Dim("j", self.lanes), Dim("c", columns)
        panels = self._packed(affine(panel), 1, columns)
        g, sums = Dim("g", panels.shape[1]), k.scratch((i.size, j.size), k.element)
        k.map([i, j], sums[[i, j]], (), X, [g], self._products(panels, i, 0, j, g))
        k.finish([i, c], [*self.batch, i, c + panel * self.lanes], [sums[[i, c]]])

    def _products(self, panels: View, i: Dim, p: Index, j: Dim, g: Dim) -> Reduction:
        reads = self.rows[[i, affine(g) * _PAIR]], panels[[p, g, j, 0]]
        return Reduction(Combine.ADD, self.k.element, reads, terms=_PAIR)

    def _packed(self, first: Affine, count: int, columns: int) -> View:
        """
        Returns panels of the matrix [K, N] as [count, ceil(K / 2), lanes, 2] in bf16. Of a panel,
        the first `columns` columns are written.
        """
        pairs, odd = divmod(self.terms, _PAIR)
        p, g, j = Dim("p", count), Dim("g", pairs), Dim("j", columns)
        panels = self.k.scratch((count, pairs + odd, self.lanes, _PAIR), bf16)
        source, place = self._rows_of(first * self.lanes, (count - 1) * self.lanes + columns)
        column = place[-1] + p * self.lanes + j
        if pairs:
            reads = [source[[*place[:-1], g * _PAIR + m, column]] for m in range(_PAIR)]
            writes = [panels[[p, g, j, m]] for m in range(_PAIR)]
            self.k.map_all([g, p, j], writes, reads, [convert(X, bf16), convert(Y, bf16)])
        if odd:
            last = source[[*place[:-1], self.terms - 1, column]]
            writes = [panels[[p, pairs, j, m]] for m in range(_PAIR)]
            self.k.map_all([p, j], writes, [last], [convert(X, bf16), _ZERO])
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
