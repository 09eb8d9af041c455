"""
Index arithmetic as sums.

Every index is kept as `constant + coefficient * atom + ...` until something needs it as a value, so
that addresses can be split by loop: each loop level adds only what it contributes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import SSAValue


@dataclass(frozen=True, eq=False, slots=True)
class Atom:
    """An index that is not a sum: an induction variable, or the result of other operations."""

    value: SSAValue
    """A value in the converted function, of type i64."""
    depth: int
    """The nesting depth of the region in which the value is defined; 1 is the function's."""
    number: int
    """Order of definition, which makes the order of terms deterministic."""


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant + sum(coefficient * atom)`; terms are ordered by depth, then by definition."""

    constant: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()


ZERO = Linear()


def combine(parts: Iterable[tuple[Linear, int]]) -> Linear:
    """Returns the sum of linear forms times factors."""
    constant = 0
    sums: dict[Atom, int] = {}
    for part, factor in parts:
        constant += part.constant * factor
        for atom, coefficient in part.terms:
            sums[atom] = sums.get(atom, 0) + coefficient * factor
    terms = [(a, c) for a, c in sums.items() if c]
    if len(terms) > 1:
        terms.sort(key=lambda term: (term[0].depth, term[0].number))
    return Linear(constant, tuple(terms))
