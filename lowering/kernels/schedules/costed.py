"""Proposals of the schedulers of products."""

from __future__ import annotations

from dataclasses import dataclass

from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import Schedule


@dataclass(frozen=True)
class Costed:
    """A schedule with its estimated time."""

    cycles: float
    """Cycles of the whole nest."""
    nest: Nest
    """The nest, perhaps with other loops than it had."""
    schedule: Schedule
