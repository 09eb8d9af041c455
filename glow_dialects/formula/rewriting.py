"""Functions that make formulas from other formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .syntax import (
    Binary,
    Call,
    Choice,
    ElementAccess,
    Equation,
    Expression,
    Formula,
    Index,
    Name,
    Number,
    Reduction,
    Unary,
    inside,
)


def with_order(formula: Formula, name: str, order: Sequence[int]) -> Formula | None:
    """
    Returns the formula for an operand whose dimensions have another order: where it read dimension
    `d`, it reads dimension `order[d]`. None if it reads the operand with packs, or asks for its
    sizes.
    """
    equations = [formula.result, *formula.definitions]
    bounds = [b.size for e in equations for b in e.all_bounds if b.size is not None]
    bounds += [side for e in equations for limit in e.limits for side in (limit.left, limit.right)]
    for e in (part for whole in (*(e.value for e in equations), *bounds) for part in inside(whole)):
        if isinstance(e, ElementAccess) and e.name == name:
            if len(e.indices) != len(order) or not all(map(_is_plain, e.indices)):
                return None
        if isinstance(e, Call) and e.function == "size" and Name(name) in e.arguments:
            return None
    change = _Order(name, order)
    return Formula(
        change.equation(formula.result), tuple(map(change.equation, formula.definitions))
    )


def dimension_names(formula: Formula) -> set[str]:
    """Returns the properties that say for which dimensions indices of reads are."""
    reads = (a for e in (formula.result, *formula.definitions) for a in e.accesses)
    return {i.dims.name for a in reads for i in a.indices if isinstance(i.dims, Name)}


def _is_plain(index: Index) -> bool:
    names = (e for e in inside(index.value) if isinstance(e, Name))
    return index.dims is None and not any(n.is_pack for n in names)


class _Order:
    def __init__(self, name: str, order: Sequence[int]):
        self._name = name
        self._order = order

    def equation(self, e: Equation) -> Equation:
        return replace(e, value=self.visit(e.value))

    def visit(self, e: Expression) -> Expression:
        match e:
            case ElementAccess():
                return self._access(e)
            case Call():
                return replace(e, arguments=tuple(map(self.visit, e.arguments)))
            case Unary():
                return replace(e, operand=self.visit(e.operand))
            case Binary():
                return replace(e, left=self.visit(e.left), right=self.visit(e.right))
            case Choice():
                then, condition = self.visit(e.then), self.visit(e.condition)
                return Choice(then, condition, self.visit(e.otherwise), e.at)
            case Reduction():
                return replace(e, body=self.visit(e.body))
            case Number() | Name():
                return e

    def _access(self, e: ElementAccess) -> ElementAccess:
        indices = [Index(self.visit(i.value), i.dims) for i in e.indices]
        if e.name == self._name:
            there = dict(zip(self._order, indices, strict=True))
            indices = [there[d] for d in range(len(indices))]
        outside = None if e.outside is None else self.visit(e.outside)
        return replace(e, indices=tuple(indices), outside=outside)
