"""
Combinations of the lanes of vectors to one number, or to one vector with a lane for each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import vector
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.glow_nest.nest import Combine
from ...llvm.types import element_of
from .algebra import ArithAlgebra, Value
from .types import REASSOCIATE, bits, computes_in_float, value_type

_BLOCK_BITS = 128
"""The bits of a block within which shuffles need no table of places."""
_LANE_REDUCTIONS = {
    Combine.ADD: vector.CombiningKindAttr(vector.CombiningKindFlag.ADD),
    Combine.MUL: vector.CombiningKindAttr(vector.CombiningKindFlag.MUL),
    Combine.MAXIMUM: vector.CombiningKindAttr(vector.CombiningKindFlag.MAXIMUMF),
    Combine.MINIMUM: vector.CombiningKindAttr(vector.CombiningKindFlag.MINIMUMF),
}


@dataclass(frozen=True)
class LaneReduction:
    """Combines elements of a type: lanes of `wide` vectors become lanes of `narrow` vectors."""

    kind: Combine
    element: Attribute
    wide: ArithAlgebra
    narrow: ArithAlgebra

    def total(self, vectors: Sequence[SSAValue]) -> SSAValue:
        """Combines vectors of one result into one vector."""
        return reduce(self._both, vectors)

    def of_rows(self, vectors: Sequence[SSAValue]) -> Value:
        """
        Combines the lanes of each vector. Returns one number, or for several vectors as many lanes.
        """
        return self._of_one(vectors[0]) if len(vectors) == 1 else self._of_several(vectors)

    def _both(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.wide.combine(self.kind, self._value(a), self._value(b)).ssa

    def _value(self, ssa: SSAValue) -> Value:
        return Value(ssa, self.element)

    def _of_one(self, total: SSAValue) -> Value:
        e, lanes = self.wide.emitter, self.wide.lanes
        kind = _LANE_REDUCTIONS.get(self.kind)
        if kind is not None and computes_in_float(self.element):
            properties = {"kind": kind, "fastmath": REASSOCIATE}
            result = e.op(vector.ReductionOp, (total,), element_of(total.type), properties)
            return self._value(result)
        while lanes > 2:
            lanes //= 2
            halves = (range(lanes), range(lanes, 2 * lanes))
            low, high = (e.shuffle(total, total, half) for half in halves)
            total = self._both(low, high)
        low, high = (self._value(e.extract(total, i)) for i in (0, 1))
        return self.narrow.combine(self.kind, low, high)

    def _of_several(self, vectors: Sequence[SSAValue]) -> Value:
        """
        Combines all lanes of vector `i` into lane `i` of the result. The number of vectors is a
        power of two and at most the number of lanes.

        Two vectors become one, which has the combined halves of both, as often as possible. So each
        instruction works on all lanes.
        """
        e, lanes = self.wide.emitter, self.wide.lanes
        block = max(1, _BLOCK_BITS // bits(value_type(self.element)))
        rows = [[i] for i in range(len(vectors))]
        part = lanes
        while len(vectors) > 1:
            low = list(_halves(lanes, part, block))
            high = [lane + part // 2 for lane in low]
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [self._both(e.shuffle(a, b, low), e.shuffle(a, b, high)) for a, b in pairs]
            places = [low[i] for i in range(0, lanes, part // 2)]
            both = [[*a, *b] for a, b in zip(rows[::2], rows[1::2], strict=True)]
            rows = [[of[place // part] for place in places] for of in both]
            part //= 2
        (total,), (order,) = vectors, rows
        while part > 1:
            low = [i for i in range(len(order) * part) if i % part < part // 2]
            high = [i + part // 2 for i in low]
            total = self._both(e.shuffle(total, total, low), e.shuffle(total, total, high))
            part //= 2
        if order != sorted(order):
            total = e.shuffle(total, total, [order.index(i) for i in range(len(order))])
        return self._value(total)


def _halves(lanes: int, part: int, block: int) -> Iterator[int]:
    """
    Yields the lanes of the first halves of all parts of two vectors: for each block, first the
    lanes of one vector, then those of the other.
    """
    block = lanes if part > block else min(block, lanes)
    for start in range(0, lanes, block):
        for number in range(2):
            for lane in range(start, start + block):
                if lane % part < part // 2:
                    yield number * lanes + lane
