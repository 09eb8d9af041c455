"""The attributes of arguments and results of a function that say what its callers need to know."""

from __future__ import annotations

RANGES = "glow.ranges"
"""
The attribute of an argument that states ranges of indices in it, or of a result that has the
extremes of indices which the network computes.
"""
RANDOM_STATE = "glow.random"
"""The attribute of the argument that random numbers follow from."""
USED = "glow.count"
"""
The attribute of a result of which data decides how much is used: along which axis, and the number
of the result that says how much.
"""
STEPS = "glow.limit"
"""The attribute of a result that says whether a loop had too many steps: which loop."""
VERDICTS = (RANGES, STEPS)
"""The attributes of results that say whether others are valid, which no caller sees."""
