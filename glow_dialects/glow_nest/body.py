"""The computation of a nest at each of its points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute

from ...lazy import lazy_property
from ..scalar import Expr, arguments, in_order_of_creation, weight
from ..substitution import substitute_all


@dataclass(frozen=True, eq=False)
class Body:
    """
    The computation of the elements that are written at a point from the values that are read there.
    Argument `i` of the expressions is the value with number `i`: first the results of the
    reduction, if there is one, then the operands.

    Values compute in the compute types of their elements. Every conversion names its target, and so
    does every constant without operands beside it.
    """

    results: tuple[Expr, ...]
    elements: tuple[Attribute, ...]
    """The element type of each result, to which it is rounded when it is written."""

    @staticmethod
    def passing(element: Attribute) -> Body:
        """Returns the body that writes its argument."""
        return Body(arguments(1), (element,))

    @lazy_property
    def order(self) -> tuple[Expr, ...]:
        """All expressions, in the order in which they are evaluated."""
        return in_order_of_creation(self.results)

    @lazy_property
    def weight(self) -> int:
        """About the number of operations at a point; writing an argument counts as one."""
        return weight(self.order) + sum(r.index is not None for r in self.results)

    def only(self, numbers: Sequence[int]) -> Body:
        """Returns the body with some of its results alone."""
        if len(numbers) == len(self.results):
            return self
        chosen = [(self.results[n], self.elements[n]) for n in numbers]
        return Body(tuple(r for r, _ in chosen), tuple(e for _, e in chosen))

    def applied(self, given: Sequence[Expr]) -> tuple[Expr, ...]:
        """Returns the results for expressions as arguments."""
        return substitute_all(self.results, given)
