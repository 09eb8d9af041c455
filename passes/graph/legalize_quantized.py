"""
Makes a graph in QDQ form compute with integers.

In QDQ form, nodes compute real numbers from dequantized operands, and their results are quantized.
This pass

1. moves dequantization towards the results and quantization towards the arguments, over nodes that
   only move numbers or keep their order, so that these work on stored numbers; the two cancel where
   they meet, and limits that quantization applies anyway vanish (`integers/moves.py`, `bounds.py`);
2. computes convolutions and matrix products of dequantized operands on the stored numbers, with
   zero points in the bias (`integers/products.py`);
3. takes the division by the scale of a result into the constants before it
   (`integers/epilogues.py`). With `integer-only`, that multiplication and what else is between
   becomes integer arithmetic where it can (`integers/fixed_point.py`).

Dequantizations of constants that are left are folded. A graph without quantized types stays as
it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ..levels import GRAPH
from .fold_constants import FoldConstantsPass
from .integers import EPILOGUES, INTEGERS, MOVES, PRODUCTS
from .rewriting import apply_rules, tensor_nodes


@dataclass(frozen=True)
class LegalizeQuantizedPass(ModulePass):
    """Computes on stored numbers between dequantization and quantization."""

    name = "glow-legalize-quantized"
    level = GRAPH

    integer_only: bool = False
    """
    Compute by integers alone between the first quantization and the last dequantization, where all
    nodes have such a form: with multipliers in fixed point, shifts for powers of two, and tables.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(isinstance(n, DequantizeOp | QuantizeOp) for n in tensor_nodes(op)):
            return
        apply_rules(op, MOVES)
        FoldConstantsPass(keep_quantized=True).apply(ctx, op)
        apply_rules(op, PRODUCTS)
        apply_rules(op, MOVES)
        if self.integer_only:
            apply_rules(op, INTEGERS)
            apply_rules(op, MOVES)
        apply_rules(op, EPILOGUES)
        FoldConstantsPass().apply(ctx, op)
