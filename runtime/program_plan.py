"""The parts of a linked program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LinkPlan:
    """The objects of a program, and the memory that a run needs."""

    objects: Sequence[str]
    """Keys in the object cache."""
    arena_bytes: int
    threads: int
    """The number of threads that run it together: 1 if its work is not divided."""
