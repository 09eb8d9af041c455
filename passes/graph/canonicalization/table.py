"""The table of canonicalization rules."""

from __future__ import annotations

from ..rewriting import RuleTable

CANONICAL = RuleTable()
"""Rules that xDSL's `canonicalize` applies to graph nodes, also on numbers in stacked bodies."""

canonical = CANONICAL.rule
