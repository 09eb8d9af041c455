"""Symbols of sizes: named whole numbers of known ranges."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TypeAlias

KEYWORDS = ("floordiv", "where", "from", "to")
"""Words that the text of sizes uses itself."""
Interval: TypeAlias = "tuple[float, float]"


@dataclass(frozen=True)
class Symbol:
    """The name of a whole number from `low` to `high`; None for no largest one."""

    name: str
    low: int = 1
    high: int | None = None

    def __str__(self) -> str:
        plain = self.name.isascii() and self.name.isidentifier()
        return self.name if plain and self.name not in KEYWORDS else _quoted(self.name)

    @property
    def range_text(self) -> str:
        """The text of the range: `from 2 to 64`."""
        return f"from {self.low}" + ("" if self.high is None else f" to {self.high}")

    @property
    def interval(self) -> Interval:
        return self.low, inf if self.high is None else self.high


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def rounded_down(interval: Interval, divisor: int) -> Interval:
    """Returns the bounds of quotients that are rounded down."""
    low, high = (end if abs(end) == inf else end // divisor for end in interval)
    return low, high
