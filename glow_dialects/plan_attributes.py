"""The attributes of a function in which a memory plan is recorded. All are sizes in bytes."""

from __future__ import annotations

ARENA_SIZE = "glow.arena_size"
"""The attribute with the size of the arena, in which activations lie."""
ARENA_LOWER_BOUND = "glow.arena_lower_bound"
"""The maximum over time of the bytes alive: no plan can need less."""
WEIGHTS_SIZE = "glow.weights_size"
"""The attribute with the size of the weight segment."""
KEPT_PEAK = "glow.kept_peak"
"""
The bytes that a graph would use at most if it computed no value again (`glow-rematerialize`).
"""
