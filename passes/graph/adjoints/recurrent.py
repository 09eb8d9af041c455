"""
Adjoints and tangents of recurrent layers.

The adjoint goes through the steps of time in the opposite order (Werbos 1990, "Backpropagation
through time"). What the cells are given is computed again from the states that the layer kept, for
all steps together, as are the adjoints of weights. So each step has one small product.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.ir import SSAValue

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.arithmetic import AddOp, SubOp
from ....glow_dialects.glow.control import STEP, LoopOp
from ....glow_dialects.glow.logic import SelectOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.recurrent import GruOp, LstmOp, Recurrent, RnnOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ....glow_dialects.glow.shape import ConcatOp, SliceOp
from ....glow_dialects.operator import Call, element_of, shape_of, with_shape
from ....glow_dialects.scalar import Expr, fold_in_order, in_order_of_creation
from ..lowerings.data_parallel import NodeAlgebra
from ..lowerings.precision import convert
from ..rewriting import Build
from .control import BodyBuilder, copied
from .data_parallel import derivatives
from .propagation import Parameter, directional
from .registry import adjoint, tangent


def _slice(
    build: Build, value: SSAValue, axis: int, start: int, size: int, stride: int = 1
) -> SSAValue:
    """Returns the part of a value along an axis."""
    shape = shape_of(value.type)
    starts = [start if d == axis else 0 for d in range(len(shape))]
    sizes = [size if d == axis else n for d, n in enumerate(shape)]
    strides = [stride if d == axis else 1 for d in range(len(shape))]
    return build(SliceOp, value, starts=starts, sizes=sizes, strides=strides)


def _at(build: Build, value: SSAValue, number: int) -> SSAValue:
    """Returns the part of a value with a number in dimension 0, without that dimension."""
    return build.reshape(_slice(build, value, 0, number, 1), shape_of(value.type)[1:])


def _stack(build: Build, parts: Sequence[SSAValue]) -> SSAValue:
    """Returns values one after the other along a new dimension 0."""
    rows = [build.reshape(p, [1, *shape_of(p.type)]) for p in parts]
    return rows[0] if len(rows) == 1 else build(ConcatOp, *rows, axis=0)


def _product(build: Build, left: SSAValue, right: SSAValue) -> SSAValue:
    """Returns the product of [..., K] and [K, J]."""
    *lead, k = shape_of(left.type)
    flat = build.reshape(left, [prod(lead), k])
    return build.reshape(build(MatMulOp, flat, right), [*lead, shape_of(right.type)[1]])


def _product_turned(build: Build, left: SSAValue, right: SSAValue) -> SSAValue:
    """Returns the product of [I, K] and the transpose of [J, K]."""
    return build(MatMulOp, left, right, transpose_rhs=True)


def _computed(exprs: Sequence[Expr], values: Sequence[SSAValue], build: Build) -> list[SSAValue]:
    """Returns expressions of values, which have the type of the results."""
    order = in_order_of_creation(exprs)
    found = fold_in_order(order, values, NodeAlgebra(build, values[0].type))
    return [found[e] for e in exprs]


def _pulled(
    exprs: Sequence[Expr], values: Sequence[SSAValue], seeds: Sequence[SSAValue], build: Build
) -> list[SSAValue]:
    """Returns the adjoints of values, for those of expressions of them."""
    element, n = element_of(values[0].type), len(values)
    known = derivatives(exprs, [element] * n, element, frozenset(range(n)))
    found = iter(_computed(list(known.values()), [*values, *seeds], build))
    adjoints = dict(zip(known, found, strict=True))
    return [adjoints.get(i) or build.splat(0.0, v.type) for i, v in enumerate(values)]


@dataclass(frozen=True)
class _Adjoints:
    """The adjoints of what a cell computes its states of."""

    input: SSAValue
    """The adjoint of the row of the input."""
    products: Sequence[SSAValue]
    """Those of the products with each part of the weights."""
    last: Sequence[SSAValue]
    """Those of the states before the step."""
    rows: Sequence[SSAValue]
    """Those of the parameters, for each element of the batch."""


class _Cell(abc.ABC):
    """The computation of a step, on rows [B, ...] or on those of all steps [T, B, ...]."""

    operator: ClassVar[type[Recurrent]]

    def __init__(self, call: Call):
        self.call = call

    def parts(self) -> Sequence[int]:
        """Returns how many gates each part of the weights is for."""
        return [self.operator.GATES]

    @abc.abstractmethod
    def exprs(self) -> Sequence[Expr]:
        """Returns the next states, of `arguments`."""

    def fed(
        self, build: Build, x: SSAValue, weights: Sequence[SSAValue], state: SSAValue
    ) -> list[SSAValue]:
        """Returns what depends on products: by default, their sum with the input."""
        return [build(AddOp, _product(build, state, weights[0]), x)]

    @abc.abstractmethod
    def arguments(
        self,
        build: Build,
        fed: Sequence[SSAValue],
        last: Sequence[SSAValue],
        rows: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Returns the arguments of the cell [B, H]."""

    def multiplied(
        self, build: Build, fed: Sequence[SSAValue], state: SSAValue
    ) -> Sequence[SSAValue]:
        """Returns what each part of the weights is multiplied with."""
        return [state]

    @abc.abstractmethod
    def pulled(
        self,
        build: Build,
        arguments: Sequence[SSAValue],
        weights: Sequence[SSAValue],
        seeds: Sequence[SSAValue],
    ) -> _Adjoints:
        """Returns the adjoints for those of the states after the step."""


def _gates(build: Build, value: SSAValue, count: int) -> list[SSAValue]:
    """Returns equal parts of the last dimension."""
    axis = len(shape_of(value.type)) - 1
    size = shape_of(value.type)[axis] // count
    return [_slice(build, value, axis, i * size, size) for i in range(count)]


def _joined(build: Build, parts: Sequence[SSAValue]) -> SSAValue:
    """Returns values one after the other along the last dimension."""
    return build(ConcatOp, *parts, axis=len(shape_of(parts[0].type)) - 1)


class _Lstm(_Cell):
    operator = LstmOp

    def exprs(self) -> Sequence[Expr]:
        return LstmOp.cell(self.call)

    def arguments(
        self,
        build: Build,
        fed: Sequence[SSAValue],
        last: Sequence[SSAValue],
        rows: Sequence[SSAValue],
    ) -> list[SSAValue]:
        return [*_gates(build, fed[0], 4), last[1], *rows]

    def pulled(
        self,
        build: Build,
        arguments: Sequence[SSAValue],
        weights: Sequence[SSAValue],
        seeds: Sequence[SSAValue],
    ) -> _Adjoints:
        found = _pulled(self.exprs(), arguments, seeds, build)
        gates = _joined(build, found[:4])
        state = _product_turned(build, gates, weights[0])
        return _Adjoints(gates, [gates], [state, found[4]], found[5:])


class _Rnn(_Cell):
    operator = RnnOp

    def exprs(self) -> Sequence[Expr]:
        return [RnnOp.cell(self.call)]

    def arguments(
        self,
        build: Build,
        fed: Sequence[SSAValue],
        last: Sequence[SSAValue],
        rows: Sequence[SSAValue],
    ) -> list[SSAValue]:
        return [fed[0], build.splat(0.0, fed[0].type)]

    def pulled(
        self,
        build: Build,
        arguments: Sequence[SSAValue],
        weights: Sequence[SSAValue],
        seeds: Sequence[SSAValue],
    ) -> _Adjoints:
        total, _ = _pulled(self.exprs(), arguments, seeds, build)
        return _Adjoints(total, [total], [_product_turned(build, total, weights[0])], [])


class _Gru(_Cell):
    operator = GruOp

    def parts(self) -> Sequence[int]:
        return [2, 1]

    def exprs(self) -> Sequence[Expr]:
        return [GruOp.cell(self.call)]

    def fed(
        self, build: Build, x: SSAValue, weights: Sequence[SSAValue], state: SSAValue
    ) -> list[SSAValue]:
        z, r, h = _gates(build, x, 3)
        sums = build(AddOp, _product(build, state, weights[0]), _joined(build, [z, r]))
        _, left = self.multiplied(build, [sums], state)
        return [sums, _product(build, left, weights[1]), h]

    def arguments(
        self,
        build: Build,
        fed: Sequence[SSAValue],
        last: Sequence[SSAValue],
        rows: Sequence[SSAValue],
    ) -> list[SSAValue]:
        sums, product, h = fed
        return [product, *_gates(build, sums, 2), h, *rows, last[0]]

    def multiplied(
        self, build: Build, fed: Sequence[SSAValue], state: SSAValue
    ) -> Sequence[SSAValue]:
        if self.call.get("reset_after"):
            return [state, state]
        _, r = _gates(build, fed[0], 2)
        return [state, *_computed([GruOp.reset(self.call)], [r, state], build)]

    def pulled(
        self,
        build: Build,
        arguments: Sequence[SSAValue],
        weights: Sequence[SSAValue],
        seeds: Sequence[SSAValue],
    ) -> _Adjoints:
        product, z, r, h, bias, last = _pulled(self.exprs(), arguments, seeds, build)
        left = _product_turned(build, product, weights[1])
        if not self.call.get("reset_after"):
            given = [arguments[2], arguments[5]]
            more, left = _pulled([GruOp.reset(self.call)], given, [left], build)
            r = build(AddOp, r, more)
        gates = _joined(build, [z, r])
        state = build(AddOp, last, build(AddOp, left, _product_turned(build, gates, weights[0])))
        return _Adjoints(_joined(build, [z, r, h]), [gates, product], [state], [bias])


class _Layer:
    """A recurrent layer, in the element type in which it computes."""

    def __init__(self, node: Recurrent, operands: Sequence[SSAValue], cell: _Cell, build: Build):
        self.cell, self.build = cell, build
        operator, result = cell.operator, node.results[0].type
        self.states, rows, self.batch, self.hidden = shape_of(result)
        self.steps, self.backwards = rows - 1, bool(node.call.get("reverse"))
        self.element = compute_type(element_of(result))
        fixed = 3 + (operator.ROWS > 0)
        self.x, whole, self.initial, *rest = (self.wide(v) for v in operands[:fixed])
        self.weights = self._parts(whole)
        self.rows = [self._spread(_at(build, r, i)) for r in rest for i in range(operator.ROWS)]
        """The parameters [B, H]."""
        self.mask = operands[fixed] if len(operands) > fixed else None
        """Which steps are taken, [T, B]."""
        self.state = with_shape(self.element, [self.batch, self.hidden])

    def wide(self, value: SSAValue) -> SSAValue:
        return convert(self.build, value, self.element)

    def _parts(self, weights: SSAValue) -> list[SSAValue]:
        sizes = [n * self.hidden for n in self.cell.parts()]
        if len(sizes) == 1:
            return [weights]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [_slice(self.build, weights, 1, a, n) for a, n in zip(starts, sizes, strict=True)]

    def _spread(self, row: SSAValue) -> SSAValue:
        one = self.build.reshape(row, [1, self.hidden])
        return self.build.broadcast(one, [self.batch, self.hidden])

    def before(self, result: SSAValue) -> list[SSAValue]:
        """Returns the states before each step, [T, B, H]."""
        whole = self.wide(result)
        states = (_at(self.build, whole, s) for s in range(self.states))
        return [_slice(self.build, v, 0, int(self.backwards), self.steps) for v in states]

    def in_time(self, rows: SSAValue, flipped: bool) -> SSAValue:
        """Returns the rows of all steps in the order of time, which may be the opposite one."""
        if not flipped:
            return rows
        return _slice(self.build, rows, 0, self.steps - 1, self.steps, stride=-1)

    def taken(self, inner: BodyBuilder, now: SSAValue, mask: SSAValue) -> SSAValue:
        """Returns which elements of the states change in a step, [B, H]."""
        column = inner.reshape(inner.row(mask, now), [self.batch, 1])
        return inner.broadcast(column, [self.batch, self.hidden])


def _flipped(build: Build, step: SSAValue, steps: int) -> SSAValue:
    """Returns the number of a step that is counted from the last one on."""
    return build(SubOp, build.splat(steps - 1, STEP), step)


def _adjoint(
    cell: _Cell, node: Recurrent, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    layer = _Layer(node, node.operands, cell, build)
    before = layer.before(node.results[0])
    fed = cell.fed(build, layer.x, layer.weights, before[0])
    loop, places = _reversed(layer, seed, fed, before)
    build.append(loop)
    rows = loop.stacked
    input_, *products = (layer.in_time(rows[i], not layer.backwards) for i in places)
    found = {0: input_, 2: _stack(build, loop.values[: layer.states])}
    if 1 in wanted:
        lefts = cell.multiplied(build, fed, before[0])
        pairs = list(zip(lefts, products, strict=True))
        weights = [
            build(MatMulOp, *(_flat(build, v) for v in p), transpose_lhs=True) for p in pairs
        ]
        found[1] = weights[0] if len(weights) == 1 else _joined(build, weights)
    if 3 in wanted:
        of_rows = rows[len(set(places)) :]
        found[3] = _stack(build, [build(ReduceSumOp, r, axes=[0, 1]) for r in of_rows])
    return {
        i: convert(build, v, element_of(node.operands[i].type))
        for i, v in found.items()
        if i in wanted
    }


def _flat(build: Build, value: SSAValue) -> SSAValue:
    """Returns [T, B, ...] with steps and batch in one dimension."""
    steps, batch, *rest = shape_of(value.type)
    return build.reshape(value, [steps * batch, *rest])


def _reversed(
    layer: _Layer, seed: SSAValue, fed: Sequence[SSAValue], before: Sequence[SSAValue]
) -> tuple[LoopOp, Sequence[int]]:
    """
    Returns a loop from the last step to the first one, which carries the adjoints of states. It
    stacks the adjoints of the input, of the products, and of the parameters; values that are the
    same only once. The numbers are those of the stacks of the input and of each product.
    """
    build, cell = layer.build, layer.cell
    seeds = [_at(build, layer.wide(seed), s) for s in range(layer.states)]
    end = 0 if layer.backwards else layer.steps
    starts = [_at(build, s, end) for s in seeds]
    inner = BodyBuilder([STEP, *(v.type for v in starts)])
    step, *after = inner.block.args
    now = step if layer.backwards else _flipped(inner, step, layer.steps)
    changed, stays = list(after), [None for _ in after]
    if layer.mask is not None:
        taken, zero = layer.taken(inner, now, inner.read(layer.mask)), inner.splat(0.0, layer.state)
        changed = [inner(SelectOp, taken, a, zero) for a in after]
        stays = [inner(SelectOp, taken, zero, a) for a in after]
    read = [inner.row(inner.read(v), now) for v in (*fed, *before)]
    arguments = cell.arguments(
        inner, read[: len(fed)], read[len(fed) :], [inner.read(r) for r in layer.rows]
    )
    weights = [inner.read(w) for w in layer.weights]
    given = cell.pulled(inner, arguments, weights, changed)
    row = inner(AddOp, now, inner.splat(1, STEP)) if layer.backwards else now
    carried: list[SSAValue] = []
    for last, kept, s in zip(given.last, stays, seeds, strict=True):
        total = last if kept is None else inner(AddOp, last, kept)
        carried.append(inner(AddOp, total, inner.row(inner.read(s), row)))
    of_steps = [given.input, *given.products]
    stacks = list(dict.fromkeys(of_steps))
    region = inner.finish([*carried, *stacks, *given.rows])
    loop = LoopOp(layer.steps, starts, list(inner.reads.values()), region)
    return loop, [stacks.index(v) for v in of_steps]


def _unrolled(layer: _Layer) -> SSAValue:
    """Returns the states of a layer from a loop of ordinary nodes."""
    build, cell = layer.build, layer.cell
    starts = [_at(build, layer.initial, s) for s in range(layer.states)]
    inner = BodyBuilder([STEP, *(v.type for v in starts)])
    step, *last = inner.block.args
    now = _flipped(inner, step, layer.steps) if layer.backwards else step
    x, *weights = (inner.read(v) for v in (layer.x, *layer.weights))
    rows = [inner.read(r) for r in layer.rows]
    fed = cell.fed(inner, inner.row(x, now), weights, last[0])
    states = _computed(cell.exprs(), cell.arguments(inner, fed, last, rows), inner)
    if layer.mask is not None:
        taken = layer.taken(inner, now, inner.read(layer.mask))
        states = [inner(SelectOp, taken, *p) for p in zip(states, last, strict=True)]
    region = inner.finish([*states, *states])
    loop = LoopOp(layer.steps, starts, list(inner.reads.values()), region)
    build.append(loop)
    found: list[SSAValue] = []
    for start, stack in zip(starts, loop.stacked, strict=True):
        first = build.reshape(start, [1, layer.batch, layer.hidden])
        later = layer.in_time(stack, layer.backwards)
        found.append(
            build(ConcatOp, *((later, first) if layer.backwards else (first, later)), axis=0)
        )
    return _stack(build, found)


def _tangent(
    cell: _Cell, node: Recurrent, tangents: Mapping[int, SSAValue], build: Build
) -> SSAValue | None:
    """Returns the tangents of all states, which are those of the loop that the layer is."""
    values = [*node.operands, *tangents.values()]
    whole = BodyBuilder([v.type for v in values])
    arguments = whole.block.args
    count = len(node.operands)
    layer = _Layer(node, arguments[:count], cell, whole)
    states = convert(whole, _unrolled(layer), element_of(node.results[0].type))
    given = {Parameter("?", arguments[i]): arguments[count + k] for k, i in enumerate(tangents)}
    found = directional(whole.block, given, whole).get(states)
    if found is None:
        return None
    region = whole.finish([found])
    return copied(build, region.block, values)[0]


_CELLS: Mapping[type[Recurrent], type[_Cell]] = {LstmOp: _Lstm, GruOp: _Gru, RnnOp: _Rnn}


@adjoint(Recurrent)
def recurrent(
    node: Recurrent, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    return _adjoint(_CELLS[type(node)](node.call), node, seed, wanted, build)


@tangent(Recurrent)
def recurrent_tangent(
    node: Recurrent, tangents: Mapping[int, SSAValue], build: Build
) -> SSAValue | None:
    return _tangent(_CELLS[type(node)](node.call), node, tangents, build)
