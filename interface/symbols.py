"""
Sizes of symbolic dimensions: those that a caller names, and those that follow from inputs.

A symbolic dimension is a string in the shape of a `TensorInfo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

from ..errors import GlowError, InputError, ModelError
from ..wording import did_you_mean

if TYPE_CHECKING:
    from ..glow_dialects.extents import Extent, Size
    from .signature import TensorInfo


@dataclass(frozen=True)
class SizeRange:
    """The sizes that a symbol may have."""

    low: int
    high: int

    def expect(self, symbol: str, size: int) -> None:
        """Raises InputError unless the range has this size."""
        if not self.low <= size <= self.high:
            raise InputError(
                f"symbol {symbol!r} is {size}: expected a size from {self.low} to {self.high}"
            )


def checked_sizes(symbols: object) -> dict[str, int]:
    """
    Returns sizes by symbol as plain integers; none for None. Raises GlowError unless `symbols` is a
    mapping of names to integers of at least 1.
    """
    return {name: _checked_size(name, size) for name, size in _by_name(symbols).items()}


def listed_sizes(symbols: object) -> list[object]:
    """
    Returns the sizes of several programs, each of which `checked_sizes` takes. Raises GlowError
    unless `symbols` lists them.
    """
    if isinstance(symbols, Mapping | str) or not isinstance(symbols, Iterable):
        raise GlowError(
            f'expected a list of sizes by symbol, such as [{{"batch": 1}}, {{"batch": 8}}], found '
            f"{symbols!r}"
        )
    return list(symbols)


def checked_ranges(symbols: object) -> tuple[dict[str, int], dict[str, SizeRange]]:
    """
    Returns sizes and ranges of sizes by symbol. Raises GlowError as `checked_sizes` does, but also
    takes pairs of the smallest and the largest size.
    """
    sizes: dict[str, int] = {}
    ranges: dict[str, SizeRange] = {}
    for name, size in _by_name(symbols).items():
        if isinstance(size, list):
            raise GlowError(
                f"expected a size of symbol {name}, or a tuple of the smallest and the largest "
                f"one, such as (1, 64), found {size!r}"
            )
        if not isinstance(size, tuple):
            sizes[name] = _checked_size(name, size)
            continue
        if len(size) != 2:
            raise GlowError(
                f"expected the smallest and the largest size of symbol {name}, such as (1, 64), "
                f"found {size!r}"
            )
        low, high = (_checked_size(name, s) for s in size)
        if low > high:
            raise GlowError(f"symbol {name}: the smallest size {low} is above the largest, {high}")
        ranges[name] = SizeRange(low, high)
    return sizes, ranges


def _by_name(symbols: object) -> Mapping[str, object]:
    if symbols is None:
        return {}
    if not isinstance(symbols, Mapping):
        raise GlowError(
            f'expected symbols as a mapping of names to sizes, such as {{"batch": 4}}, found '
            f"{symbols!r}"
        )
    for name in symbols:
        if not isinstance(name, str):
            raise GlowError(f"expected the name of a symbol as a string, found {name!r}")
    return symbols


def _checked_size(name: str, size: object) -> int:
    if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
        raise GlowError(f"expected a whole number of at least 1 for symbol {name}, found {size!r}")
    return int(size)


class DerivedSize(str):
    """The text of a size that symbols decide without being one of them, such as `2 * seq`."""

    extent: Extent

    @classmethod
    def of(cls, size: Size) -> str | int:
        """Returns a size as a shape of a `TensorInfo` has it: a symbol by its name."""
        if isinstance(size, int):
            return size
        for symbol in size.symbols:
            if str(symbol) == str(size):
                return symbol.name
        found = cls(size)
        found.extent = size
        return found

    def at(self, sizes: Mapping[str, int]) -> str | int:
        """Returns the size for these sizes of symbols; other symbols stay."""
        return self.of(self.extent.at(sizes))


class Binding:
    """The sizes of symbols from the shapes of inputs."""

    def __init__(self, inputs: Sequence[TensorInfo]):
        self._inputs = inputs
        places = {
            (i, d): size
            for i, info in enumerate(inputs)
            for d, size in enumerate(info.shape)
            if isinstance(size, str) and not isinstance(size, DerivedSize)
        }
        self._derived = [
            (i, d, size)
            for i, info in enumerate(inputs)
            for d, size in enumerate(info.shape)
            if isinstance(size, DerivedSize)
        ]
        self.symbols: tuple[str, ...] = tuple(dict.fromkeys(places.values()))
        """All symbols, in the order in which inputs mention them."""
        number = {symbol: n for n, symbol in enumerate(self.symbols)}
        for i, d, size in self._derived:
            for name in sorted({symbol.name for symbol in size.extent.symbols} - number.keys()):
                raise ModelError(
                    f"{self._place(i, d)} is {size}: expected an input with a dimension {name}"
                )
        self._places = [(i, d, number[symbol]) for (i, d), symbol in places.items()]

    def sizes(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """
        Returns the size of each symbol, if inputs have these shapes, which are of the right ranks.

        Raises InputError, naming both inputs, if they give a symbol different sizes, and for a size
        that is not the one that follows from the symbols.
        """
        found = tuple(self._sizes(shapes))
        if self._derived:
            self._expect_derived(found, shapes)
        return found

    def _expect_derived(self, sizes: Sequence[int], shapes: Sequence[Sequence[int]]) -> None:
        known = dict(zip(self.symbols, sizes, strict=True))
        for i, d, size in self._derived:
            wanted, found = size.at(known), shapes[i][d]
            if wanted != found:
                names = sorted(symbol.name for symbol in size.extent.symbols)
                reasons = ", ".join(f"{n} is {known[n]} in {self._first_place(n)}" for n in names)
                raise InputError(
                    f"{self._place(i, d)} is {found}: expected {size}, which is {wanted}, because "
                    f"{reasons}"
                )

    def _first_place(self, symbol: str) -> str:
        return next(self._place(i, d) for i, d, n in self._places if self.symbols[n] == symbol)

    def known(self, shapes: Mapping[str, Sequence[int | None]]) -> dict[str, int]:
        """
        Returns the sizes that follow from the shapes of some inputs by name; the shapes may lack
        sizes. Shapes of another rank than the input's give no sizes. Raises InputError as `sizes`
        does.
        """
        given: list[Sequence[int | None]] = []
        for info in self._inputs:
            shape = shapes.get(info.name, ())
            given.append(shape if len(shape) == len(info.shape) else [None] * len(info.shape))
        found = self._sizes(given)
        return {s: size for s, size in zip(self.symbols, found, strict=True) if size >= 0}

    def _sizes(self, shapes: Sequence[Sequence[int | None]]) -> list[int]:
        """Returns the size of each symbol, -1 for those that the shapes do not decide."""
        found = [-1] * len(self.symbols)
        for i, d, n in self._places:
            size = shapes[i][d]
            if size is None or found[n] == size:
                continue
            if found[n] >= 0:
                raise self._conflict(n, shapes)
            found[n] = size
        return found

    def _conflict(self, number: int, shapes: Sequence[Sequence[int | None]]) -> InputError:
        sizes: dict[int, str] = {}
        for i, d, n in self._places:
            size = shapes[i][d]
            if n == number and size is not None:
                sizes.setdefault(size, self._place(i, d))
        found = ", but ".join(f"{size} in {place}" for size, place in sizes.items())
        return InputError(f"symbol {self.symbols[number]!r} is {found}: expected one size")

    def _place(self, index: int, dimension: int) -> str:
        return f"dimension {dimension} of input {self._inputs[index].name!r}"

    def places(self, symbol: str) -> str:
        """Returns the place of a symbol."""
        return ", ".join(self._place(i, d) for i, d, n in self._places if self.symbols[n] == symbol)

    def expect_symbol(self, name: object) -> None:
        """Raises GlowError unless there is a symbol with this name."""
        if not isinstance(name, str):
            raise GlowError(f"expected the name of a symbol as a string, found {name!r}")
        if name not in self.symbols:
            raise GlowError(
                f"no symbol is called {name!r}{did_you_mean(name, self.symbols)}; "
                f"the symbols are {', '.join(self.symbols)}"
            )

    def key(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """
        Returns the size of each symbol, in the caller's names. Raises GlowError unless there is
        exactly one for each symbol.
        """
        for name in sizes:
            self.expect_symbol(name)
        if missing := [s for s in self.symbols if s not in sizes]:
            where = "; ".join(f"{s} ({self.places(s)})" for s in missing)
            raise GlowError(f"give sizes to all symbols; there is none for: {where}")
        return tuple(sizes[s] for s in self.symbols)
