"""Blocked channel layouts: the layouts of values, and how each operator works on them."""

from __future__ import annotations

from . import convolutions, elements, moves, normalization  # noqa: F401
from .demand import demands
from .sizes import block_sizes
from .state import Blocked, Layouts, Plain, rule_of

__all__ = ["Blocked", "Layouts", "Plain", "block_sizes", "demands", "rule_of"]
