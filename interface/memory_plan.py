"""The memory of a compiled program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Buffer:
    """An activation's place in the arena while it lives."""

    name: str
    offset: int
    """Bytes from the start of the arena."""
    size: int
    """Bytes."""
    first: int
    """Index of the operation of the program that allocates it."""
    last: int
    """Index of the operation that ends its life."""

    def overlaps(self, other: Buffer) -> bool:
        """Returns whether the two share bytes at any moment of their lives."""
        apart = self.last < other.first or other.last < self.first
        disjoint = (
            self.offset + self.size <= other.offset or other.offset + other.size <= self.offset
        )
        return not (apart or disjoint)


@dataclass(frozen=True)
class MemoryPlan:
    """The places of all buffers and weights. All sizes are in bytes."""

    arena_bytes: int
    """The bytes that one run needs in addition to inputs, outputs and weights."""
    lower_bound: int
    """
    The maximum over time of the bytes alive: no plan for this order of instructions needs less.
    """
    weight_bytes: int
    """The weight segment, shared by all runs."""
    buffers: tuple[Buffer, ...]
    """Activations in order of allocation."""
    kept_peak: int = 0
    """
    If `memory_budget` has values computed again: the bytes that the network would use at most if it
    kept them instead; else 0.
    """

    def __repr__(self) -> str:
        return (
            f"MemoryPlan(arena_bytes={self.arena_bytes}, lower_bound={self.lower_bound}, "
            f"weight_bytes={self.weight_bytes}, buffers=({len(self.buffers)}))"
        )
