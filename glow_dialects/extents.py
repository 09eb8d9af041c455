"""
Sizes of dimensions that depend on symbols, with the arithmetic and the comparisons of integers.

An extent is a polynomial of symbols, whose values are whole numbers of known ranges, and of
quotients rounded down. Code that computes shapes of integers computes them of extents too. Sums and
products that have no symbol left are plain integers. `==` tells whether two sizes are the same for
all values of the symbols; an order is decided by the ranges. What these leave open is decided by
`size_decisions`; without them, it is an `UndecidedSizeError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import gcd, inf, prod
from typing import TypeAlias

from xdsl.utils.exceptions import VerifyException

from .monomials import divided, order, product, text_of
from .size_decisions import Question, decided, decisions_in_use
from .symbol import Interval, Symbol, rounded_down


class UndecidedSizeError(VerifyException):
    """A decision about a size that the ranges of its symbols leave open."""


@dataclass(frozen=True)
class Quotient:
    """An extent divided by a positive number, rounded down."""

    dividend: Extent
    divisor: int

    def __str__(self) -> str:
        text = str(self.dividend)
        return f"{f'({text})' if ' ' in text else text} floordiv {self.divisor}"

    name = property(__str__)

    @property
    def interval(self) -> Interval:
        return rounded_down(self.dividend.interval, self.divisor)


Atom: TypeAlias = "Symbol | Quotient"
Monomial: TypeAlias = "tuple[tuple[Atom, int], ...]"
"""Atoms in order of their names, with their powers; () for a constant."""
Size: TypeAlias = "int | Extent"


class Extent:
    """A size that depends on symbols, with the operators of integers."""

    def __init__(self, terms: Mapping[Monomial, int]):
        """`terms` are factors by monomial, with at least one symbol; `sized` makes them."""
        self.terms = dict(sorted(terms.items(), key=lambda item: order(item[0])))
        self._key = tuple(self.terms.items())
        self._hash = hash(self._key)
        self._intervals: dict[bool, Interval] = {}

    @property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols that it depends on."""
        found: set[Symbol] = set()
        for monomial in self.terms:
            for atom, _ in monomial:
                found |= {atom} if isinstance(atom, Symbol) else atom.dividend.symbols
        return frozenset(found)

    def at(self, sizes: Mapping[str, Size]) -> Size:
        """Returns the size for these values of symbols, by name."""
        total: Size = 0
        for monomial, factor in self.terms.items():
            value: Size = factor
            for atom, power in monomial:
                value = value * _atom_at(atom, sizes) ** power
            total = total + value
        return total

    @property
    def interval(self) -> Interval:
        """Bounds on its values, from the ranges of its symbols; not close ones among decisions."""
        close = decisions_in_use() is None
        if close not in self._intervals:
            self._intervals[close] = self._close_interval() if close else self._coarse_interval()
        return self._intervals[close]

    def _close_interval(self) -> Interval:
        low, high = self._coarse_interval()
        for quotient in self._atoms():
            if isinstance(quotient, Quotient) and self._power(quotient) == 1:
                least, most = self._without(quotient, -1)[0], self._without(quotient, 1)[1]
                low = max(low, -rounded_down((0, -least), quotient.divisor)[1])
                return low, min(high, rounded_down((0, most), quotient.divisor)[1])
        return low, high

    def _without(self, quotient: Quotient, side: int) -> Interval:
        """
        Returns bounds of this extent times the divisor of a quotient, in which the quotient times
        the divisor is the dividend, or as much less as rounding can take from it: what makes the
        extent smaller if `side` is -1, larger if it is 1.
        """
        total: Size = 0
        for monomial, factor in self.terms.items():
            rest, d = dict(monomial), quotient.divisor
            if rest.pop(quotient, None) == 1:
                slack = d - 1 if (factor > 0) == (side < 0) else 0
                inner = quotient.dividend - slack
                total = total + inner * sized({tuple(rest.items()): factor})
            else:
                total = total + d * sized({monomial: factor})
        return bounds(total)

    def _coarse_interval(self) -> Interval:
        # counting each atom from its smallest value makes more bounds exact: a * b - a is at
        # least 0 where b is at least 1
        lows = {atom: atom.interval[0] for atom in self._atoms()}
        if -inf in lows.values():
            return -inf, inf
        shifted: Size = 0
        for monomial, factor in self.terms.items():
            value: Size = factor
            for atom, power in monomial:
                value = value * (_extent(atom) + int(lows[atom])) ** power
            shifted = shifted + value
        return _interval(shifted, lows)

    def _power(self, atom: Atom) -> int:
        """Returns the largest power of an atom."""
        return max(dict(monomial).get(atom, 0) for monomial in self.terms)

    def _atoms(self) -> Iterator[Atom]:
        for monomial in self.terms:
            for atom, _ in monomial:
                yield atom

    # arithmetic

    def __add__(self, other: Size) -> Size:
        if not isinstance(other, int | Extent):
            return NotImplemented
        terms = dict(self.terms)
        for monomial, factor in _terms(other).items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return sized(terms)

    def __mul__(self, other: Size) -> Size:
        if not isinstance(other, int | Extent):
            return NotImplemented
        terms: dict[Monomial, int] = {}
        for a, m in self.terms.items():
            for b, n in _terms(other).items():
                monomial = product(a, b)
                terms[monomial] = terms.get(monomial, 0) + m * n
        return sized(terms)

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        return self + other * -1

    def __rsub__(self, other: Size) -> Size:
        return self * -1 + other

    def __pow__(self, power: int) -> Size:
        return prod([self] * power)

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return _quotient_by(self, other) if isinstance(other, int) else _exact(self, other)

    def __rfloordiv__(self, other: int) -> Size:
        if 0 <= other < self.interval[0]:
            return 0
        return other // self._number(f"{other} divided by {self}")

    def __mod__(self, other: Size) -> Size:
        return self - (self // other) * other

    def __rmod__(self, other: int) -> Size:
        return other - (other // self) * self

    def __divmod__(self, other: Size) -> tuple[Size, Size]:
        quotient = self // other
        return quotient, self - quotient * other

    def __rdivmod__(self, other: int) -> tuple[Size, Size]:
        quotient = other // self
        return quotient, other - quotient * self

    def __truediv__(self, other: float) -> float:
        return self._number(f"the real quotient of {self}") / other

    def __rtruediv__(self, other: float) -> float:
        return other / self._number(f"the real quotient of {self}")

    # comparisons

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Extent) and self._key == other._key:
            return True
        if decisions_in_use() is None or not isinstance(other, int | Extent):
            return False
        return _is_zero(self - other)

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: float | Extent) -> bool:
        return not self >= other

    def __gt__(self, other: float | Extent) -> bool:
        return not self <= other

    def __le__(self, other: float | Extent) -> bool:
        if isinstance(other, float):
            return other == inf or (other != -inf and self <= int(other // 1))
        return _not_negative(other - self)

    def __ge__(self, other: float | Extent) -> bool:
        if isinstance(other, float):
            return other == -inf or (other != inf and self >= int(-(-other // 1)))
        return _not_negative(self - other)

    def __bool__(self) -> bool:
        low, high = self.interval
        if low > 0 or high < 0:
            return True
        is_zero = decided(self, Question.IS_ZERO)
        if is_zero is None:
            raise self.undecided(f"whether {self} is 0")
        return not is_zero

    def __abs__(self) -> Size:
        return self if self >= 0 else -self

    # numbers

    def __index__(self) -> int:
        return self._number(f"the number that {self} is")

    __int__ = __index__

    def __float__(self) -> float:
        return float(int(self))

    def _number(self, what: str) -> int:
        """Returns the number that it is, if there are decisions. Raises UndecidedSizeError."""
        found = decided(self, Question.NUMBER)
        if found is None:
            raise self.undecided(what)
        return found

    def undecided(self, what: str) -> UndecidedSizeError:
        """Returns an error to raise: `what` cannot be told, with the ranges of the symbols."""
        ranges = ", ".join(f"{s} is {s.range_text}" for s in sorted(self.symbols, key=str))
        return UndecidedSizeError(
            f"cannot tell {what}: {ranges}; give a narrower range, or bind the symbols"
        )

    def __str__(self) -> str:
        return text_of(self.terms)

    __repr__ = __str__


def sized(terms: Mapping[Monomial, int]) -> Size:
    """Returns a sum of monomials with factors; an integer if no symbol is left."""
    terms = {monomial: factor for monomial, factor in terms.items() if factor}
    return Extent(terms) if any(terms) else terms.get((), 0)


def _extent(atom: Atom) -> Extent:
    return Extent({((atom, 1),): 1})


def symbol_size(name: str, low: int = 1, high: int | None = None) -> Extent:
    """Returns the size that a symbol is. Raises VerifyException for a range without sizes."""
    if low < 0 or (high is not None and high < low):
        raise VerifyException(
            f"expected a range of symbol {name} from 0 or more, found {low} to {high}"
        )
    return _extent(Symbol(name, low, high))


def bounds(size: Size) -> Interval:
    """Returns the smallest and the largest value of a size."""
    return size.interval if isinstance(size, Extent) else (size, size)


def _terms(size: Size) -> Mapping[Monomial, int]:
    return size.terms if isinstance(size, Extent) else {(): size}


def _interval(shifted: Size, lows: Mapping[Atom, float]) -> Interval:
    """Returns the bounds of a size in which each atom counts from its smallest value."""
    low: float = 0
    high: float = 0
    for monomial, factor in _terms(shifted).items():
        ends = [(atom.interval[1] - lows[atom]) ** power for atom, power in monomial]
        most = 0 if 0 in ends else prod(ends)
        if not monomial:
            low, high = low + factor, high + factor
        elif factor < 0:
            low += factor * most
        else:
            high += factor * most
    return low, high


def _atom_at(atom: Atom, sizes: Mapping[str, Size]) -> Size:
    if isinstance(atom, Symbol):
        return sizes.get(atom.name, _extent(atom))
    return atom.dividend.at(sizes) // atom.divisor


def _not_negative(size: Size) -> bool:
    low, high = bounds(size)
    if low >= 0 or high < 0:
        return low >= 0
    assert isinstance(size, Extent)
    is_negative = decided(size, Question.IS_NEGATIVE)
    if is_negative is None:
        raise size.undecided(f"whether {size} is negative")
    return not is_negative


def _is_zero(size: Size) -> bool:
    """Returns whether a size is 0, by the decisions in use."""
    low, high = bounds(size)
    if low > 0 or high < 0 or low == high:
        return low == high == 0
    assert isinstance(size, Extent)
    return bool(decided(size, Question.IS_ZERO))


def _quotient_by(size: Extent, divisor: int) -> Size:
    """Returns a size divided by a number, rounded down, in a form that is unique."""
    if divisor < 0:
        return -size // -divisor
    if not divisor:
        raise ZeroDivisionError("division of a size by zero")
    whole = sized({monomial: factor // divisor for monomial, factor in size.terms.items()})
    rest = sized({monomial: factor % divisor for monomial, factor in size.terms.items()})
    if not isinstance(rest, Extent):
        return whole
    common = gcd(divisor, *(factor for monomial, factor in rest.terms.items() if monomial))
    rest = sized({monomial: factor // common for monomial, factor in rest.terms.items()})
    assert isinstance(rest, Extent)
    return whole + _flat_quotient(rest, divisor // common)


def _flat_quotient(rest: Extent, divisor: int) -> Size:
    """Returns the quotient, of which the dividend is no quotient plus a number."""
    if divisor == 1:
        return rest
    variable = [monomial for monomial in rest.terms if monomial]
    if len(variable) == 1 and rest.terms[variable[0]] == 1:
        ((atom, power), *others) = variable[0]
        if isinstance(atom, Quotient) and power == 1 and not others:
            inner = atom.dividend + rest.terms.get((), 0) * atom.divisor
            return inner // (atom.divisor * divisor)
    low, high = rounded_down(rest.interval, divisor)
    return int(low) if low == high else _extent(Quotient(rest, divisor))


def _exact(size: Extent, divisor: Size) -> Size:
    """Returns the quotient of polynomials. Raises UndecidedSizeError unless it is exact."""
    if not isinstance(divisor, Extent):
        return size // divisor
    lead, scale = next(iter(divisor.terms.items()))
    rest: Size = size
    quotient: Size = 0
    while isinstance(rest, Extent):
        monomial, factor = next(iter(rest.terms.items()))
        found = divided(monomial, lead)
        if found is None or factor % scale:
            break
        part = sized({found: factor // scale})
        quotient, rest = quotient + part, rest - part * divisor
    if isinstance(rest, Extent) or rest:
        return size._number(f"{size} divided by {divisor}") // int(divisor)
    return quotient
