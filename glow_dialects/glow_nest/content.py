"""
The content of an operation of this dialect, apart from its operands: a step of a kernel in which
buffers and outer loop variables take the place of operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from .affine import Access, Affine, Buffer, Dim
from .nest import Listing, Nest, NumberList, RepeatListed, with_accesses

Leaf: TypeAlias = Nest | Listing | RepeatListed
"""A step that accesses memory. The steps inside of `RepeatListed` are left out here."""


@dataclass(frozen=True)
class Content:
    """Operand `i` is buffer `i`; the outer loop variables follow the buffers."""

    step: Leaf
    buffers: tuple[Buffer, ...]
    outer: tuple[Dim, ...]

    @staticmethod
    def of(step: Leaf) -> Content:
        accesses = list(accesses_of(step))
        buffers = dict.fromkeys(a.buffer for a in accesses)
        outer = dict.fromkeys(outer_loops(step))
        if isinstance(step, RepeatListed) and step.part is not None:
            outer[step.part] = None
        return Content(step, tuple(buffers), tuple(outer))

    def on(self, buffers: Sequence[Buffer], outer: Sequence[Dim]) -> Content:
        """Returns the same on other buffers and outer loop variables."""
        if all(a is b for a, b in zip((*self.buffers, *self.outer), (*buffers, *outer))):
            return self
        change: Mapping[Dim, Dim] = dict(zip(self.outer, outer, strict=True))
        moved: Mapping[Buffer, Buffer] = dict(zip(self.buffers, buffers, strict=True))
        step = with_operands(self.step, moved, change)
        return Content(step, tuple(buffers), tuple(outer))


def own_loops(step: Leaf) -> tuple[Dim, ...]:
    """Returns the loop variables that a step has itself, whose names are unique in it."""
    match step:
        case Nest():
            return (*step.parallel, *step.reduced)
        case _:
            return (step.numbers.dim,)


def outer_loops(step: Leaf) -> tuple[Dim, ...]:
    """Returns the loop variables of other operations that the accesses of a step have."""
    own = own_loops(step)
    return tuple(dict.fromkeys(d for a in accesses_of(step) for d in a.place.terms if d not in own))


def accesses_of(step: Leaf) -> Iterator[Access]:
    """Yields all accesses, those that hold indices included."""
    match step:
        case Nest():
            direct: Iterable[Access] = (*step.accesses(), *_bounds(step))
        case Listing():
            direct = (step.source, step.numbers.place, step.numbers.count)
        case RepeatListed():
            direct = (step.numbers.place, step.numbers.count)
    for access in direct:
        yield access
        yield from access.indices


def with_operands(step: Leaf, buffers: Mapping[Buffer, Buffer], dims: Mapping[Dim, Dim]) -> Leaf:
    """Returns the step on other buffers and loop variables."""
    known: dict[Access, Access] = {}

    def one(access: Access) -> Access:
        if access not in known:
            indirect = access.indirect
            if indirect is not None:
                indirect = replace(indirect, access=one(indirect.access))
            terms = {dims.get(d, d): s for d, s in access.place.terms.items()}
            place = Affine(terms, access.place.constant)
            known[access] = replace(
                access, buffer=buffers[access.buffer], place=place, indirect=indirect
            )
        return known[access]

    match step:
        case Nest():
            return with_accesses(step, one)
        case Listing():
            return Listing(_moved(step.numbers, one), one(step.source))
        case RepeatListed():
            part = step.part and dims.get(step.part, step.part)
            return RepeatListed(step.dims, _moved(step.numbers, one), step.after, part, step.steps)


def _bounds(nest: Nest) -> tuple[Access, ...]:
    return () if nest.range is None else (nest.range.first, nest.range.end)


def with_unique_names(nest: Nest) -> tuple[Nest, Mapping[Dim, Dim]]:
    """Returns the nest where each loop has a name of its own, and the loops that were renamed."""
    taken: set[str] = set()
    change: dict[Dim, Dim] = {}
    for dim in own_loops(nest):
        name, number = dim.name, 2
        while name in taken:
            name, number = f"{dim.name}_{number}", number + 1
        taken.add(name)
        if name != dim.name:
            change[dim] = replace(dim, name=name)
    if not change:
        return nest, change
    buffers = {a.buffer: a.buffer for a in accesses_of(nest)}
    renamed = with_operands(nest, buffers, change)
    assert isinstance(renamed, Nest)
    parallel, reduced = (
        tuple(change.get(d, d) for d in dims) for dims in (nest.parallel, nest.reduced)
    )
    ranged = renamed.range
    if ranged is not None:
        ranged = replace(ranged, dim=change.get(ranged.dim, ranged.dim))
    return replace(renamed, parallel=parallel, reduced=reduced, range=ranged), change


def _moved(of: NumberList, one: Callable[[Access], Access]) -> NumberList:
    return NumberList(of.dim, one(of.place), one(of.count))
