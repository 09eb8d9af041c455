"""
The memory accesses of loop nests: strided views of buffers, indexed by linear forms of loop
variables.

```python
x = View(buffer, shape=(8, 16), strides=(16, 1))
i, j = Dim("i", 8), Dim("j", 14)
x[i, j + 2]          # an Access: element 16 * i + j + 2 of the buffer
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from xdsl.ir import Attribute

from ..elements import element_bytes, is_byte, row_major_strides

_T = TypeVar("_T")

Stride = int | tuple[int, ...]
"""Elements per step of a loop variable, or the offset for each of its values."""


@dataclass(frozen=True)
class Limit:
    """
    A bound of a loop that is known at run time: `ceil((factor * rows - start) / granule)` values,
    at least 0 and at most the size of the loop. With the factor -1, a loop is for few rows: from
    -2 on, it has a value if there is one row.
    """

    factor: int = 1
    granule: int = 1
    """The rows of a step of the loop, divided by the factor."""
    start: int = 0
    """The rows before the loop, times the factor."""
    of_rest: bool = False
    """Whether `rows` counts the rows from the start of a block on, instead of all rows."""
    opens: bool = False
    """Whether each step is a block of rows, whose rest the loops inside may be limited to."""

    def of_elements(self, count: int) -> Limit:
        """Returns the limit of a loop over `count` elements of each step of a loop."""
        assert self.granule == 1
        return replace(self, factor=self.factor * count, start=self.start * count)


@dataclass(frozen=True, eq=False)
class Dim:
    """
    A loop variable that runs from 0 to `size - 1`, or to a smaller limit. Identity is equality.
    """

    name: str
    size: int
    limit: Limit | None = None

    def __mul__(self, factor: int) -> Affine:
        return Affine({self: factor})

    def __add__(self, other: Index) -> Affine:
        return Affine({self: 1}) + other

    def __repr__(self) -> str:
        return f"{self.name}:{self.size}"


@dataclass(frozen=True)
class Affine:
    """A constant plus, for each loop variable, a multiple of it or a table lookup."""

    terms: Mapping[Dim, Stride] = field(default_factory=dict)
    constant: int = 0

    def __add__(self, other: Index) -> Affine:
        right = affine(other)
        terms = dict(self.terms)
        for dim, stride in right.terms.items():
            terms[dim] = add_strides(terms[dim], stride) if dim in terms else stride
        return Affine(terms, self.constant + right.constant)

    def __mul__(self, factor: int) -> Affine:
        terms = {d: scale_stride(s, factor) for d, s in self.terms.items() if factor}
        return Affine(terms, self.constant * factor)

    def at(self, change: Mapping[Dim, Affine]) -> Affine:
        """
        Returns the same with forms of other variables in the place of some, which have no tables.
        """
        if change.keys().isdisjoint(self.terms):
            return self
        result = Affine({}, self.constant)
        for dim, stride in self.terms.items():
            if dim in change and isinstance(stride, int):
                result += change[dim] * stride
            else:
                result += Affine({dim: stride})
        return result


Index = Dim | Affine | int


def affine(index: Index) -> Affine:
    match index:
        case Dim():
            return Affine({index: 1})
        case int():
            return Affine({}, index)
        case _:
            return index


def lookup(dim: Dim, table: Sequence[int]) -> Affine:
    """Returns `table[dim]`; `dim` is then unrolled."""
    assert len(table) == dim.size
    return Affine({dim: tuple(table)})


class TableRows(NamedTuple):
    """A table of places in rows: element `i` is at `i // size * apart + i % size * step`."""

    size: int
    apart: int
    step: int

    @staticmethod
    def of(table: Sequence[int]) -> TableRows | None:
        """Returns the rows of a table; None if it has none."""
        step = table[1] - table[0] if len(table) > 1 else 0
        size = next((i for i, place in enumerate(table) if place != i * step), len(table))
        if not size:
            return None
        rows = TableRows(size, table[size] if size < len(table) else 0, step)
        return rows if all(rows.place(i) == place for i, place in enumerate(table)) else None

    def place(self, element: int) -> int:
        return element // self.size * self.apart + element % self.size * self.step


def scale_stride(stride: Stride, factor: int) -> Stride:
    if isinstance(stride, int):
        return stride * factor
    return tuple(s * factor for s in stride)


def add_strides(a: Stride, b: Stride) -> Stride:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    size = len(a) if isinstance(a, tuple) else len(b)  # pyright: ignore
    return tuple(_at(a, i) + _at(b, i) for i in range(size))


def _at(stride: Stride, i: int) -> int:
    return stride * i if isinstance(stride, int) else stride[i]


@dataclass(eq=False)
class Buffer:
    """Memory that a kernel accesses: one of its parameters, or scratch."""

    element: Attribute
    low: int
    """The first element that is accessed, from the pointer; negative for negative strides."""
    high: int
    """One more than the last element that is accessed."""
    parameter: int | None = None
    """Number of the parameter; None for scratch."""


@dataclass(frozen=True)
class Indirect:
    """An addition to an element's place that memory holds: `clamp(load(access)) * stride`."""

    access: Access
    """The place of the index, which may again depend on one in memory."""
    size: int
    """Indices -size to size - 1 are valid, negative ones count from the end; others are clamped."""
    stride: int
    unsigned: bool = False
    """Whether bits are read as a number that is not negative: clamping it takes one operation."""


@dataclass(frozen=True, eq=False)
class Access:
    """An element of a buffer, as a linear form of loop variables. Identity is equality."""

    buffer: Buffer
    place: Affine
    indirect: Indirect | None = None
    read_as: Attribute | None = None
    """If the buffer holds bytes: the type of the element that begins at the place."""

    def stride(self, dim: Dim) -> Stride:
        return self.place.terms.get(dim, 0)

    @property
    def element(self) -> Attribute:
        return self.buffer.element if self.read_as is None else self.read_as

    @property
    def indices(self) -> Iterator[Access]:
        """The accesses that hold indices which its place depends on, from the last one on."""
        if self.indirect is not None:
            yield self.indirect.access
            yield from self.indirect.access.indices

    def is_chosen_along(self, dim: Dim) -> bool:
        """Returns whether each value of a loop has an index of its own."""
        return any(index.stride(dim) != 0 for index in self.indices)

    @property
    def looks_up_bytes(self) -> bool:
        """Returns whether it is the byte that another byte names in a table of 256."""
        indirect = self.indirect
        if indirect is None or (indirect.size, indirect.stride) != (256, 1):
            return False
        return element_bytes(self.element) == 1 and is_byte(indirect.access.element)

    def gathers_along(self, dim: Dim) -> bool:
        """
        Returns whether vectors of its elements along a loop can be gathered: one vector of indices
        places all lanes.
        """
        if self.indirect is None or self.read_as is not None:
            return False
        index = self.indirect.access
        strides = (index.stride(dim), self.stride(dim))
        return index.indirect is None and all(isinstance(s, int) for s in strides)


def stride_of(access: Access, dim: Dim) -> int:
    """Returns the stride along a loop that has no table."""
    stride = access.stride(dim)
    assert isinstance(stride, int)
    return stride


@dataclass(frozen=True)
class View:
    """A strided array in a buffer. Strides and offset count elements."""

    buffer: Buffer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    limits: tuple[Limit | None, ...] = ()
    """The limit of each dimension; empty if none has one."""
    periods: tuple[int, ...] = ()
    """
    For each dimension, the elements that its limit is of, if the dimension repeats them; 0 if it
    does not. Empty if none does.
    """

    def limit(self, dimension: int) -> Limit | None:
        """Returns the limit of loops over a dimension; None if it holds for parts of it."""
        return None if self.period(dimension) or not self.limits else self.limits[dimension]

    def period(self, dimension: int) -> int:
        """Returns of how many elements each part of a dimension is that has a limit; 0 if none."""
        return self.periods[dimension] if self.periods else 0

    def dim(self, name: str, dimension: int) -> Dim:
        """Returns a loop variable that runs over a dimension."""
        return Dim(name, self.shape[dimension], self.limit(dimension))

    def along(self, dimensions: Sequence[int]) -> View:
        """Returns the elements along some dimensions, in their order; other indices are 0."""

        def chosen(of: tuple[_T, ...]) -> tuple[_T, ...]:
            return tuple(of[d] for d in dimensions) if of else ()

        return replace(
            self,
            shape=chosen(self.shape),
            strides=chosen(self.strides),
            limits=chosen(self.limits),
            periods=chosen(self.periods),
        )

    @staticmethod
    def dense(buffer: Buffer, shape: Sequence[int]) -> View:
        return View(buffer, tuple(shape), row_major_strides(shape))

    @property
    def element(self) -> Attribute:
        return self.buffer.element

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __getitem__(self, index: Sequence[Index]) -> Access:
        assert len(index) == len(self.shape), (index, self.shape)
        place = Affine({}, self.offset)
        for i, stride in zip(index, self.strides, strict=True):
            place = place + affine(i) * stride
        return Access(self.buffer, place)

    def chosen(self, index: Sequence[Index | Access], unsigned: bool = False) -> Access:
        """Returns an element of which memory holds one index, which `Indirect` explains."""
        ((d, number),) = ((d, i) for d, i in enumerate(index) if isinstance(i, Access))
        first = self[[0 if isinstance(i, Access) else i for i in index]]
        return replace(first, indirect=Indirect(number, self.shape[d], self.strides[d], unsigned))
