"""The table from composite operators to their decompositions."""

from __future__ import annotations

from ..rewriting import RuleTable

LOWERINGS = RuleTable()
"""The rules, one for each composite operator. A rule always builds something; it never gives up."""

lowering = LOWERINGS.rule
"""
Registers a rule: `@lowering(FullyConnectedOp)` over `def fully_connected(node, build) -> SSAValue`,
which builds other nodes with `build` and returns the value that replaces the node's result.
"""
