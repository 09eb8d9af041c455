"""
Perfect loop nests: the computation of a kernel before its schedule.

A nest visits every point of its parallel dimensions. At each point it may reduce: combine a value
for every point of the reduction dimensions, starting from an identity. Then its body computes, from
the result of the reduction and further operands, the elements to write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import prod

from xdsl.ir import Attribute

from ..elements import element_bytes, highest, lowest
from ..scalar import Number, in_order_of_creation
from .affine import Access, Affine, Dim, TableRows
from .body import Body


class Combine(StrEnum):
    """Associative and commutative operations that a reduction may use."""

    ADD = "add"
    MUL = "mul"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    LARGEST_NUMBER = "largest number"
    """The maximum, but NaN does not count."""


def identity(combine: Combine, element: Attribute) -> Number:
    """Returns the neutral element of a combination."""
    match combine:
        case Combine.ADD:
            return 0
        case Combine.MUL:
            return 1
        case Combine.MAXIMUM | Combine.LARGEST_NUMBER:
            return lowest(element)
        case Combine.MINIMUM:
            return highest(element)


@dataclass(frozen=True)
class Reduction:
    """
    `acc = combine(acc, map(*reads))` over the reduction dimensions.

    Without `map` the single read is the value, and two reads are multiplied. A map of several
    values has an accumulator for each.
    """

    combine: Combine
    element: Attribute
    reads: tuple[Access, ...]
    map: Body | None = None
    """Computes the values to combine from the reads."""
    terms: int = 1
    """
    The number of neighbours of each of two narrow reads that make a step, which adds all their
    products. The first read is that of the factor that may be unsigned.
    """
    fields: tuple[int, ...] = ()
    """
    The places of the neighbours of the first read, in elements from the first of them, if they are
    not next to each other. Those beyond the last count as zeros.
    """
    adds_operand: bool = False
    """Whether the body adds the first operand to the result before all else, and such sums are
    exact, so that the reduction may as well start with that operand, and the body add zero."""

    @property
    def is_product(self) -> bool:
        return self.map is None and len(self.reads) == 2

    @property
    def values(self) -> int:
        """The number of values that are combined, each with its own kind."""
        return 1 if self.map is None else len(self.map.results)

    def read_by(self, value: int) -> Sequence[Access]:
        """Returns the reads that a value depends on."""
        if self.map is None:
            return self.reads
        needed = in_order_of_creation((self.map.results[value],))
        return [self.reads[e.index] for e in needed if e.index is not None]


@dataclass(frozen=True)
class Range:
    """
    The values of a reduction loop that count: those from one number in memory on, and before
    another. Numbers below 0 count as 0, and those beyond the size of the loop as its size.
    """

    dim: Dim
    first: Access
    end: Access


@dataclass(frozen=True)
class Nest:
    """A perfect loop nest."""

    parallel: tuple[Dim, ...]
    writes: tuple[Access, ...]
    body: Body
    """
    The body, from the reduction's results, if there are any, and the operands, to the elements to
    write.
    """
    operands: tuple[Access, ...] = ()
    reduction: Reduction | None = None
    reduced: tuple[Dim, ...] = ()
    in_place: bool = False
    """Whether a write may go to memory that `operands` read: then no point is visited twice."""
    range: Range | None = None
    """The bounds of a reduction loop that are known at run time only."""
    raw: bool = False
    """Whether elements are only moved, so that they stay in the type that memory holds."""

    @property
    def reduced_reads(self) -> tuple[Access, ...]:
        """The accesses that the reduction reads."""
        return () if self.reduction is None else self.reduction.reads

    def accesses(self, prefetched: Sequence[Access] = ()) -> list[Access]:
        """Returns all accesses, in order, with those that the reduction prefetches in each step."""
        return [*self.reduced_reads, *prefetched, *self.operands, *self.writes]

    def index_accesses(self, prefetched: Sequence[Access] = ()) -> list[Access]:
        """Returns the accesses of numbers on which places of others, or bounds, depend."""
        bounds = () if self.range is None else (self.range.first, self.range.end)
        direct = self.accesses(prefetched)
        return [i for a in (*direct, *bounds) for i in a.indices] + list(bounds)

    @property
    def tabled(self) -> frozenset[Dim]:
        """Reduction loops with tables of places, of which each step needs code of its own."""
        accesses = self.accesses()
        return frozenset(
            d for d in self.reduced if any(isinstance(a.stride(d), tuple) for a in accesses)
        )

    def lists_rows(self, dim: Dim) -> bool:
        """
        Returns whether all places that tables list along a parallel loop lie in rows, and no term
        of the reduction is at one of them.
        """
        terms = () if self.reduction is None else self.reduction.reads
        tables = [a.stride(dim) for a in (*terms, *self.operands, *self.writes)]
        if any(isinstance(table, tuple) for table in tables[: len(terms)]):
            return False
        return all(isinstance(t, int) or TableRows.of(t) is not None for t in tables)

    @property
    def visited(self) -> int:
        """The number of points of the parallel loops, times that of the steps of a reduction."""
        return prod(d.size for d in (*self.parallel, *self.reduced))

    @property
    def weight(self) -> int:
        """About how many operations are emitted for a point; a heavy nest is not unrolled."""
        each = self.reduction.map if self.reduction is not None else None
        return self.body.weight + (each.weight if each is not None else 0)

    def touched_bytes(self, access: Access) -> int:
        """Returns about how much an access touches in all, if it does not touch any twice."""
        strides = {d: access.stride(d) for d in (*self.parallel, *self.reduced)}
        ends = ((d.size - 1) * s if isinstance(s, int) else max(s) for d, s in strides.items())
        used = prod(d.size for d, s in strides.items() if s)
        return min(1 + sum(ends), used) * element_bytes(access.element)

    @property
    def given(self) -> list[Attribute]:
        """The elements that the body gets: the results of the reduction, and the operands."""
        of = self.reduction
        results = [] if of is None else [of.element] * of.values
        return [*results, *(a.element for a in self.operands)]

    @property
    def is_limited(self) -> bool:
        """Whether a loop has a limit that is known at run time only."""
        return any(d.limit is not None for d in (*self.parallel, *self.reduced))

    @property
    def keeps_sums(self) -> bool:
        """
        Whether sums of a part of the reduction can wait where it writes: nothing else is there, and
        no point is visited twice.
        """
        return self._writes_like_sums and not self.in_place and not self.is_limited

    @property
    def writes_sums(self) -> bool:
        """Whether it writes only what it reduces, in the type of the reduction."""
        return self._writes_like_sums and self.raw and not self.operands

    @property
    def _writes_like_sums(self) -> bool:
        """Whether it writes one value, in the type of the reduction."""
        of = self.reduction
        return of is not None and [w.element for w in self.writes] == [of.element]

    @property
    def is_empty(self) -> bool:
        return any(d.size == 0 for d in self.parallel)


@dataclass(frozen=True, eq=False)
class Repeat:
    """
    Runs steps for each value of a loop variable, which their accesses may use. Identity is
    equality.
    """

    dim: Dim
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class NumberList:
    """Some values of a loop variable, in ascending order, in memory."""

    dim: Dim
    place: Access
    """The place of these values, from the place where `dim` is 0."""
    count: Access
    """The place of their number."""


@dataclass(frozen=True, eq=False)
class Listing:
    """Lists for which values of a loop variable an element of `source` is not zero; NaN is not."""

    numbers: NumberList
    source: Access

    @property
    def touched(self) -> Nest:
        """Its own accesses, as a nest that accesses the same memory."""
        to = self.numbers
        return Nest((to.dim,), (to.place, to.count), _NOTHING, (self.source,))


@dataclass(frozen=True, eq=False)
class RepeatListed:
    """
    Runs steps for the numbers of a list, as many at a time as there are loop variables, whose
    values are neighbours in the list.
    """

    dims: tuple[Dim, ...]
    numbers: NumberList
    after: int = 0
    """If not 0, the steps run only for the numbers after the last complete group of that size."""
    part: Dim | None = None
    """The loop variable around this that tells which part of the list to run over, if not all."""
    steps: list[Step] = field(default_factory=list)

    @property
    def touched(self) -> Nest:
        """Its own accesses without those of its steps, as a nest that accesses the same memory."""
        of = self.numbers
        return Nest((of.dim,), (), _NOTHING, (of.place, of.count))


_NOTHING = Body((), ())

Step = Nest | Repeat | Listing | RepeatListed


def substituted(nest: Nest, change: dict[Dim, Dim | None]) -> Nest:
    """Renames dimensions, or drops them at value 0."""
    if not change:
        return nest

    def renamed(place: Affine) -> Affine:
        terms, constant = {}, place.constant
        for dim, stride in place.terms.items():
            new = change.get(dim, dim)
            if new is not None:
                terms[new] = stride
            elif isinstance(stride, tuple):
                constant += stride[0]
        return Affine(terms, constant)

    def dims(group: Sequence[Dim]) -> tuple[Dim, ...]:
        return tuple(new for d in group if (new := change.get(d, d)) is not None)

    nest = mapped(nest, renamed)
    return replace(nest, parallel=dims(nest.parallel), reduced=dims(nest.reduced))


def mapped(nest: Nest, change: Callable[[Affine], Affine]) -> Nest:
    """Returns the nest with other places of its accesses."""

    def one(access: Access) -> Access:
        indirect = access.indirect
        if indirect is not None:
            indirect = replace(indirect, access=one(indirect.access))
        return replace(access, place=change(access.place), indirect=indirect)

    return with_accesses(nest, one)


def with_accesses(nest: Nest, one: Callable[[Access], Access]) -> Nest:
    """Returns the nest with `one` applied to each of its accesses."""
    reduction = nest.reduction
    if reduction is not None:
        reduction = replace(reduction, reads=tuple(map(one, reduction.reads)))
    bounds = nest.range
    if bounds is not None:
        bounds = replace(bounds, first=one(bounds.first), end=one(bounds.end))
    return replace(
        nest,
        operands=tuple(map(one, nest.operands)),
        writes=tuple(map(one, nest.writes)),
        reduction=reduction,
        range=bounds,
    )
