"""
Neighbours of a schedule: schedules that differ from it in one respect.

The possible differences follow from the types that the fields of a schedule declare, as its text
does (`glow_nest.schedule_text`). So a new kind, or a new field, has neighbours at once. Most of
these schedules do not fit a nest; `candidates` asks the verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from itertools import zip_longest
from math import prod
from typing import Any

from ..glow_dialects.elements import element_bytes
from ..glow_dialects.glow_nest.affine import Dim
from ..glow_dialects.glow_nest.nest import Nest
from ..glow_dialects.glow_nest.schedule import (
    Chunks,
    Elementwise,
    LoopParts,
    Reducing,
    Schedule,
    VectorSchedule,
)
from ..glow_dialects.timings import TIMINGS
from ..lowering.kernels.schedules.register_tile import balanced

_FURTHEST = 6
"""By how much a tile grows along a loop at most while it shrinks along another."""
_MOST_UNROLLED = 64
"""Steps that have code of their own."""


PREFETCHES = "prefetch_"
"""The names of fields about prefetches begin so."""


def near_schedules(nest: Nest, schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    """
    Yields schedules near one of a nest with the same loops, and the field that is different, one of
    each field in turns. Where that is no field about prefetches, schedules prefetch nothing.
    """
    start = _Start(nest, schedule)

    def changes(name: str, near: Near) -> Iterator[tuple[str, Schedule]]:
        return ((name, _changed(start, name, value)) for value in near(start, name))

    own = fields(type(schedule))  # pyright: ignore[reportArgumentType]
    each_field = [changes(f.name, _NEAR[str(f.type)]) for f in own]
    for round_ in zip_longest(*each_field):
        yield from (each for each in round_ if each is not None)


@dataclass(frozen=True)
class _Start:
    """A schedule, and the nest with the loops that it names."""

    nest: Nest
    schedule: Schedule

    def __getitem__(self, name: str) -> Any:
        return getattr(self.schedule, name)

    @property
    def loops(self) -> tuple[Dim, ...]:
        return (*self.nest.parallel, *self.nest.reduced)

    def pieces(self, dim: Dim) -> int:
        """Returns how many tiles of 1 a loop has: elements, or vectors."""
        own = self.schedule
        lanes = own.lanes if isinstance(own, VectorSchedule) and dim is own.vector else 1
        return max(1, dim.size // lanes)


Near = Callable[[_Start, str], Iterable[Any]]


def _changed(start: _Start, name: str, value: Any) -> Schedule:
    """Returns the schedule with another value of a field, and with what has to follow from it."""
    schedule = start.schedule
    follows = {} if name.startswith(PREFETCHES) else _no_prefetches(schedule)
    if name == "vector" and isinstance(value, Dim):
        # a vector is not longer than its loop
        follows["lanes"] = min(start["lanes"], 1 << (value.size.bit_length() - 1))
    if isinstance(schedule, Reducing) and isinstance(start[name], Chunks) and value is None:
        # the loop over chunks goes with them
        chunk = start[name].number
        follows["reduced"] = tuple(d for d in schedule.reduced if d is not chunk)
    return replace(schedule, **{name: value, **follows})  # pyright: ignore[reportArgumentType]


def _no_prefetches(schedule: Schedule) -> dict[str, Any]:
    """Returns the fields about prefetches with the values that prefetch nothing."""
    own = fields(type(schedule))  # pyright: ignore[reportArgumentType]
    return {
        f.name: f.default if f.default_factory is MISSING else f.default_factory()
        for f in own
        if f.name.startswith(PREFETCHES)
    }


# other values of a field, by the type that it declares


def _numbers(start: _Start, name: str) -> Iterator[int]:
    """Yields twice the number, and half of it."""
    number = start[name]
    if number:
        yield number * 2
    if number > 1 and number % 2 == 0:
        yield number // 2


def _flags(start: _Start, name: str) -> Iterator[bool]:
    """Yields the opposite."""
    yield not start[name]


def _loops(start: _Start, name: str) -> Iterator[Dim]:
    """Yields each other loop."""
    yield from (d for d in start.loops if d is not start[name])


def _loops_or_none(start: _Start, name: str) -> Iterator[Dim | None]:
    """Yields each other loop, and none; what is none stays so, as it may need further fields."""
    if start[name] is not None:
        yield from _loops(start, name)
        yield None


def _orders(start: _Start, name: str) -> Iterator[tuple[Dim, ...]]:
    """Yields orders with one loop at another place, near ones first."""
    order = start[name]
    pairs = [(i, j) for i in range(len(order)) for j in range(len(order)) if i != j and i != j + 1]
    for i, j in sorted(pairs, key=lambda pair: abs(pair[0] - pair[1])):
        rest = [*order[:i], *order[i + 1 :]]
        yield (*rest[:j], order[i], *rest[j:])


def _sets(start: _Start, name: str) -> Iterator[frozenset[Dim]]:
    """Yields sets with a further loop of the reduction, or one less."""
    present = start[name]
    for dim in start.nest.reduced:
        changed = present ^ {dim}
        if prod(d.size for d in changed) <= _MOST_UNROLLED or dim in present:
            yield changed


def _tiles(start: _Start, name: str) -> Iterator[Mapping[Dim, int]]:
    present = start[name]
    loops = [d for d in start.loops if d in start.nest.parallel or d in present]
    for tile in _near_tiles({d: present.get(d, 1) for d in loops}, start.pieces):
        yield {d: n for d, n in tile.items() if n > 1}


def _parts(start: _Start, name: str) -> Iterator[LoopParts]:
    """Yields parts as equal as possible of other tiles."""
    present: LoopParts = start[name]
    sizes = {d: max(p.tile for p in parts) for d, parts in present.items()}
    for tile in _near_tiles(sizes, lambda d: d.size):
        yield {d: balanced(d.size, n) for d, n in tile.items()}


def _near_tiles(tile: Mapping[Dim, int], most: Callable[[Dim], int]) -> Sequence[Mapping[Dim, int]]:
    """
    Returns tiles that are one larger or smaller along one loop, twice or half as large, or smaller
    along one loop and larger along another. Large ones come first: they load less for each result.
    """
    found: dict[tuple[int, ...], Mapping[Dim, int]] = {}

    def add(change: Mapping[Dim, int]) -> None:
        if all(1 <= n <= most(d) for d, n in change.items()):
            new = {**tile, **change}
            found[tuple(new.values())] = new

    for dim, size in tile.items():
        for n in (size + 1, size - 1, size * 2, size // 2):
            add({dim: n})
        for other, length in tile.items():
            if other is not dim:
                for n in range(1, _FURTHEST + 1):
                    add({dim: size - 1, other: length + n})
    found.pop(tuple(tile.values()), None)
    return sorted(found.values(), key=lambda t: -prod(t.values()))


def _distances(start: _Start, name: str) -> Iterator[Mapping[int, int]]:
    """Yields no prefetches, some twice or half as far ahead, of a further read, of one less."""
    ahead, nest = start[name], start.nest
    if ahead:
        yield {}
        yield {n: far * 2 for n, far in ahead.items()}
        yield {n: max(1, far // 2) for n, far in ahead.items()}
    is_elementwise = isinstance(start.schedule, Elementwise)
    for number, read in enumerate(nest.operands if is_elementwise else nest.reduced_reads):
        if number in ahead and len(ahead) > 1:
            yield {n: far for n, far in ahead.items() if n != number}
        elif number not in ahead and read.stride(start["vector"]):
            yield {**ahead, number: TIMINGS.prefetch_bytes // 4 // element_bytes(read.element)}


def _next_tiles(start: _Start, name: str) -> Iterator[Mapping[int, Dim]]:
    """Yields those that are prefetched, without one of them, or with one more."""
    present = start[name]
    for number, read in enumerate(start.nest.reduced_reads):
        if number in present:
            yield {n: d for n, d in present.items() if n != number}
            continue
        for dim in start["parts"]:
            if read.stride(dim):
                yield {**present, number: dim}


def _chunks(start: _Start, name: str) -> Iterator[Chunks | None]:
    """Yields none, and chunks inside other loops. How large they are follows from the nest."""
    chunks = start[name]
    if chunks is not None:
        yield None
        others = (d for d in start.nest.parallel if d is not chunks.inside)
        yield from (replace(chunks, inside=d) for d in others)


def _none(start: _Start, name: str) -> Iterator[None]:
    """Yields none, where there is something."""
    if start[name] is not None:
        yield None


def _nothing(_start: _Start, _name: str) -> Iterator[Any]:
    """Yields nothing: only a plan of the whole nest can tell."""
    return iter(())


_NEAR: Mapping[str, Near] = {
    "int": _numbers,
    "bool": _flags,
    "Dim": _loops,
    "Dim | None": _loops_or_none,
    "tuple[Dim, ...]": _orders,
    "frozenset[Dim]": _sets,
    "Mapping[Dim, int]": _tiles,
    "LoopParts": _parts,
    "Mapping[int, int]": _distances,
    "Mapping[int, Dim]": _next_tiles,
    "Chunks | None": _chunks,
    "Lines | None": _none,
    "tuple[TileGroup, ...]": _nothing,
    "tuple[Finish, ...]": _nothing,
}
