"""The rows in which the elements of an access to a kernel's memory are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...glow_dialects.glow_nest.affine import Access, Dim, Limit


class RowsLost(ValueError):
    """The rows of a value cannot be followed."""


@dataclass(frozen=True)
class Place:
    """The row of an element: `first + sum(step * variable)`."""

    first: int
    steps: Sequence[tuple[Dim, int]]
    """Loop variables and the rows of a step of each, in descending order."""
    joined: Mapping[Dim, int]
    """A loop over the elements of all rows, and the elements of each."""
    repeated: Mapping[Dim, Dim]
    """A loop over all rows of several texts, and a loop over those of one."""

    def limits(self) -> Mapping[Dim, Limit]:
        """Returns the limits of whole dimensions."""
        found = {dim: Limit(factor) for dim, factor in self.joined.items()}
        if len(self.steps) > 1 or any(step > 1 for _, step in self.steps):
            raise RowsLost("rows in more than one dimension")
        return {**found, **{dim: Limit() for dim, _ in self.steps}}


def row_of(terms: Mapping[Dim, object], start: int, pitch: int, most: int) -> Place:
    """Returns in which row the elements at a linear form are. Raises RowsLost if it is not one."""
    steps: list[tuple[Dim, int]] = []
    joined: dict[Dim, int] = {}
    repeated: dict[Dim, Dim] = {}
    inside, within = start % pitch, 1
    for dim, stride in terms.items():
        if dim.size == 1 or stride == 0:
            continue
        if not isinstance(stride, int) or stride < 0:
            raise RowsLost("rows that are visited in another order")
        if stride % (pitch * most) == 0:
            continue
        if stride % pitch == 0 and stride // pitch * (dim.size - 1) < most:
            steps.append((dim, stride // pitch))
        elif pitch % stride == 0 and stride * dim.size == pitch * most:
            joined[dim] = pitch // stride
            within = stride
        elif pitch % stride == 0 and stride * dim.size % (pitch * most) == 0 and not dim.limit:
            limit = Limit(pitch // stride)
            repeated[dim] = Dim(dim.name, pitch * most // stride, limit)
            within = stride
        else:
            inside += stride * (dim.size - 1)
    steps.sort(key=lambda of: -of[1])
    first = start // pitch % most
    rows = first + sum(step * (dim.size - 1) for dim, step in steps)
    whole = {**joined, **repeated}
    several = len(whole) > 1 or (whole and steps)
    if inside >= (within if whole else pitch) or rows >= most or several:
        raise RowsLost("elements of several rows in one dimension")
    if steps and not _covers(steps, first, most):
        raise RowsLost(f"a part of its {most} rows")
    return Place(first, steps, joined, repeated)


def _covers(steps: Sequence[tuple[Dim, int]], first: int, most: int) -> bool:
    """Returns whether loops visit all rows from the first one on, or whole blocks of rows."""
    dim, step = steps[0]
    return first > 0 or step * dim.size + step > most or dim.limit is not None


def accessed(access: Access, start: int, pitch: int, most: int) -> Place:
    """Returns in which row an access is, whatever an index in memory is. Raises RowsLost."""
    terms, index = access.place.terms, access.indirect
    if index is None:
        return row_of(terms, start, pitch, most)
    any_index = Dim("index", index.size)
    found = row_of({**terms, any_index: index.stride}, start, pitch, most)
    if any_index in (*found.joined, *found.repeated, *dict(found.steps)):
        raise RowsLost("rows that an index chooses")
    return found
