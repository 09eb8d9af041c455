"""Numbers of rows of caches of keys and values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rows:
    """The numbers of rows of a cache in a program."""

    past: int
    """The rows before a call."""
    new: int
    """The rows that a call adds, behind those."""

    @property
    def total(self) -> int:
        return self.past + self.new


def axis_in_state(axis: int) -> int:
    """
    Returns the dimension of a state that has the rows of a cache, which has them as dimension
    `axis`: at most one other dimension is before them.
    """
    return min(axis, 1)
