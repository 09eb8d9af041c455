"""
Adjoints and tangents of operators that are stated as a formula.

The derivative of a formula is made of formulas, which are nodes `glow.generic`: one for each value
that an equation reads. In the reverse mode, the adjoint of what is read at `x[i * 2 + k]` is
gathered at the points that read an element where the access can be turned around, and scattered to
the elements where indices are computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import compute_type
from ....glow_dialects.formula import typing
from ....glow_dialects.formula.indices import operand_names
from ....glow_dialects.formula.parser import parse
from ....glow_dialects.formula.statement import (
    Apply,
    Constant,
    Convert,
    IndexOp,
    Loop,
    LoopValue,
    NumberKind,
    Read,
    Reduce,
    Stage,
    Term,
)
from ....glow_dialects.glow.generic import GenericOp
from ....glow_dialects.glow.indexing import ScatterOp
from ....glow_dialects.glow.structured import Structured
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ....glow_dialects.scalar import Primitive
from ..rewriting import Build
from .inversion import (
    Inverse,
    all_of,
    integer,
    inverted,
    loop_value,
    split_loops,
    within,
)
from .registry import adjoint, tangent
from .stages import Partial, compares_stages, indices_of, partials, simple_stages
from .terms import TermAlgebra, Text, substituted

_ALGEBRA = TermAlgebra()
_HARMLESS = (Primitive.MUL, Primitive.ADD, Primitive.SUB, Primitive.NEG)
"""Operations that are finite where what they compute with is."""


class _Values:
    """Graph values of the operands and stages of a node, made when they are needed."""

    def __init__(self, node: Structured, stages: Sequence[Stage], build: Build):
        self._node = node
        self._build = build
        self._known: dict[int | Stage, SSAValue] = dict(enumerate(node.operands))
        result = node.results[0]
        kept = compute_type(element_of(result.type)) == element_of(result.type)
        # a maximum is compared with what is computed again of its terms, whose roundings may differ
        if kept and not compares_stages(stages[-1]):
            self._known[stages[-1]] = result
        self._names: dict[int | Stage, str] = {}

    def of(self, source: int | Stage) -> SSAValue:
        if source not in self._known:
            assert isinstance(source, Stage)
            self._known[source] = self.computed(source.places, source.value, self.element(source))
        return self._known[source]

    def element(self, stage: Stage) -> Attribute:
        """Returns the element type in which a stage's value is kept."""
        t = stage.value.type
        if t is NumberKind.INTEGER:
            return i64
        return compute_type(
            t if isinstance(t, Attribute) else element_of(self._node.results[0].type)
        )

    def placeholder(self, value: SSAValue, like: Stage) -> Read:
        """Returns the element of a graph value at the point of a stage's loops."""
        t = compute_type(element_of(value.type))
        source = Stage(f"d{len(self._known)}", like.places, Constant(t, 0, 0))
        self._known[source] = value
        return Read(t, 0, source, like.shape, indices_of(like))

    def computed(self, places: Sequence[Loop | None], term: Term, element: Attribute) -> SSAValue:
        """Returns the value of a formula for all points of the loops `places`."""
        text = Text(self._name).formula(places, term)
        sources = {name: source for source, name in self._names.items()}
        operands = [self.of(sources[name]) for name in operand_names(parse(text))]
        shape = [1 if p is None else p.size for p in places]
        return self._build(
            GenericOp, *operands, formula=text, result_types=[with_shape(element, shape)]
        )

    def _name(self, source: int | Stage) -> str:
        letter = "x" if isinstance(source, int) else "s"
        return self._names.setdefault(source, f"{letter}{len(self._names)}")


def _times(seed: Term, factor: Term | None) -> Term:
    if factor is None:
        return seed
    if factor.type != seed.type and isinstance(seed.type, Attribute):
        factor = typing.converted(factor, seed.type, 0)
    return _ALGEBRA.apply(Primitive.MUL, [seed, factor])


def _dependent(stages: Sequence[Stage], wanted: AbstractSet[int]) -> set[int | Stage]:
    """Returns the operands `wanted` and the stages that read them."""
    found: set[int | Stage] = set(wanted)
    for stage in stages:
        if any(partials(stage, found)):
            found.add(stage)
    return found


@adjoint(Structured)
def structured_adjoint(
    node: Structured, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    stages = simple_stages(node.statement(node.call))
    values = _Values(node, stages, build)
    dependent = _dependent(stages, wanted)
    found: dict[int | Stage, list[SSAValue]] = {stages[-1]: [seed]}
    for stage in reversed(stages):
        if stage not in found or stage not in dependent:
            continue
        total = build.sum(found[stage])
        for partial in partials(stage, dependent):
            element = _element_of(node, partial.read)
            part = _transposed(values, stage, total, partial, element, build)
            found.setdefault(partial.read.source, []).append(part)
    return {i: build.sum(found[i]) for i in wanted if i in found}


def _element_of(node: Structured, read: Read) -> Attribute:
    if isinstance(read.source, int):
        return element_of(node.operands[read.source].type)
    assert isinstance(read.type, Attribute)
    return compute_type(read.type)


def _transposed(
    values: _Values,
    stage: Stage,
    seed: SSAValue,
    partial: Partial,
    element: Attribute,
    build: Build,
) -> SSAValue:
    """Returns what the adjoint `seed` of a stage adds to the adjoint of what it reads."""
    read, loops = partial.read, [*stage.loops, *partial.over]
    body = _times(values.placeholder(seed, stage), partial.factor)
    indices = read.indices
    for loop, n in split_loops(indices).items():
        high, low = Loop(f"{loop.name}h", loop.size // n), Loop(f"{loop.name}l", n)
        loops = [x for y in loops for x in ((high, low) if y is loop else (y,))]
        body = _split(body, loop, high, low)
        indices = tuple(_split(i, loop, high, low) for i in indices)
    inverse = inverted(indices, read.shape, loops)
    if inverse is None:
        return _scattered(values, read, indices, loops, body, element, build)
    if partial.factor is None and _is_identity(inverse, stage, partial) and _has(seed, element):
        return seed
    return _gathered(values, stage, inverse, body, partial.factor, element)


def _has(value: SSAValue, element: Attribute) -> bool:
    return element_of(value.type) == element


def _split(term: Term, loop: Loop, high: Loop, low: Loop) -> Term:
    """Returns a term with the loops `high` and `low` in the place of one."""
    if isinstance(term, Apply) and isinstance(term.kind, IndexOp):
        operand, divisor = term.arguments
        if isinstance(operand, LoopValue) and operand.loop is loop:
            assert isinstance(divisor, Constant)
            if divisor.value == low.size:
                return loop_value(high if term.kind is IndexOp.FLOOR_DIV else low)
    if isinstance(term, LoopValue) and term.loop is loop:
        whole = typing.arithmetic("*", loop_value(high), integer(low.size), 0)
        return typing.arithmetic("+", whole, loop_value(low), 0)
    match term:
        case Read():
            indices = tuple(_split(i, loop, high, low) for i in term.indices)
            return Read(term.type, term.at, term.source, term.shape, indices, term.outside)
        case Apply():
            arguments = tuple(_split(a, loop, high, low) for a in term.arguments)
            return Apply(term.type, term.at, term.kind, arguments)
        case Convert():
            return Convert(term.type, term.at, _split(term.operand, loop, high, low))
        case _:
            return term


def _is_identity(inverse: Inverse, stage: Stage, partial: Partial) -> bool:
    if (
        partial.over
        or inverse.conditions
        or inverse.rest
        or len(stage.places) != len(inverse.places)
    ):
        return False
    for place, loop in zip(inverse.places, stage.places, strict=True):
        if loop is None:
            if place.size != 1:
                return False
            continue
        term = inverse.solved.get(loop)
        if not isinstance(term, LoopValue) or term.loop is not place or place.size != loop.size:
            return False
    return True


def _gathered(
    values: _Values,
    stage: Stage,
    inverse: Inverse,
    body: Term,
    factor: Term | None,
    element: Attribute,
) -> SSAValue:
    conditions = list(inverse.conditions)
    for loop, term in inverse.solved.items():
        # beyond the range of a stage's loop, the seed is read as 0
        if loop not in stage.loops or not _is_harmless(factor):
            conditions += within(term, loop.size)
    body = substituted(body, inverse.solved)
    if conditions:
        zero = Constant(body.type, 0, 0)
        body = _ALGEBRA.apply(Primitive.SELECT, [all_of(conditions), body, zero])
    if inverse.rest:
        body = Reduce(body.type, 0, Primitive.ADD, inverse.rest, body)
    return values.computed(inverse.places, body, element)


def _is_harmless(factor: Term | None) -> bool:
    match factor:
        case None | Read() | Constant():
            return True
        case Apply():
            return factor.kind in _HARMLESS and all(map(_is_harmless, factor.arguments))
        case Convert():
            return _is_harmless(factor.operand)
        case _:
            return False


def _scattered(
    values: _Values,
    read: Read,
    indices: Sequence[Term],
    loops: Sequence[Loop],
    body: Term,
    element: Attribute,
    build: Build,
) -> SSAValue:
    """Returns the sums of a term at the elements that computed indices name."""
    rank = len(indices)
    while rank and _is_whole(indices, rank - 1, read.shape):
        rank -= 1
    rows = [i.loop for i in indices[rank:] if isinstance(i, LoopValue)]
    lead = [x for x in loops if any(x in i.loops for i in indices[:rank])]
    rest = tuple(x for x in loops if x not in lead and x not in rows)
    conditions = [c for i, n in zip(indices, read.shape, strict=True) for c in within(i, n)]
    row = indices[0]
    for index, size in zip(indices[1:rank], read.shape[1:rank], strict=True):
        row = typing.arithmetic("+", typing.arithmetic("*", row, integer(size), 0), index, 0)
    count = prod(read.shape[:rank])
    if conditions:
        zero = Constant(body.type, 0, 0)
        body = _ALGEBRA.apply(Primitive.SELECT, [all_of(conditions), body, zero])
        row = typing.arithmetic("max", integer(0), row, 0)
        row = typing.arithmetic("min", row, integer(count - 1), 0)
    if rest:
        body = Reduce(body.type, 0, Primitive.ADD, rest, body)
    width = prod(x.size for x in rows)
    updates = values.computed([*(lead or [None]), *rows], body, element)
    numbers = values.computed(lead or [None], Convert(i64, 0, row), i64)
    numbers = build.reshape(numbers, [prod(shape_of(numbers.type))])
    updates = build.reshape(updates, [*shape_of(numbers.type), width])
    zeros = build.splat(0.0, with_shape(element, [count, width]))
    total = build(ScatterOp, zeros, numbers, updates, reduction="add")
    return build.reshape(total, read.shape)


def _is_whole(indices: Sequence[Term], d: int, shape: Sequence[int]) -> bool:
    """Returns whether a loop of its own goes through a whole dimension."""
    index = indices[d]
    if not isinstance(index, LoopValue) or index.loop.size != shape[d]:
        return False
    return not any(index.loop in other.loops for i, other in enumerate(indices) if i != d)


@tangent(Structured)
def structured_tangent(
    node: Structured, tangents: Mapping[int, SSAValue], build: Build
) -> SSAValue | None:
    stages = simple_stages(node.statement(node.call))
    values = _Values(node, stages, build)
    found: dict[int | Stage, SSAValue] = {**tangents}
    for stage in stages:
        parts = [_pushed(values, found, p) for p in partials(stage, found.keys())]
        if not parts:
            continue
        total = parts[0]
        for part in parts[1:]:
            total = _ALGEBRA.apply(Primitive.ADD, [total, part])
        last = stage is stages[-1]
        element = element_of(node.results[0].type) if last else values.element(stage)
        found[stage] = values.computed(stage.places, total, element)
    return found.get(stages[-1])


def _pushed(values: _Values, found: Mapping[int | Stage, SSAValue], partial: Partial) -> Term:
    """Returns what the tangent of what a stage reads adds to that of the stage."""
    read = partial.read
    source = found[read.source]
    like = Stage("", tuple(Loop(f"p{d}", n) for d, n in enumerate(read.shape)), read)
    seed = values.placeholder(source, like)
    outside = None if read.outside is None else Constant(seed.type, 0, 0)
    term: Term = Read(seed.type, 0, seed.source, read.shape, read.indices, outside)
    term = _times(term, partial.factor)
    if partial.over:
        return Reduce(term.type, 0, Primitive.ADD, partial.over, term)
    return term
