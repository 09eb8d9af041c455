"""Lists in memory of numbers that are not zero, and loops over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ....glow_dialects.glow_nest.affine import Access, Dim
from ....glow_dialects.glow_nest.nest import Listing, RepeatListed
from ....glow_dialects.machine import MachineDescription
from .algebra import ArithAlgebra
from .memory import Address, Bound, FlatBuffers
from .types import INDEX, computes_in_float, memory_type


def fill_list(
    step: Listing, memory: FlatBuffers, machine: MachineDescription, bound: Bound
) -> None:
    """
    Emits a loop without branches. It stores each number after those that are listed so far; the
    next number overwrites it if it is not to stay.
    """
    e, to, dim = memory.emitter, step.numbers, step.numbers.dim
    places = memory.places([step.source, to.place, to.count], bound)
    scalar = ArithAlgebra(e, machine, 1)
    kind = memory_type(to.place.element)

    def body(iv: SSAValue | int, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        (count,) = carried
        number = e.index(iv)
        end = memory.advance({to.place: places[to.place]}, dim, count)[to.place]
        e.store(e.cast("index_cast", number, kind), memory.memref(to.place.buffer), memory.at(end))
        at = memory.advance({step.source: places[step.source]}, dim, iv)[step.source]
        value = memory.load(step.source, at, 0, 0, scalar, raw=False)
        differs = "une" if computes_in_float(value.element) else "ne"
        listed = e.compare(differs, value.ssa, scalar.number(0, value.element).ssa)
        return [e.binary(arith.AddiOp, count, e.select(listed, e.index(1), e.index(0)))]

    (count,) = e.loop_carrying(dim.size, 1, [e.index(0)], body)
    stored = e.cast("index_cast", count, memory_type(to.count.element))
    e.store(stored, memory.memref(to.count.buffer), memory.at(places[to.count]))


def repeat_listed(step: RepeatListed, memory: FlatBuffers, bound: Bound) -> Iterator[Bound]:
    """Yields a loop over groups of neighbours in a list: the values of loop variables inside."""
    e, listing = memory.emitter, step.numbers
    places = memory.places([listing.place, listing.count], bound)
    numbers = {listing.place: places[listing.place]}

    def loaded(access: Access, place: Address) -> SSAValue:
        element = memory_type(access.element)
        value = e.load(memory.memref(access.buffer), memory.at(place), element, 1)
        return e.cast("index_cast", value, INDEX)

    def complete(size: int) -> SSAValue:
        """Returns how many numbers are in complete groups of a size."""
        groups = e.binary(arith.DivUIOp, count, e.index(size))
        return e.binary(arith.MuliOp, groups, e.index(size))

    def of_part(start: SSAValue, end: SSAValue, part: Dim) -> tuple[SSAValue, SSAValue]:
        """Returns the start and the end of the groups of a part."""
        groups = e.binary(arith.DivUIOp, e.binary(arith.SubiOp, end, start), e.index(size))

        def before(number: SSAValue) -> SSAValue:
            numbers = e.fraction(groups, number, part.size)
            return e.binary(arith.AddiOp, start, e.binary(arith.MuliOp, numbers, e.index(size)))

        number = e.index(bound[part])
        after = e.binary(arith.AddiOp, number, e.index(1))
        return before(number), before(after)

    count = loaded(listing.count, places[listing.count])
    size = len(step.dims)
    start, end = complete(step.after) if step.after else e.index(0), complete(size)
    if step.part is not None and step.part.size > 1:
        start, end = of_part(start, end, step.part)
    for at in e.loop_between(start, end, size):
        first = memory.advance(numbers, listing.dim, at)
        values = Bound(bound)
        for i, dim in enumerate(step.dims):
            place = memory.advance(first, listing.dim, i)[listing.place]
            values[dim] = loaded(listing.place, place)
        yield values
