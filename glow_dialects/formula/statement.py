"""
Statements: the meaning of a formula for operands of certain types.

A statement has a stage for each equation, those of intermediate values first. A stage computes a
term for each point of its loops. Terms are trees of constants, values of loop variables, reads,
scalar primitives and reductions; everything that consumes formulas works on them: the evaluator in
numpy, the default kernel, counts of work, and rules about dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from math import prod
from typing import TypeAlias

from xdsl.ir import Attribute

from ...lazy import lazy_property
from ..extents import Extent
from ..scalar import Primitive


class NumberKind(StrEnum):
    """
    The type of a term that no operand determines: it adapts to the terms that it is combined with.
    """

    INTEGER = "integer"
    """Indices and whole numbers."""
    REAL = "real"
    """Other numbers; they compute in f64."""


Type: TypeAlias = "NumberKind | Attribute"
"""A kind, or the element type in which a term computes."""


class IndexOp(StrEnum):
    """Operations on indices beyond the scalar primitives."""

    FLOOR_DIV = "//"
    MODULO = "%"


@dataclass(eq=False)
class Loop:
    """An index that runs from 0 to `size - 1`. Identity is equality."""

    name: str
    size: int
    """Negative while it is not known, which is only so until the formula is bound."""

    def set_size(self, size: int) -> None:
        self.size = size

    def __repr__(self) -> str:
        return f"{self.name}:{self.size}"


@dataclass(frozen=True, eq=False)
class _Node:
    type: Type
    at: int
    """The place in the text."""

    @property
    def parts(self) -> tuple[Term, ...]:
        return ()

    @lazy_property
    def loops(self) -> frozenset[Loop]:
        """The loops on which its value depends."""
        return frozenset().union(*(p.loops for p in self.parts))


@dataclass(frozen=True, eq=False)
class Constant(_Node):
    value: int | float


@dataclass(frozen=True, eq=False)
class LoopValue(_Node):
    loop: Loop

    @lazy_property
    def loops(self) -> frozenset[Loop]:
        return frozenset((self.loop,))


@dataclass(frozen=True, eq=False)
class Read(_Node):
    """An element of an operand, or of the value of a stage."""

    source: int | Stage
    shape: tuple[int, ...]
    """The shape of the source."""
    indices: tuple[Term, ...]
    outside: Term | None = None
    """The value beyond the bounds; without it, no index is ever out of bounds."""

    @property
    def parts(self) -> tuple[Term, ...]:
        return self.indices if self.outside is None else (*self.indices, self.outside)


@dataclass(frozen=True, eq=False)
class Apply(_Node):
    kind: Primitive | IndexOp
    arguments: tuple[Term, ...]

    @property
    def parts(self) -> tuple[Term, ...]:
        return self.arguments


@dataclass(frozen=True, eq=False)
class Convert(_Node):
    """A term in the type of this node, as by a C cast; an index from a float is its floor."""

    operand: Term

    @property
    def parts(self) -> tuple[Term, ...]:
        return (self.operand,)


@dataclass(frozen=True, eq=False)
class Reduce(_Node):
    combine: Primitive
    """`ADD`, `MUL`, `MAXIMUM` or `MINIMUM`."""
    over: tuple[Loop, ...]
    body: Term

    @property
    def parts(self) -> tuple[Term, ...]:
        return (self.body,)

    @lazy_property
    def loops(self) -> frozenset[Loop]:
        return self.body.loops - frozenset(self.over)


Term: TypeAlias = Constant | LoopValue | Read | Apply | Convert | Reduce


@dataclass(frozen=True, eq=False)
class Stage:
    """`name[places] = value` for all points of the loops."""

    name: str
    places: tuple[Loop | None, ...]
    """The loop of each dimension; None for one of size 1."""
    value: Term

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(p for p in self.places if p is not None)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(1 if p is None else p.size for p in self.places)


@dataclass(frozen=True, eq=False)
class Statement:
    stages: tuple[Stage, ...]
    """The last one is that of the result."""
    operands: tuple[Attribute, ...]
    """Types of the operands."""
    element: Attribute
    """The element type of the result."""
    text: str
    """The formula."""

    @property
    def result(self) -> Stage:
        return self.stages[-1]

    def terms(self) -> Iterator[Term]:
        for stage in self.stages:
            yield from walk(stage.value)


def walk(term: Term) -> Iterator[Term]:
    """Yields a term and all terms in it."""
    yield term
    for part in term.parts:
        yield from walk(part)


def with_parts(term: Term, change: Callable[[Term], Term]) -> Term:
    """Returns a term with `change` applied to the terms that it consists of."""
    match term:
        case Read():
            indices = tuple(map(change, term.indices))
            outside = None if term.outside is None else change(term.outside)
            return replace(term, indices=indices, outside=outside)
        case Apply():
            return replace(term, arguments=tuple(map(change, term.arguments)))
        case Convert():
            return replace(term, operand=change(term.operand))
        case Reduce():
            return replace(term, body=change(term.body))
        case Constant() | LoopValue():
            return term


def points(loops: tuple[Loop, ...]) -> int:
    return prod(loop.size for loop in loops)


@dataclass(frozen=True)
class Affine:
    """A constant plus multiples of loop variables."""

    terms: dict[Loop, int]
    constant: int = 0


def affine(term: Term) -> Affine | None:
    """Returns an index as an affine form of loop variables; None if it is not one."""
    match term:
        case Constant() if isinstance(term.value, int | Extent):
            return Affine({}, term.value)
        case LoopValue():
            return Affine({term.loop: 1})
        case Convert() if (
            term.type is NumberKind.INTEGER and term.operand.type is NumberKind.INTEGER
        ):
            return affine(term.operand)
        case Apply(kind=Primitive.NEG):
            return _scaled(affine(term.arguments[0]), -1)
        case Apply(kind=Primitive.ADD):
            return _added(affine(term.arguments[0]), affine(term.arguments[1]))
        case Apply(kind=Primitive.SUB):
            return _added(affine(term.arguments[0]), _scaled(affine(term.arguments[1]), -1))
        case Apply(kind=Primitive.MUL):
            a, b = map(affine, term.arguments)
            if a is not None and b is not None and not (a.terms and b.terms):
                return _scaled(a, b.constant) if a.terms else _scaled(b, a.constant)
    return None


def _scaled(a: Affine | None, factor: int) -> Affine | None:
    if a is None:
        return None
    return Affine({k: v * factor for k, v in a.terms.items() if factor}, a.constant * factor)


def _added(a: Affine | None, b: Affine | None) -> Affine | None:
    if a is None or b is None:
        return None
    terms = dict(a.terms)
    for loop, factor in b.terms.items():
        terms[loop] = terms.get(loop, 0) + factor
    return Affine({k: v for k, v in terms.items() if v}, a.constant + b.constant)
