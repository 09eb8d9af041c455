"""
Simplifies nodes that only move data: reshapes, broadcasts, slices, concatenations and pads.

Frontends and other passes leave chains of them. The rules look at one node and the nodes that make
its operands:

- A node that moves nothing, and a splat that is moved, vanish.
- Two of a kind become one: a reshape of a reshape, a slice of a slice, a pad of a pad, a broadcast
  of a broadcast, a concatenation of concatenations along the same axis that have no other user.
- A slice looks through concatenations, pads and broadcasts; neighbouring slices that are
  concatenated are one slice; a gather with indices at equal distances is a slice.
- A pair of reshapes around nodes on each element of one operand cancels, and a reduction keeps its
  dimensions or not as the reshape after it wants.
- What is computed from operands that all repeat tensors of one shape is computed before they are
  repeated.
- A pad with zeros becomes part of the convolution that uses it.

Every rule removes a node, moves a slice or a reshape nearer to the arguments, or a broadcast nearer
to the results, so the rules come to an end. Transposes are left to `glow-sink-transposes`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..levels import GRAPH
from .rewriting import apply_rules
from .shapes import SHAPES


@dataclass(frozen=True)
class SimplifyShapesPass(ModulePass):
    """Merges, cancels and moves nodes that only move data."""

    name = "glow-simplify-shapes"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, SHAPES)
