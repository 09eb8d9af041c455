"""Loads and stores of scalars or vectors at linear forms of loop variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerType, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.glow_nest.affine import Access, Buffer, Dim, Indirect, stride_of
from ...llvm.types import element_of
from ..scratch import ALIGNMENT
from ..threads.split import TileSpan
from .algebra import ArithAlgebra, Value
from .emit import Emitter, IndexLike
from .limited_loops import RowCount
from .types import INDEX, bits, lanes_of, memory_type, vector_type

_MAX_INTERLEAVE = 4
"""Largest stride at which contiguous loads and shuffles replace a gather."""


@dataclass(frozen=True)
class Address:
    """A place in a buffer: a dynamic and a constant part."""

    dynamic: SSAValue | None
    constant: int

    def moved(self, distance: int) -> Address:
        """Returns the place so many elements behind."""
        return Address(self.dynamic, self.constant + distance)


Addresses = Mapping[Access, Address]
Point = Mapping[Dim, int]
"""The place of an element relative to its tile."""


class Bound(dict[Dim, IndexLike]):
    """The values of enclosing loop variables, and the number of rows there."""

    def __init__(self, values: Mapping[Dim, IndexLike] = {}, count: RowCount = RowCount()) -> None:
        super().__init__(values)
        self.count = count

    def at(self, dim: Dim, span: TileSpan, number: IndexLike) -> Bound:
        return Bound({**self, dim: number}, self.count)


def on_stack(emitter: Emitter, buffer: Buffer) -> SSAValue:
    """Allocates a buffer for as long as a call of the function takes."""
    array = memref.AllocaOp.get(memory_type(buffer.element), ALIGNMENT, [buffer.high])
    emitter.add(array)
    return array.memref


def offset_of(access: Access, point: Point) -> int:
    """Returns how far a point of a tile is from its start, in elements."""
    total = 0
    for dim, value in point.items():
        stride = access.stride(dim)
        total += stride * value if isinstance(stride, int) else stride[value]
    return total


@dataclass(frozen=True)
class FlatBuffers:
    """The buffers of one kernel as memrefs of one dimension."""

    emitter: Emitter
    flat: Mapping[Buffer, SSAValue]

    def replaced(self, flat: Mapping[Buffer, SSAValue]) -> FlatBuffers:
        """Returns the same with other memrefs for some buffers."""
        return FlatBuffers(self.emitter, {**self.flat, **flat})

    def start(self, access: Access) -> Address:
        """
        Returns the place where all loop variables are 0. Index 0 of a flat memref is element `low`.
        """
        return Address(None, access.place.constant - access.buffer.low)

    def places(self, accesses: Sequence[Access], bound: Mapping[Dim, IndexLike]) -> Addresses:
        """Returns the places of accesses for the values of loop variables."""
        places: Addresses = {a: self.start(a) for a in accesses}
        for dim, value in bound.items():
            places = self.advance(places, dim, value)
        return places

    def advance(self, places: Addresses, dim: Dim, value: IndexLike) -> dict[Access, Address]:
        """Returns the places of accesses at a value of `dim`, given those at the value 0."""
        if isinstance(value, int):
            return {a: p.moved(offset_of(a, {dim: value})) for a, p in places.items()}
        e, result = self.emitter, dict(places)
        # accesses that differ by a constant share the rest of the computation
        known: dict[tuple[SSAValue | None, int], SSAValue] = {}
        for access, place in places.items():
            stride = stride_of(access, dim)
            if stride == 0:
                continue
            if (None, stride) not in known:
                known[None, stride] = e.times(value, stride)
            key = (place.dynamic, stride)
            if key not in known:
                known[key] = e.plus(place.dynamic or 0, known[None, stride])
            result[access] = Address(known[key], place.constant)
        return result

    def further(self, place: Address, distance: IndexLike) -> Address:
        """Returns a place so many elements behind another one."""
        if isinstance(distance, int):
            return place.moved(distance)
        dynamic = distance if place.dynamic is None else self.emitter.plus(place.dynamic, distance)
        return Address(dynamic, place.constant)

    def at(self, place: Address) -> SSAValue:
        """Returns the place as an index."""
        return self.emitter.plus(place.dynamic or 0, place.constant)

    def load(self, access: Access, place: Address, stride: int, algebra: ArithAlgebra) -> Value:
        """
        Returns the elements at a place, `stride` apart, in as many lanes as the algebra has. If the
        stride is 0, every lane has the same element.
        """
        e, element = self.emitter, memory_type(access.element)
        lanes = algebra.lanes if stride else 1
        memory = self.flat[access.buffer]
        if access.read_as is not None:
            several = e.load(memory, self.at(place), i8, bits(element) // 8)
            loaded = e.cast("bitcast", e.as_integer(several), element)
        elif lanes == 1 or stride == 1:
            loaded = e.load(memory, self.at(place), element, lanes)
        elif stride == -1:
            backwards = e.load(memory, self.at(place.moved(1 - lanes)), element, lanes)
            loaded = e.shuffle(backwards, backwards, range(lanes - 1, -1, -1))
        elif 0 < stride <= _MAX_INTERLEAVE:
            loaded = self._interleaved(memory, place, stride, element, lanes)
        else:
            offsets = e.multiples(stride, lanes)
            loaded = e.gather(memory, self.at(place), element, offsets)
        value = algebra.from_memory(loaded, access.element)
        return value._replace(ssa=e.broadcast(value.ssa, algebra.lanes // lanes))

    def load_neighbours(
        self, access: Access, place: Address, stride: int, terms: int, lanes: int
    ) -> SSAValue:
        """
        Returns `terms` narrow elements for each lane, as memory holds them. They follow each other
        at a place; if the stride is 0, all lanes have the same ones.
        """
        e, element = self.emitter, memory_type(access.element)
        memory, at = self.flat[access.buffer], self.at(place)
        if stride:
            return e.load(memory, at, element, terms * lanes)
        whole = e.as_integer(e.load(memory, at, element, terms))
        return e.bitcast(e.broadcast(whole, lanes), element, terms * lanes)

    def load_fields(
        self, access: Access, place: Address, fields: Sequence[int], terms: int, lanes: int
    ) -> SSAValue:
        """
        Loads bytes into lanes of 32 bits, of which each has `terms` parts: four bytes, or two words
        of what is unsigned. Part f of lane i is element i of field f; the fields lie at offsets
        from a place. Missing fields are zeros.
        """
        e, memory, total = self.emitter, self.flat[access.buffer], None
        for number, field in enumerate(fields):
            part = e.load(memory, self.at(place.moved(field)), i8, lanes)
            part = e.cast("extui", part, i32)
            if number:
                part = e.binary(arith.ShLIOp, part, e.constant(part.type, 32 // terms * number))
            total = part if total is None else e.binary(arith.OrIOp, total, part)
        assert total is not None
        return e.bitcast(total, IntegerType(32 // terms), terms * lanes)

    def prefetch(self, access: Access, place: Address, locality: int = 3) -> None:
        """Emits a hint that the element at a place will be read soon."""
        self.emitter.prefetch(self.flat[access.buffer], self.at(place), locality)

    def _interleaved(
        self, memory: SSAValue, place: Address, stride: int, element: Attribute, lanes: int
    ) -> SSAValue:
        """
        Returns every `stride`-th element, from contiguous loads that together end with the last
        element, so that they stay within the buffer.
        """
        e, last = self.emitter, (lanes - 1) * stride
        starts = [min(i * lanes, last + 1 - lanes) for i in range(stride)]
        loads = [e.load(memory, self.at(place.moved(s)), element, lanes) for s in starts]
        # the load that each lane of the result comes from, and its place there
        origin = [min(i * stride // lanes, stride - 1) for i in range(lanes)]
        own = [i * stride - starts[load] for i, load in enumerate(origin)]
        result = loads[0]
        for load in range(1, stride):
            # lanes of the first load are at their place there, then those of all earlier ones at
            # their place in the result
            kept = [own[i] if load == 1 and origin[i] == 0 else i for i in range(lanes)]
            mask = [lanes + own[i] if origin[i] == load else kept[i] for i in range(lanes)]
            result = e.shuffle(result, loads[load], mask)
        return result

    def store(
        self,
        value: Value,
        access: Access,
        place: Address,
        stride: int,
        mask: SSAValue | None,
        algebra: ArithAlgebra,
    ) -> None:
        """Writes the lanes of a value `stride` apart."""
        e, memory = self.emitter, self.flat[access.buffer]
        stored = algebra.to_memory(value, access.element)
        if algebra.lanes == 1 or stride == 1:
            e.store(stored, memory, self.at(place), mask)
            return
        assert mask is None
        for lane in range(algebra.lanes):
            e.store(e.extract(stored, lane), memory, self.at(place.moved(lane * stride)))

    def load_index(self, access: Access, place: Address) -> SSAValue:
        """Returns the integer at a place as an index."""
        return self.emitter.cast("index_cast", self.load_one(access, place), INDEX)

    def load_one(self, access: Access, place: Address) -> SSAValue:
        """Returns the element at a place, as memory holds it."""
        memory, element = self.flat[access.buffer], memory_type(access.element)
        return self.emitter.load(memory, self.at(place), element, 1)

    def distance(self, indirect: Indirect, index: SSAValue) -> SSAValue:
        """
        Returns the distance in elements that an index, or each of a vector of them, stands for (see
        `Indirect`).
        """
        e, lanes = self.emitter, lanes_of(index)
        if indirect.unsigned:
            chosen = self._at_most(index, indirect.size - 1)
        else:
            chosen = self._from_either_end(index, indirect.size)
        distance = e.cast("index_cast", chosen, INDEX)
        if indirect.stride == 1:
            return distance
        stride = e.constant(vector_type(INDEX, lanes), indirect.stride)
        return e.times(distance, stride)

    def _from_either_end(self, index: SSAValue, size: int) -> SSAValue:
        """Returns an index within a size, from the front; a negative one counts from the end."""
        e, lanes = self.emitter, lanes_of(index)
        wide = max(bits(element_of(index.type)), 32 if size < 2**31 else 64)
        if element_of(index.type) != IntegerType(wide):
            index = e.cast("extsi", index, IntegerType(wide))
        t = vector_type(IntegerType(wide), lanes)
        zero, last = e.constant(t, 0), e.constant(t, size - 1)
        wrapped = e.binary(arith.AddiOp, index, e.constant(t, size))
        chosen = e.select(e.compare("slt", index, zero), wrapped, index)
        return e.smaller(e.larger(chosen, zero), last)

    def _at_most(self, index: SSAValue, last: int) -> SSAValue:
        """Returns an index, whose bits are not negative, as far as it is at most `last`."""
        e = self.emitter
        chosen = e.binary(arith.MinUIOp, index, e.constant(index.type, last))
        return chosen if element_of(index.type) == i64 else e.cast("extui", chosen, i64)
