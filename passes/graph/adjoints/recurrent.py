"""
Adjoints and tangents of recurrent layers.

The adjoint goes through the steps of time in the opposite order (Werbos 1990, "Backpropagation
through time"). The layer keeps what depends on products in each step, so the backward pass has no
product of the forward pass. The adjoints of weights are products for all steps together, and each
step has one small product, with the adjoints of the gates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from xdsl.ir import SSAValue

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.arithmetic import AddOp, SubOp
from ....glow_dialects.glow.control import STEP, LoopOp
from ....glow_dialects.glow.logic import SelectOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.recurrent import Recurrent
from ....glow_dialects.glow.reduction import ReduceSumOp
from ....glow_dialects.glow.shape import ConcatOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ..lowerings.precision import convert
from ..rewriting import Build
from .control import BodyBuilder, copied
from .propagation import Parameter, directional
from .recurrent_cells import CELLS, Cell, computed, joined, part_at, slice_of, stacked
from .registry import adjoint, tangent


class _Layer:
    """A recurrent layer, in the element type in which it computes."""

    def __init__(self, node: Recurrent, operands: Sequence[SSAValue], cell: Cell, build: Build):
        self.cell, self.build = cell, build
        operator, result = cell.operator, node.results[0].type
        self.states = operator.STATES
        self.parts, rows, self.batch, self.hidden = shape_of(result)
        self.steps, self.backwards = rows - 1, bool(node.call.get("reverse"))
        self.element = compute_type(element_of(result))
        fixed = 3 + (operator.ROWS > 0)
        self.x, whole, self.initial, *rest = (self.wide(v) for v in operands[:fixed])
        self.weights = self._parts(whole)
        self.rows = [self._spread(part_at(build, r, i)) for r in rest for i in range(operator.ROWS)]
        """The parameters [B, H]."""
        self.mask = operands[fixed] if len(operands) > fixed else None
        """Which steps are taken, [T, B]."""
        self.state = with_shape(self.element, [self.batch, self.hidden])

    def wide(self, value: SSAValue) -> SSAValue:
        return convert(self.build, value, self.element)

    def _parts(self, weights: SSAValue) -> list[SSAValue]:
        sizes = self.cell.operator.columns(self.hidden)
        if len(sizes) == 1:
            return [weights]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [slice_of(self.build, weights, 1, a, n) for a, n in zip(starts, sizes, strict=True)]

    def _spread(self, row: SSAValue) -> SSAValue:
        one = self.build.reshape(row, [1, self.hidden])
        return self.build.broadcast(one, [self.batch, self.hidden])

    def before(self, whole: SSAValue) -> list[SSAValue]:
        """Returns the states before each step, [T, B, H], of all parts of the result."""
        states = (part_at(self.build, whole, s) for s in range(self.states))
        return [slice_of(self.build, v, 0, int(self.backwards), self.steps) for v in states]

    def kept(self, whole: SSAValue) -> list[SSAValue]:
        """Returns what the layer keeps of each step, [T, B, H], of all parts of the result."""
        parts = range(self.states, shape_of(whole.type)[0])
        rows = (part_at(self.build, whole, p) for p in parts)
        return [slice_of(self.build, v, 0, int(not self.backwards), self.steps) for v in rows]

    def in_time(self, rows: SSAValue, flipped: bool) -> SSAValue:
        """Returns the rows of all steps in the order of time, which may be the opposite one."""
        if not flipped:
            return rows
        return slice_of(self.build, rows, 0, self.steps - 1, self.steps, stride=-1)

    def taken(self, inner: BodyBuilder, now: SSAValue, mask: SSAValue) -> SSAValue:
        """Returns which elements of the states change in a step, [B, H]."""
        column = inner.reshape(inner.row(mask, now), [self.batch, 1])
        return inner.broadcast(column, [self.batch, self.hidden])


def _flipped(build: Build, step: SSAValue, steps: int) -> SSAValue:
    """Returns the number of a step that is counted from the last one on."""
    return build(SubOp, build.splat(steps - 1, STEP), step)


def _adjoint(
    cell: Cell, node: Recurrent, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    layer = _Layer(node, node.operands, cell, build)
    # `glow.lstm` that keeps its gates replaces the same layer that does not (`canonicalize`)
    whole = layer.wide(build(type(node), *node.operands, **{**node.properties, "keeps": True}))
    before, fed = layer.before(whole), layer.kept(whole) + cell.direct(build, layer.x)
    loop, places = _reversed(layer, seed, fed, before, 3 in wanted)
    build.append(loop)
    rows = loop.stacked
    input_, *products = (layer.in_time(rows[i], not layer.backwards) for i in places)
    found = {0: input_, 2: stacked(build, loop.values[: layer.states])}
    if 1 in wanted:
        lefts = cell.multiplied(build, fed, before[0])
        pairs = list(zip(lefts, products, strict=True))
        weights = [
            build(MatMulOp, *(_flat(build, v) for v in p), transpose_lhs=True) for p in pairs
        ]
        found[1] = weights[0] if len(weights) == 1 else joined(build, weights)
    if 3 in wanted:
        of_rows = rows[len(set(places)) :]
        found[3] = stacked(build, [build(ReduceSumOp, r, axes=[0, 1]) for r in of_rows])
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
    layer: _Layer,
    seed: SSAValue,
    fed: Sequence[SSAValue],
    before: Sequence[SSAValue],
    with_rows: bool,
) -> tuple[LoopOp, Sequence[int]]:
    """
    Returns a loop from the last step to the first one, which carries the adjoints of states. It
    stacks the adjoints of the input, of the products, and `with_rows` those of the parameters;
    values that are the same only once. The numbers are those of the stacks of the input and of each
    product.
    """
    build, cell = layer.build, layer.cell
    parts = [part_at(build, layer.wide(seed), p) for p in range(layer.parts)]
    seeds, of_kept = parts[: layer.states], parts[layer.states :]
    end = 0 if layer.backwards else layer.steps
    starts = [part_at(build, s, end) for s in seeds]
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
    later = inner(AddOp, now, inner.splat(1, STEP))
    row, after_row = (later, now) if layer.backwards else (now, later)
    changed += [inner.row(inner.read(v), after_row) for v in of_kept]
    given = cell.pulled(inner, arguments, weights, changed)
    carried: list[SSAValue] = []
    for last, kept, s in zip(given.last, stays, seeds, strict=True):
        total = last if kept is None else inner(AddOp, last, kept)
        carried.append(inner(AddOp, total, inner.row(inner.read(s), row)))
    of_steps = [given.input, *given.products]
    stacks = list(dict.fromkeys(of_steps))
    region = inner.finish([*carried, *stacks, *(given.rows if with_rows else ())])
    loop = LoopOp(layer.steps, starts, list(inner.reads.values()), region)
    return loop, [stacks.index(v) for v in of_steps]


def _unrolled(layer: _Layer) -> SSAValue:
    """Returns the states of a layer from a loop of ordinary nodes."""
    build, cell = layer.build, layer.cell
    starts = [part_at(build, layer.initial, s) for s in range(layer.states)]
    inner = BodyBuilder([STEP, *(v.type for v in starts)])
    step, *last = inner.block.args
    now = _flipped(inner, step, layer.steps) if layer.backwards else step
    x, *weights = (inner.read(v) for v in (layer.x, *layer.weights))
    rows = [inner.read(r) for r in layer.rows]
    row = inner.row(x, now)
    fed = cell.products(inner, row, weights, last[0]) + cell.direct(inner, row)
    parts = computed(cell.exprs(), cell.arguments(inner, fed, last, rows), inner)
    if layer.mask is not None:
        taken = layer.taken(inner, now, inner.read(layer.mask))
        for s, old in enumerate(last):
            parts[s] = inner(SelectOp, taken, parts[s], old)
    region = inner.finish([*parts[: layer.states], *parts])
    loop = LoopOp(layer.steps, starts, list(inner.reads.values()), region)
    build.append(loop)
    found: list[SSAValue] = []
    starts += [build.splat(0.0, layer.state)] * (layer.parts - layer.states)
    for start, stack in zip(starts, loop.stacked, strict=True):
        first = build.reshape(start, [1, layer.batch, layer.hidden])
        later = layer.in_time(stack, layer.backwards)
        found.append(
            build(ConcatOp, *((later, first) if layer.backwards else (first, later)), axis=0)
        )
    return stacked(build, found)


def _tangent(
    cell: Cell, node: Recurrent, tangents: Mapping[int, SSAValue], build: Build
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


@adjoint(Recurrent)
def recurrent(
    node: Recurrent, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    return _adjoint(CELLS[type(node)](node.call), node, seed, wanted, build)


@tangent(Recurrent)
def recurrent_tangent(
    node: Recurrent, tangents: Mapping[int, SSAValue], build: Build
) -> SSAValue | None:
    return _tangent(CELLS[type(node)](node.call), node, tangents, build)
