"""
Statements that differ in the order of dimensions only.

If an operand of one is a transpose of that of the other, and each reads the same elements for the
same values of indices, then the result of the one is a transpose of the other's, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .statement import (
    Apply,
    Constant,
    Convert,
    Loop,
    LoopValue,
    Read,
    Reduce,
    Stage,
    Statement,
    Term,
)


def order_of_result(
    a: Statement, b: Statement, orders: Mapping[int, Sequence[int]]
) -> tuple[int, ...] | None:
    """
    Returns the dimensions of the result of `b` in the order in which that of `a` has them; None if
    the results are not transposes of each other. Dimension `d` of operand `n` of `a` is dimension
    `orders[n][d]` of that of `b`; operands that are not in `orders` are the same.
    """
    match = _Match(orders)
    if a.element != b.element or not match.terms(a.result.value, b.result.value):
        return None
    return match.order(a.result, b.result)


def same_values(a: Term, b: Term) -> bool:
    """Returns whether two terms are equal, if loops of one may stand for those of the other."""
    return _Match({}).terms(a, b)


class _Match:
    """The loops and stages of two statements that correspond, as far as that is known."""

    def __init__(self, orders: Mapping[int, Sequence[int]]):
        self._orders = orders
        self._loops: dict[Loop, Loop] = {}
        self._stages: dict[Stage, tuple[Stage, tuple[int, ...] | None]] = {}

    def order(self, a: Stage, b: Stage) -> tuple[int, ...] | None:
        """Returns the places in `b` of the dimensions of `a`."""
        if len(a.places) != len(b.places):
            return None
        places: list[int | None] = [None] * len(a.places)
        for d, loop in enumerate(a.places):
            if loop is not None:
                if self._loops.get(loop) not in b.places:
                    return None
                places[d] = b.places.index(self._loops[loop])
        # dimensions of size 1 are like each other
        rest = iter([d for d in range(len(b.places)) if d not in places])
        return tuple(next(rest) if d is None else d for d in places)

    def terms(self, a: Term, b: Term) -> bool:
        if type(a) is not type(b) or a.type != b.type or len(a.parts) != len(b.parts):
            return False
        match a, b:
            case Constant(), Constant():
                return a.value == b.value
            case LoopValue(), LoopValue():
                return self._same_loop(a.loop, b.loop)
            case Read(), Read():
                return self._reads(a, b)
            case Apply(), Apply():
                return a.kind == b.kind and all(map(self.terms, a.parts, b.parts))
            case Convert(), Convert():
                return self.terms(a.operand, b.operand)
            case Reduce(), Reduce():
                found = a.combine == b.combine and self.terms(a.body, b.body)
                return found and {self._loops.get(loop) for loop in a.over} == set(b.over)
        return False

    def _same_loop(self, a: Loop, b: Loop) -> bool:
        if a not in self._loops and a.size == b.size and b not in self._loops.values():
            self._loops[a] = b
        return self._loops.get(a) is b

    def _reads(self, a: Read, b: Read) -> bool:
        if isinstance(a.source, Stage) and isinstance(b.source, Stage):
            order = self._stage_order(a.source, b.source)
        elif a.source == b.source and isinstance(a.source, int):
            order = self._orders.get(a.source, range(len(a.shape)))
        else:
            order = None
        if order is None or len(order) != len(b.indices):
            return False
        if not all(self.terms(i, b.indices[d]) for i, d in zip(a.indices, order, strict=True)):
            return False
        if a.outside is None or b.outside is None:
            return a.outside is b.outside
        return self.terms(a.outside, b.outside)

    def _stage_order(self, a: Stage, b: Stage) -> tuple[int, ...] | None:
        if a not in self._stages:
            same = self.terms(a.value, b.value)
            self._stages[a] = b, self.order(a, b) if same else None
        found, order = self._stages[a]
        return order if found is b else None
