"""Products of powers of symbols and other atoms, of which polynomials are sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Powers: TypeAlias = "tuple[tuple[Any, int], ...]"
"""Atoms, which have names, in order of these, with their powers; () for a constant."""


def order(monomial: Powers) -> tuple[int, tuple[tuple[str, int], ...]]:
    """Returns a key that puts higher degrees first, then earlier names."""
    names = tuple((atom.name, -power) for atom, power in monomial)
    return sum(power for _, power in names), names


def product(a: Powers, b: Powers) -> Powers:
    """Returns the product of monomials."""
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: item[0].name))


def divided(a: Powers, b: Powers) -> Powers | None:
    """Returns the quotient of monomials, None if it is none."""
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) - power
    if min(powers.values(), default=0) < 0:
        return None
    return tuple((atom, power) for atom, power in powers.items() if power)


def text_of(terms: Mapping[Powers, int]) -> str:
    """Returns a sum of monomials with factors as text."""
    text = ""
    for monomial, factor in terms.items():
        parts = [str(atom) for atom, power in monomial for _ in range(power)]
        if abs(factor) != 1 or not parts:
            parts.insert(0, str(abs(factor)))
        if len(parts) > 1 or factor < 0:
            parts = [f"({part})" if " floordiv " in part else part for part in parts]
        sign = "-" if factor < 0 else "+"
        product = " * ".join(parts)
        text += f" {sign} {product}" if text else f"{'-' if factor < 0 else ''}{product}"
    return text
