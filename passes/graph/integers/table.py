"""The tables of rules."""

from __future__ import annotations

from ..rewriting import RuleTable

MOVES = RuleTable()
"""Rules that move, merge and cancel quantization and dequantization; they change no number."""
PRODUCTS = RuleTable()
"""Rules that compute products of dequantized operands on the stored numbers."""
EPILOGUES = RuleTable()
"""The rules for nodes between a product of integers and the quantization of its result."""
INTEGERS = RuleTable()
"""The rules that compute by integers alone between dequantization and quantization."""

move = MOVES.rule
product = PRODUCTS.rule
epilogue = EPILOGUES.rule
integer = INTEGERS.rule
