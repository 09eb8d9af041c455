"""
Recurrent layers: a loop over time.

States stay where the result has them: each step reads the row of the last one and writes the next.
All gates of a step are one product, after which one nest computes the cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow.recurrent import GruOp, LstmOp, Recurrent, RnnOp
from ....glow_dialects.glow_nest.affine import Access, Dim, Index, View
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from ....glow_dialects.scalar import Expr, arguments, select
from ..registry import Kernel, kernel, total


@dataclass(frozen=True)
class Layer:
    """The loops of one step, and where it reads and writes."""

    k: Kernel
    b: Dim
    j: Dim
    t: Dim
    now: Index
    """The row of the input."""
    before: Index
    """The row of the states before the step."""
    after: Index

    @property
    def hidden(self) -> int:
        return self.j.size

    def gate(self, view: View, number: int, *row: Index) -> Access:
        """Returns the part of a gate in the last dimension of a view."""
        return view[[*row, self.b, self.j + number * self.hidden]]

    def state(self, number: int) -> Access:
        """Returns a state before the step."""
        return self.k.result[[number, self.before, self.b, self.j]]

    def products(self, left: View, row: Sequence[Index], first: int, g: Dim) -> Reduction:
        """Returns columns `first + g` of the product of states and weights, over `t`."""
        weights = self.k.operands[1]
        reads = left[[*row, self.b, self.t]], weights[[self.t, g + first]]
        return total(Combine.ADD, compute_type(self.k.element), *reads)

    def write(
        self,
        values: Sequence[Expr],
        operands: Sequence[Access],
        reduction: Reduction | None = None,
    ) -> None:
        """Returns the states after the step, or those before it where the mask is false."""
        k, states = self.k, range(len(values))
        operator = k.call.operator
        assert issubclass(operator, Recurrent)
        masks = k.operands[3 + (operator.ROWS > 0) :]
        reads = list(operands)
        if masks:
            given = len(reads) + (reduction is not None)
            reads += [masks[0][[self.now, self.b]], *map(self.state, states)]
            chosen, *last = arguments(given + 1 + len(states))[given:]
            values = [select(chosen, v, old) for v, old in zip(values, last, strict=True)]
        writes = tuple(k.result[[s, self.after, self.b, self.j]] for s in states)
        body = Body(tuple(values), tuple(w.element for w in writes))
        reduced = (self.t,) if reduction is not None else ()
        k.nest(Nest((self.b, self.j), writes, body, tuple(reads), reduction, reduced))


@contextmanager
def _steps(k: Kernel) -> Iterator[Layer]:
    """Runs the nests that are added inside for each step, after a copy of the first states."""
    initial = k.operands[2]
    states, rows, batch, hidden = k.result.shape
    steps, backwards = rows - 1, k.call.get("reverse")
    first = [Dim("s", states), Dim("b", batch), Dim("j", hidden)]
    k.copy(first, k.result[[first[0], steps if backwards else 0, *first[1:]]], initial[first])
    step = Dim("step", steps)
    now: Index = step * -1 + (steps - 1) if backwards else step
    row = step + 1 if not backwards else step * -1 + steps
    before, after = (row, now) if backwards else (now, row)
    with k.repeat(step):
        yield Layer(k, Dim("b", batch), Dim("j", hidden), Dim("t", hidden), now, before, after)


def _gates(layer: Layer, sums: View, columns: int) -> None:
    """`sums[b, g]`: the input plus the product of the state with the weights."""
    k, g = layer.k, Dim("g", columns)
    products = layer.products(k.result, [0, layer.before], 0, g)
    x = k.operands[0][[layer.now, layer.b, g]]
    k.map([layer.b, g], sums[[layer.b, g]], [x], X + Y, [layer.t], products)


@kernel(LstmOp)
def lstm(k: Kernel) -> None:
    _, _, batch, hidden = k.result.shape
    peepholes = k.operands[3]
    sums = k.scratch((batch, 4 * hidden), compute_type(k.element))
    with _steps(k) as layer:
        _gates(layer, sums, 4 * hidden)
        gates = [layer.gate(sums, i) for i in range(4)]
        rows = [peepholes[[i, layer.j]] for i in range(3)]
        layer.write(LstmOp.cell(k.call), [*gates, layer.state(1), *rows])


@kernel(GruOp)
def gru(k: Kernel) -> None:
    """Computes a step; the product for the new state comes last, as it may need the reset gate."""
    _, _, batch, hidden = k.result.shape
    x, bias, element = k.operands[0], k.operands[3], compute_type(k.element)
    sums = k.scratch((batch, 2 * hidden), element)
    left, row = k.result, None
    with _steps(k) as layer:
        _gates(layer, sums, 2 * hidden)
        z, r = (layer.gate(sums, i) for i in range(2))
        if k.call.get("reset_after"):
            row = [0, layer.before]
        else:
            left, row = k.scratch((batch, hidden), element), []
            place = left[[layer.b, layer.j]]
            k.map([layer.b, layer.j], place, [r, layer.state(0)], GruOp.reset(k.call))
        products = layer.products(left, row, 2 * hidden, layer.j)
        given = [z, r, layer.gate(x, 2, layer.now), bias[[0, layer.j]], layer.state(0)]
        layer.write([GruOp.cell(k.call)], given, products)


@kernel(RnnOp)
def rnn(k: Kernel) -> None:
    with _steps(k) as layer:
        products = layer.products(k.result, [0, layer.before], 0, layer.j)
        layer.write([RnnOp.cell(k.call)], [layer.gate(k.operands[0], 0, layer.now)], products)
