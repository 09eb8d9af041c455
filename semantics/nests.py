"""
The meaning of kernels of loop nests, for any schedule.

A nest is computed at all of its points at once, so its reads come before its writes. This is slow,
but it shows whether an algorithm or a schedule is the cause of a wrong result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Attribute

from ..glow_dialects.elements import storage_type
from ..glow_dialects.glow_nest.affine import Access, Affine, Buffer, Dim, affine
from ..glow_dialects.glow_nest.body import Body
from ..glow_dialects.glow_nest.nest import (
    Combine,
    Listing,
    Nest,
    Range,
    Reduction,
    Repeat,
    RepeatListed,
    Step,
    substituted,
)
from ..glow_dialects.scalar import fold_in_order
from .arrays import BFLOAT16, numpy_dtype
from .numpy_algebra import NumpyAlgebra, compute_dtype, convert

Values = Mapping[Dim, int]
_COMBINATIONS: Mapping[Combine, np.ufunc] = {
    Combine.ADD: np.add,
    Combine.MUL: np.multiply,
    Combine.MAXIMUM: np.maximum,
    Combine.MINIMUM: np.minimum,
    Combine.LARGEST_NUMBER: np.fmax,
}


class NestMeaning:
    """Runs the steps of a kernel on flat arrays, whose first elements are where pointers point."""

    def __init__(self, arrays: Mapping[Buffer, tuple[np.ndarray, int]], rows: int | None = None):
        """
        `arrays` are the arrays of buffers, with the element to which the pointer of each buffer
        points. `rows` is the number of rows that limits of loops refer to.
        """
        self._arrays = arrays
        self._rows = rows

    def run(self, steps: Sequence[Step], values: Values) -> None:
        """Runs steps for the values of loop variables outside."""
        with np.errstate(all="ignore"):
            self._run(steps, values, self._rows)

    def _run(self, steps: Sequence[Step], values: Values, rest: int | None) -> None:
        """Runs steps in a block of rows of which some are left."""
        for step in steps:
            match step:
                case Nest():
                    self._nest(self._bounded(step, rest), values)
                case Repeat(dim=dim):
                    for i in range(self._count(dim, rest)):
                        inside = rest
                        if dim.limit is not None and dim.limit.opens:
                            inside = self._left(dim, rest) - i * dim.limit.granule
                        self._run(step.steps, {**values, dim: i}, inside)
                case Listing():
                    self._list(step, values)
                case RepeatListed():
                    self._repeat_listed(step, values)

    # limits

    def _left(self, dim: Dim, rest: int | None) -> int:
        """Returns how many rows, times the factor of its limit, a loop begins with."""
        limit = dim.limit
        if limit is None:
            return dim.size
        rows = rest if limit.of_rest else self._rows
        assert rows is not None
        return rows * limit.factor - limit.start

    def _count(self, dim: Dim, rest: int | None) -> int:
        granule = 1 if dim.limit is None else dim.limit.granule
        return min(max(0, -(-self._left(dim, rest) // granule)), dim.size)

    def _bounded(self, nest: Nest, rest: int | None) -> Nest:
        """Returns a nest whose loops have as many values as their limits permit."""
        limited = [d for d in (*nest.parallel, *nest.reduced) if d.limit is not None]
        change: dict[Dim, Dim | None] = {d: Dim(d.name, self._count(d, rest)) for d in limited}
        return substituted(nest, change)

    # nests

    def _nest(self, nest: Nest, values: Values) -> None:
        if nest.is_empty:
            return
        points = _Points(nest.parallel, values)
        given: list[np.ndarray] = []
        if nest.reduction is not None:
            given += self._reduced(nest, nest.reduction, values)
        given += [self._load(a, points, nest.raw) for a in nest.operands]
        shape = tuple(d.size for d in nest.parallel)
        written = given if nest.raw else _evaluated(nest.body, given)
        for access, value in zip(nest.writes, written, strict=True):
            array, _ = self._arrays[access.buffer]
            place = np.broadcast_to(self._place(access, points), shape)
            array[place] = np.broadcast_to(convert(value, array.dtype), shape)

    def _reduced(self, nest: Nest, reduction: Reduction, values: Values) -> list[np.ndarray]:
        """Returns the results of the reduction at all points of the parallel loops."""
        dims = (*nest.parallel, *nest.reduced)
        points, dtype = _Points(dims, values), compute_dtype(reduction.element)
        if reduction.terms > 1:
            found = [self._products(reduction, points, dtype)]
        else:
            reads = [self._load(a, points, False) for a in reduction.reads]
            if reduction.map is not None:
                found = _evaluated(reduction.map, reads)
            elif len(reads) == 2:
                found = [np.multiply(*(convert(r, dtype) for r in reads))]
            else:
                found = reads
        counts = None if nest.range is None else self._counts(nest.range, points)
        combination, neutral = _COMBINATIONS[reduction.combine], _identity(reduction.combine, dtype)
        axes, results = tuple(range(len(nest.parallel), len(dims))), []
        for terms in found:
            terms = np.broadcast_to(convert(terms, dtype), [d.size for d in dims])
            if counts is not None:
                terms = np.where(counts, terms, neutral)
            results.append(combination.reduce(terms, axis=axes, dtype=dtype, initial=neutral))
        return results

    def _counts(self, bounds: Range, points: _Points) -> np.ndarray:
        """Returns at which points a loop has a value in its range."""
        first, end = (
            self._load(a, points, True).astype(np.int64) for a in (bounds.first, bounds.end)
        )
        value = points.of(affine(bounds.dim))
        return (first <= value) & (value < end)

    def _products(self, reduction: Reduction, points: _Points, dtype: np.dtype) -> np.ndarray:
        """Returns sums of the products of neighbours."""
        first, second = reduction.reads
        fields = reduction.fields or tuple(range(reduction.terms))
        total = np.zeros((), dtype)
        for i, field in enumerate(fields):
            a = self._neighbour(first, points, field, second.element)
            b = self._neighbour(second, points, i, first.element)
            total = total + convert(a, dtype) * convert(b, dtype)
        return total

    def _neighbour(
        self, access: Access, points: _Points, offset: int, other: Attribute
    ) -> np.ndarray:
        array, _ = self._arrays[access.buffer]
        place = self._place(access, points)
        bf16 = numpy_dtype(storage_type(other)) == BFLOAT16
        if bf16 and array.dtype.itemsize == 4:
            # a word is two numbers
            return array.view(BFLOAT16)[2 * place + offset]
        return array[place + offset]

    def _load(self, access: Access, points: _Points, raw: bool) -> np.ndarray:
        array, _ = self._arrays[access.buffer]
        place = self._place(access, points)
        if access.read_as is None:
            loaded = array[place]
        else:
            dtype = numpy_dtype(access.read_as)
            several = array[place[..., None] + np.arange(dtype.itemsize)]
            loaded = np.ascontiguousarray(several).view(dtype)[..., 0]
        return loaded if raw else convert(loaded, compute_dtype(access.element))

    def _place(self, access: Access, points: _Points) -> np.ndarray:
        """Returns the elements of the array that an access refers to."""
        place = points.of(access.place) + self._arrays[access.buffer][1]
        indirect = access.indirect
        if indirect is None:
            return place
        loaded = self._load(indirect.access, points, True)
        if indirect.unsigned:
            last = np.uint64(max(0, indirect.size - 1))
            found = np.minimum(loaded.view(f"u{loaded.itemsize}"), last)
            return place + found.astype(np.int64) * indirect.stride
        index = loaded.astype(np.int64)
        index = np.where(index < 0, index + indirect.size, index)
        return place + np.clip(index, 0, max(0, indirect.size - 1)) * indirect.stride

    # lists

    def _list(self, step: Listing, values: Values) -> None:
        to = step.numbers
        points = _Points((to.dim,), values)
        source = np.broadcast_to(self._load(step.source, points, False), [to.dim.size])
        found = np.flatnonzero((source != 0) & (source == source))
        places = self._place(to.place, points)
        self._arrays[to.place.buffer][0][places[: len(found)]] = found
        self._arrays[to.count.buffer][0][self._place(to.count, points)] = len(found)

    def _repeat_listed(self, step: RepeatListed, values: Values) -> None:
        points, together = _Points((step.numbers.dim,), values), len(step.dims)
        count = int(self._load(step.numbers.count, points, True).reshape(-1)[0])
        numbers = self._load(step.numbers.place, points, True)[:count]
        start = count // step.after * step.after if step.after else 0
        end = count // together * together
        if step.part is not None:
            groups, part = (end - start) // together, values[step.part]
            first, behind = (groups * p // step.part.size for p in (part, part + 1))
            start, end = start + first * together, start + behind * together
        for at in range(start, end - together + 1, together):
            inner = dict(zip(step.dims, map(int, numbers[at : at + together]), strict=True))
            self._run(step.steps, {**values, **inner}, self._rows)


class _Points:
    """All points of some loops, each an axis, for the values of loop variables outside."""

    def __init__(self, dims: Sequence[Dim], values: Values):
        self._axis = {d: i for i, d in enumerate(dims)}
        self._values = values

    def of(self, place: Affine) -> np.ndarray:
        total = np.full([1] * len(self._axis), place.constant, np.int64)
        for dim, stride in place.terms.items():
            table = np.array(stride) if isinstance(stride, tuple) else stride * np.arange(dim.size)
            if dim in self._values:
                at = self._values[dim]
                total = total + (stride[at] if isinstance(stride, tuple) else stride * at)
                continue
            shape = [1] * len(self._axis)
            shape[self._axis[dim]] = dim.size
            total = total + table.reshape(shape)
        return total


def _evaluated(body: Body, given: Sequence[np.ndarray]) -> list[np.ndarray]:
    # all types of a body are known, so that of the result does not matter
    algebra = NumpyAlgebra(body.elements[0])
    known = fold_in_order(body.order, given, algebra)
    return [known[r] for r in body.results]


def _identity(combine: Combine, dtype: np.dtype) -> float | int:
    if combine is Combine.ADD:
        return 0
    if combine is Combine.MUL:
        return 1
    lowest = combine is not Combine.MINIMUM
    if dtype.kind == "f":
        return -np.inf if lowest else np.inf
    if dtype.kind == "b":
        return not lowest
    return int(np.iinfo(dtype).min if lowest else np.iinfo(dtype).max)
