"""The rules for all nests and their schedules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.utils.exceptions import VerifyException

from ..elements import storage_type
from .affine import Access, Dim
from .content import Content, accesses_of
from .nest import Nest
from .schedule import Elementwise, Reduce, Reducing, RegisterTile, Schedule, VectorSchedule


def verify_bounds(content: Content, names: Sequence[str]) -> None:
    """Checks that all accesses are inside of their buffers; `names` has the names of these."""
    called = dict(zip(content.buffers, names, strict=True))
    for access in accesses_of(content.step):
        if any(d.size == 0 for d in access.place.terms):
            continue
        low, high = reached(access)
        buffer = access.buffer
        if low < buffer.low or high >= buffer.high:
            raise VerifyException(
                f"expected accesses to {called[buffer]} from element {buffer.low} to "
                f"{buffer.high - 1}, found one from {low} to {high}"
            )


def reached(access: Access) -> tuple[int, int]:
    """Returns the lowest and the highest element that an access touches."""
    low = high = access.place.constant
    for dim, stride in access.place.terms.items():
        ends = stride if isinstance(stride, tuple) else (0, stride * (dim.size - 1))
        low, high = low + min(ends), high + max(ends)
    if access.indirect is not None:
        end = access.indirect.stride * max(0, access.indirect.size - 1)
        low, high = low + min(0, end), high + max(0, end)
    return low, high


def verify_nest(nest: Nest) -> None:
    if not nest.writes:
        raise VerifyException("expected a nest that writes, found none")
    if nest.reduction is None:
        if nest.reduced:
            raise VerifyException("expected no reduction loops without a reduction")
        return
    reduction = nest.reduction
    if not isinstance(storage_type(reduction.element), FixedBitwidthType):
        raise VerifyException(
            f"expected numbers to reduce, which have an identity, found {reduction.element}"
        )
    if reduction.map is None and len(reduction.reads) not in (1, 2):
        raise VerifyException(
            "expected one read, or two to multiply, or a map, "
            f"found {len(reduction.reads)} without a map"
        )
    if reduction.terms > 1 and not reduction.is_product:
        raise VerifyException("expected terms of a product of two reads")


def verify_schedule(nest: Nest, schedule: Schedule) -> None:
    if not isinstance(schedule, VectorSchedule):
        return
    _expect_same("order", schedule.order, nest.parallel)
    reduced = schedule.reduced if isinstance(schedule, Reducing) else ()
    _expect_same("reduced", reduced, nest.reduced)
    _verify_vector(nest, schedule)
    for dim in (*nest.parallel, *nest.reduced):
        if schedule.tiles(dim) < 1:
            raise VerifyException(f"expected a tile of at least 1 of {dim.name}")
        if dim.size and not schedule.parts_of(dim) and schedule.step(dim) > dim.size:
            raise VerifyException(
                f"expected a tile of {dim.name} of at most its {dim.size} elements, "
                f"found {schedule.step(dim)}"
            )
        _verify_parts(dim, schedule)
    _verify_prefetches(nest, schedule)
    for dim in nest.tabled:
        if isinstance(schedule, Reducing) and dim not in schedule.unrolled:
            raise VerifyException(f"expected {dim.name}, which has tables of places, unrolled")


def _verify_prefetches(nest: Nest, schedule: VectorSchedule) -> None:
    numbers: list[int] = []
    if isinstance(schedule, Elementwise | Reducing):
        numbers += schedule.prefetch_distance
    if isinstance(schedule, Reducing) and schedule.prefetch_lines is not None:
        numbers.append(schedule.prefetch_lines.read)
    if isinstance(schedule, RegisterTile):
        numbers += schedule.prefetch_next_tile
    reads = nest.operands if isinstance(schedule, Elementwise) else nest.reduced_reads
    for number in numbers:
        if not 0 <= number < len(reads):
            raise VerifyException(
                f"expected prefetches of one of {len(reads)} reads, counted from 0, found {number}"
            )


def _expect_same(what: str, found: Sequence[Dim], wanted: Sequence[Dim]) -> None:
    if len(found) != len(wanted) or set(found) != set(wanted):
        names = [", ".join(d.name for d in dims) or "none" for dims in (wanted, found)]
        raise VerifyException(f"expected {what} to have the loops {names[0]}, found {names[1]}")


def _verify_vector(nest: Nest, schedule: VectorSchedule) -> None:
    vector = schedule.vector
    if schedule.lanes < 1 or schedule.lanes & (schedule.lanes - 1):
        raise VerifyException(f"expected a power of two of lanes, found {schedule.lanes}")
    if vector is None:
        if schedule.lanes > 1:
            raise VerifyException("expected the loop that vectors run over: vector")
        return
    if schedule.lanes == 1:
        return
    if isinstance(schedule, Elementwise):
        contiguous = all(w.stride(vector) in (1, len(nest.writes)) for w in nest.writes)
    elif isinstance(schedule, RegisterTile):
        contiguous = all(w.stride(vector) == 1 for w in nest.writes)
    else:
        reads = () if nest.reduction is None else nest.reduction.reads
        contiguous = any(a.stride(vector) != 0 for a in (*reads, *nest.writes, *nest.operands))
    if not contiguous:
        raise VerifyException(
            f"expected vectors along a loop that is contiguous in memory, found {vector.name}, "
            f"along which writes are {', '.join(str(w.stride(vector)) for w in nest.writes)} apart"
        )


def _verify_parts(dim: Dim, schedule: VectorSchedule) -> None:
    end = 0
    for part in schedule.parts_of(dim):
        if part.start != end:
            raise VerifyException(
                f"expected parts of {dim.name} without gaps, found one that starts at "
                f"{part.start} behind {end}"
            )
        end = part.stop
    if end not in (0, dim.size):
        raise VerifyException(
            f"expected parts of all {dim.size} elements of {dim.name}, found {end}"
        )


def registers_of(nest: Nest, schedule: Schedule) -> int:
    """
    Returns the vector registers that a register tile takes: accumulators, loaded vectors, one more.
    """
    if not isinstance(schedule, Reducing) or nest.reduction is None:
        return 0
    tile: Mapping[Dim, int] = dict(_tile(nest, schedule))
    sums = prod(n for d, n in tile.items() if d in nest.parallel or d is schedule.vector)
    vectors = min(
        (
            prod(n for d, n in tile.items() if a.stride(d) != 0)
            for a in nest.reduction.reads
            if schedule.vector is not None and a.stride(schedule.vector) != 0
        ),
        default=0,
    )
    if sums == 1 or not isinstance(schedule, Reduce | RegisterTile):
        return sums
    return sums + vectors + 1


def _tile(nest: Nest, schedule: VectorSchedule) -> Iterator[tuple[Dim, int]]:
    for dim in (*nest.parallel, *nest.reduced):
        parts = schedule.parts_of(dim)
        yield dim, max(p.tile for p in parts) if parts else schedule.tiles(dim)
