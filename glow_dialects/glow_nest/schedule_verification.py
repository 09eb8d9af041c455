"""The rules for all schedules of nests: of edited ones, and of those that a search tries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from xdsl.utils.exceptions import VerifyException

from .affine import Access, Dim
from .nest import Nest, Reduction
from .schedule import (
    Elementwise,
    GatheredDot,
    Reduce,
    Reducing,
    RegisterTile,
    RegisterTranspose,
    Schedule,
    VectorSchedule,
)


def verify_schedule(nest: Nest, schedule: Schedule) -> None:
    """Raises VerifyException for a schedule with which other results would be computed, or none."""
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
    _verify_tiles(nest, schedule)
    _verify_tables(nest, schedule)
    if isinstance(schedule, Reducing):
        _verify_reducing(nest, schedule)
    elif nest.reduction is not None:
        raise VerifyException(f"expected a schedule for a reduction, found {schedule.kind}")
    if isinstance(schedule, Reduce):
        _verify_rows(nest, schedule)
        _verify_spread(nest, schedule)
    if isinstance(schedule, RegisterTile):
        _verify_register_tile(nest, schedule)
    if isinstance(schedule, RegisterTranspose):
        _verify_transpose(nest, schedule)


def verify_registers(nest: Nest, schedule: Schedule, registers: int) -> None:
    """Raises VerifyException for a register tile that does not fit into so many registers."""
    needed = registers_of(nest, schedule)
    if needed > registers:
        raise VerifyException(
            f"expected a register tile of at most {registers} vector registers, "
            f"found one of {needed}"
        )


def registers_of(nest: Nest, schedule: Schedule) -> int:
    """
    Returns the vector registers that a register tile takes: accumulators, loaded vectors that
    several of them need, one more.
    """
    if not isinstance(schedule, Reducing) or nest.reduction is None:
        return 0
    tile, vector = dict(_tile(nest, schedule)), schedule.vector
    sums = accumulators(nest, tile, vector)
    if sums == 1 or not isinstance(schedule, Reduce | RegisterTile):
        return sums
    vectors = [
        vectors_kept(prod(n for d, n in tile.items() if a.stride(d) != 0), prod(tile.values()))
        for a in nest.reduction.reads
        if vector is not None and a.stride(vector) != 0
    ]
    return sums + min(vectors, default=0) + 1


def sums_of(nest: Nest, schedule: Reducing) -> int:
    """Returns the accumulators of the largest tile of a schedule."""
    return accumulators(nest, dict(_tile(nest, schedule)), schedule.vector)


def accumulators(nest: Nest, tile: Mapping[Dim, int], vector: Dim | None) -> int:
    """
    Returns the accumulators of a tile. Points at which a value of the reduction is the same have
    one for it, unless lanes run over a loop of the reduction.
    """
    assert nest.reduction is not None
    own = {d: n for d, n in tile.items() if d in nest.parallel or d is vector}
    if vector in nest.reduced:
        return nest.reduction.values * prod(own.values())
    read = [nest.reduction.read_by(value) for value in range(nest.reduction.values)]
    return sum(prod(n for d, n in own.items() if any(a.stride(d) for a in of)) for of in read)


def vectors_kept(loaded: int, accumulators: int) -> int:
    """
    Returns how many of the vectors that a step loads for so many accumulators are in registers at a
    time. One that a single accumulator needs is loaded just before it is used.
    """
    return 1 if loaded == accumulators else loaded


def _tile(nest: Nest, schedule: VectorSchedule) -> Iterator[tuple[Dim, int]]:
    """Yields how many elements, or vectors, of each loop the largest tile has."""
    for dim in (*nest.parallel, *nest.reduced):
        parts = schedule.parts_of(dim)
        yield dim, max(p.tile for p in parts) if parts else schedule.tiles(dim)


# loops


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


def _verify_prefetches(nest: Nest, schedule: VectorSchedule) -> None:
    numbers: list[int] = []
    if isinstance(schedule, Elementwise | Reducing):
        numbers += schedule.prefetch_distance
    if isinstance(schedule, Reducing) and schedule.prefetch_lines is not None:
        numbers.append(schedule.prefetch_lines.read)
    if isinstance(schedule, Reducing):
        numbers += schedule.prefetch_steps
        for number, read in enumerate(nest.reduced_reads):
            if number in schedule.prefetch_steps and read.indirect is None:
                raise VerifyException(
                    f"expected steps ahead of reads that an index places, found read {number}"
                )
    if isinstance(schedule, RegisterTile):
        numbers += schedule.prefetch_next_tile
    reads = nest.operands if isinstance(schedule, Elementwise) else nest.reduced_reads
    for number in numbers:
        if not 0 <= number < len(reads):
            raise VerifyException(
                f"expected prefetches of one of {len(reads)} reads, counted from 0, found {number}"
            )


def _verify_tiles(nest: Nest, schedule: VectorSchedule) -> None:
    """
    Checks that a tile reads one index, and that no element is visited twice where a nest writes
    what it reads.
    """
    indices = _common_indices(nest, schedule)
    for dim, tile in _tile(nest, schedule):
        step = tile * (schedule.lanes if dim is schedule.vector else 1)
        if step == 1 or not dim.size:
            continue
        if any(a.stride(dim) != 0 for a in indices):
            raise VerifyException(
                f"expected a tile of 1 of {dim.name}, on which indices depend, found {step}"
            )
        if not nest.in_place or dim not in nest.parallel or schedule.parts_of(dim):
            continue
        masked = dim is schedule.vector and all(w.stride(dim) == 1 for w in nest.writes)
        if dim.size % step and not masked and not schedule.ends_smaller(dim):
            raise VerifyException(
                f"expected a tile of {dim.name} that divides its {dim.size} elements, because "
                f"the nest writes what it reads, found {step}"
            )


def _common_indices(nest: Nest, schedule: VectorSchedule) -> Sequence[Access]:
    """
    Returns the indices of which a tile reads one: all but those of operands whose vectors are
    gathered.
    """
    vector = schedule.vector
    if not isinstance(schedule, Elementwise) or vector is None:
        return nest.index_accesses()
    gathered = {i for a in nest.operands if a.gathers_along(vector) for i in a.indices}
    written = {i for a in nest.writes for i in a.indices}
    return [i for i in nest.index_accesses() if i not in gathered or i in written]


def _verify_tables(nest: Nest, schedule: VectorSchedule) -> None:
    """Checks that loops with tables of places have code of their own for each place."""
    for dim in (*nest.parallel, *nest.reduced):
        tables = [t for a in nest.accesses() if isinstance(t := a.stride(dim), tuple)]
        if not tables:
            continue
        if dim in nest.reduced:
            if isinstance(schedule, Reducing) and dim not in schedule.unrolled:
                raise VerifyException(f"expected {dim.name}, which has tables of places, unrolled")
        elif schedule.step(dim) != dim.size and not schedule.lists_tiles(dim):
            raise VerifyException(
                f"expected all {dim.size} elements of {dim.name}, which has tables of places, in "
                f"a tile, found {schedule.step(dim)}"
            )
        if dim is schedule.vector and not all(within_vectors(t, schedule.lanes) for t in tables):
            raise VerifyException(
                f"expected the places of {schedule.lanes} neighbours along {dim.name} in one vector"
            )


def within_vectors(table: Sequence[int], lanes: int) -> bool:
    """Returns whether each vector of lanes takes its elements from one whole vector of as many."""
    firsts = range(0, len(table), lanes)
    return (max(table) + 1) % lanes == 0 and all(
        {t // lanes for t in table[i : i + lanes]} == {table[i] // lanes} for i in firsts
    )


# what a kind needs


def _verify_reducing(nest: Nest, schedule: Reducing) -> None:
    reduction = nest.reduction
    if reduction is None:
        raise VerifyException(f"expected a reduction for {schedule.kind}, found none")
    if isinstance(schedule, Reduce) and (reduction.terms > 1 or reduction.fields):
        raise VerifyException("expected a schedule for products of groups, found reduce")
    for dim in schedule.unrolled:
        if dim not in nest.reduced or schedule.step(dim) > 1:
            raise VerifyException(
                f"expected unrolled loops to be loops of the reduction without a tile, "
                f"found {dim.name}"
            )
    _verify_steps(nest, schedule)
    if isinstance(schedule, GatheredDot) and schedule.unrolled != frozenset(nest.reduced):
        raise VerifyException("expected all loops of the reduction unrolled, which share loads")
    for dim in nest.reduced:
        if dim is not schedule.vector and schedule.tiles(dim) > 1:
            raise VerifyException(
                f"expected tiles of parallel loops and of the loop of vectors, found one of "
                f"{dim.name}"
            )
    if nest.range is not None:
        _verify_ranged(nest.range.dim, schedule)
    _verify_terms(reduction, schedule)


def _verify_steps(nest: Nest, schedule: Reducing) -> None:
    """Checks that steps emitted together are those of a loop whose size is known."""
    if schedule.steps < 1:
        raise VerifyException(f"expected at least 1 step together, found {schedule.steps}")
    if schedule.steps == 1:
        return
    if schedule.prefetch_steps:
        raise VerifyException("expected single steps where steps ahead are prefetched, found more")
    if counted_loop(nest, schedule) is None:
        found = schedule.reduced[-1].name if schedule.reduced else "none"
        raise VerifyException(
            f"expected {schedule.steps} steps together of an innermost loop of the reduction of "
            f"known size that is not unrolled, found {found}"
        )


def counted_loop(nest: Nest, schedule: Reducing) -> Dim | None:
    """Returns the innermost loop of a reduction if it is emitted, with a known size."""
    inner = schedule.reduced[-1] if schedule.reduced else None
    if inner is None or inner in schedule.unrolled or inner.limit is not None:
        return None
    return None if nest.range is not None and inner is nest.range.dim else inner


def _verify_ranged(dim: Dim, schedule: Reducing) -> None:
    """Checks that a loop whose bounds are known at run time is a loop of single steps."""
    if not isinstance(schedule, Reduce):
        raise VerifyException(f"expected a schedule for ranges, reduce, found {schedule.kind}")
    if dim is schedule.vector or dim in schedule.unrolled:
        raise VerifyException(
            f"expected a loop over {dim.name}, which has a range, found lanes or unrolled steps"
        )


def _verify_terms(reduction: Reduction, schedule: Reducing) -> None:
    """Checks that lanes of products of groups load whole groups."""
    vector = schedule.vector
    if reduction.terms == 1 or vector is None:
        return
    for number, read in enumerate(reduction.reads):
        apart = 1 if number == 0 and reduction.fields else reduction.terms
        if schedule.lanes > 1 and read.stride(vector) not in (0, apart):
            raise VerifyException(
                f"expected vectors along a loop whose groups of {reduction.terms} terms are "
                f"contiguous, found {vector.name}"
            )


def _verify_rows(nest: Nest, schedule: Reduce) -> None:
    """Checks that results that become lanes have a tile of whole vectors, and are contiguous."""
    rows, lanes = schedule.rows, schedule.row_lanes
    if rows is None:
        return
    if lanes < 1 or lanes & (lanes - 1) or lanes > schedule.lanes or schedule.tiles(rows) % lanes:
        raise VerifyException(
            f"expected row_lanes to be a power of two that divides the tile of {rows.name}, "
            f"{schedule.tiles(rows)}, found {lanes}"
        )
    if schedule.vector not in nest.reduced or any(w.stride(rows) != 1 for w in nest.writes):
        raise VerifyException(
            f"expected vectors over a loop of the reduction, and results that are contiguous along "
            f"{rows.name}"
        )


def _verify_spread(nest: Nest, schedule: Reduce) -> None:
    """Checks that tiles whose elements are far apart cover a parallel loop."""
    dim = schedule.spread
    if dim is None:
        return
    if dim not in nest.parallel or dim in (schedule.vector, schedule.rows) or dim.limit:
        raise VerifyException(
            f"expected a tile to be spread over a parallel loop without a limit, along which "
            f"neither vectors nor rows run, found {dim.name}"
        )
    if dim.size % schedule.tiles(dim):
        raise VerifyException(
            f"expected a tile that divides the {dim.size} elements of {dim.name}, over which it is "
            f"spread, found {schedule.tiles(dim)}"
        )


def _verify_register_tile(nest: Nest, schedule: RegisterTile) -> None:
    reduction, chunks = nest.reduction, schedule.chunks
    if reduction is None or not reduction.is_product:
        raise VerifyException("expected a product of two reads for register_tile")
    if schedule.listed is not None and not schedule.parts_of(schedule.listed):
        raise VerifyException(f"expected parts of {schedule.listed.name}, which is listed")
    for number, dim in schedule.prefetch_next_tile.items():
        if dim not in nest.parallel or dim is schedule.vector:
            raise VerifyException(
                f"expected the next tile of a read along a parallel loop other than that of the "
                f"vectors, found {number} along {dim.name}"
            )
    if chunks is None:
        return
    if schedule.reduced[:1] != (chunks.number,) or chunks.inside not in nest.parallel:
        raise VerifyException(
            "expected chunks whose number is the first loop of the reduction, inside a parallel "
            f"loop, found {chunks.number.name} and {chunks.inside.name}"
        )
    if not nest.keeps_sums:
        raise VerifyException("expected chunks of sums that can wait where nothing else is")


def _verify_transpose(nest: Nest, schedule: RegisterTranspose) -> None:
    """Checks that a copy loads along one loop and stores along the other."""
    vector, turned = schedule.vector, schedule.turned
    if not nest.raw or nest.in_place or len(nest.operands) != 1 or nest.reduction is not None:
        raise VerifyException("expected a copy for register_transpose")
    (read,), (write,) = nest.operands, nest.writes
    if vector is None or (read.stride(turned), write.stride(vector)) != (1, 1) or read.indirect:
        raise VerifyException(
            f"expected loads that are contiguous along {turned.name}, and stores along the loop "
            "of vectors"
        )
