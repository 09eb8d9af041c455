"""
Recurrent layers: a loop over time.

States stay where the result has them: each step reads the row of the last one and writes the next.
All gates of a step are one product, after which one nest computes the cell. The weights are in
panels, which vectors read in order: constants by `glow-pack-weights`, others before the first of
many steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow.recurrent import GruOp, LstmOp, Recurrent, RnnOp
from ....glow_dialects.glow_nest.affine import Access, Dim, Index, View, affine
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.scalar import Expr, arguments, select
from ..registry import Kernel, kernel, total
from ..schedules.blocking import repays_packed_weights
from .row_blocks import each_panel


def operator_of(k: Kernel) -> type[Recurrent]:
    operator = k.call.operator
    assert issubclass(operator, Recurrent)
    return operator


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

    def gate(self, view: View, number: int, *row: Index) -> Access:
        """Returns the part of a gate in the last dimension of a view."""
        return view[[*row, self.b, self.j + number * self.j.size]]

    def state(self, number: int) -> Access:
        """Returns a state before the step."""
        return self.k.result[[number, self.before, self.b, self.j]]

    @property
    def factors(self) -> Access:
        """The states before the step as factors of products."""
        return self.k.result[[0, self.before, self.b, self.t]]

    def multiply(self, weights: View, factors: Access, sums: View, x: View | None = None) -> None:
        """
        Computes the product of states and weights, and adds columns of the input. The states of one
        row meet all panels in one nest.
        """
        k, b, t = self.k, self.b, self.t
        columns, width = sums.shape[1], weights.shape[2]
        panels = each_panel(k, columns, width, in_nest=b.size == 1)
        if width == columns:
            panels = [(affine(0), [Dim("g", columns)])]
        for p, dims in panels:
            g = p * width + dims[-1]
            products = total(Combine.ADD, sums.element, factors, weights[[p, t, dims[-1]]])
            given = [] if x is None else [x[[self.now, b, g]]]
            k.map([b, *dims], sums[[b, g]], given, X + Y if given else X, [t], products)

    def write(self, operands: Sequence[Access]) -> None:
        """
        Writes the states after the step, or those before it where the mask is false, and what the
        layer keeps, of the arguments of the cell.
        """
        k = self.k
        operator = operator_of(k)
        masks = k.operands[3 + (operator.ROWS > 0) :]
        reads, values = list(operands), list(operator.written(k.call))
        if masks:
            states = range(operator.STATES)
            reads += [masks[0][[self.now, self.b]], *map(self.state, states)]
            chosen, *last = arguments(len(reads))[len(operands) :]
            for s, old in zip(states, last, strict=True):
                values[s] = select(chosen, values[s], old)
        writes = [k.result[[s, self.after, self.b, self.j]] for s in range(len(values))]
        k.map_all([self.b, self.j], writes, reads, values)


def _weights(k: Kernel, number: int) -> View:
    """
    Returns the weights of one of the products, [panel, state, column of the panel]. If they are a
    matrix, they are packed before the first step where that pays off; else they are one panel.
    """
    operator, given, (_, rows, _, hidden) = operator_of(k), k.operands[1], k.result.shape
    sizes = operator.columns(hidden)
    columns, first = sizes[number], sum(sizes[:number])
    if given.rank == 3:
        counts = operator.panels(hidden, given.shape[2])
        start = given.offset + sum(counts[:number]) * given.strides[0]
        return replace(given, shape=(counts[number], *given.shape[1:]), offset=start)
    width = k.machine.panel_vectors * k.lanes(given.element)
    if columns <= width or not repays_packed_weights(rows - 1):
        start = given.offset + first * given.strides[1]
        return View(given.buffer, (1, hidden, columns), (0, *given.strides), start)
    view, t = k.scratch((-(-columns // width), hidden, width), given.element), Dim("t", hidden)
    for p, (lane,) in each_panel(k, columns, width):
        k.copy([t, lane], view[[p, t, lane]], given[[t, p * width + lane + first]])
    return view


@contextmanager
def _steps(k: Kernel) -> Iterator[Layer]:
    """Runs the nests that are added inside for each step, after a copy of the first states."""
    initial, states = k.operands[2], operator_of(k).STATES
    parts, rows, batch, hidden = k.result.shape
    steps, backwards = rows - 1, k.call.get("reverse")
    start = steps if backwards else 0
    s, *place = Dim("s", states), Dim("b", batch), Dim("j", hidden)
    k.copy([s, *place], k.result[[s, start, *place]], initial[[s, *place]])
    if parts > states:
        kept = Dim("kept", parts - states)
        zero = Expr.constant(0.0, k.result.element)
        k.map([kept, *place], k.result[[kept + states, start, *place]], (), zero)
    step = Dim("step", steps)
    now = step * -1 + (steps - 1) if backwards else affine(step)
    before, after = (now + 1, now) if backwards else (now, now + 1)
    with k.repeat(step):
        yield Layer(k, Dim("b", batch), Dim("j", hidden), Dim("t", hidden), now, before, after)


@kernel(LstmOp)
def lstm(k: Kernel) -> None:
    peepholes = k.operands[3]
    sums, weights = _sums(k, 4), _weights(k, 0)
    with _steps(k) as layer:
        layer.multiply(weights, layer.factors, sums, k.operands[0])
        gates = [layer.gate(sums, i) for i in range(4)]
        rows = [peepholes[[i, layer.j]] for i in range(3)]
        layer.write([*gates, layer.state(1), *rows])


@kernel(GruOp)
def gru(k: Kernel) -> None:
    """Computes a step; the product for the new state comes last, as it may need the reset gate."""
    x, bias = k.operands[0], k.operands[3]
    sums, products = _sums(k, 2), _sums(k, 1)
    gates, last = _weights(k, 0), _weights(k, 1)
    with _steps(k) as layer:
        layer.multiply(gates, layer.factors, sums, x)
        z, r = (layer.gate(sums, i) for i in range(2))
        factors = layer.factors
        if not k.call.get("reset_after"):
            reset, place = _sums(k, 1), [layer.b, layer.j]
            k.map(place, reset[place], [r, layer.state(0)], GruOp.reset(k.call))
            factors = reset[[layer.b, layer.t]]
        layer.multiply(last, factors, products)
        product = products[[layer.b, layer.j]]
        given = [z, r, layer.gate(x, 2, layer.now), bias[[0, layer.j]], layer.state(0)]
        layer.write([product, *given])


@kernel(RnnOp)
def rnn(k: Kernel) -> None:
    sums, weights = _sums(k, 1), _weights(k, 0)
    with _steps(k) as layer:
        layer.multiply(weights, layer.factors, sums)
        product, x = sums[[layer.b, layer.j]], layer.gate(k.operands[0], 0, layer.now)
        layer.write([product, x])


def _sums(k: Kernel, gates: int) -> View:
    _, _, batch, hidden = k.result.shape
    return k.scratch((batch, gates * hidden), compute_type(k.element))
