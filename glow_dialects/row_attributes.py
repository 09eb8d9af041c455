"""Attributes of the inputs of a program that takes the number of its rows."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

ROWS = "glow.rows"
"""Of an input: its dimensions that are rows, of which there may be fewer than their size."""
COUNT = "glow.row_count"
"""Of an input, an i64: that it is the number of rows."""


def inputs_with_rows(function: FuncOp) -> Iterator[tuple[SSAValue, list[int]]]:
    """Yields the inputs of a function that have rows, and which of their dimensions these are."""
    if function.is_declaration or function.arg_attrs is None:
        return
    for argument, about in zip(function.args, function.arg_attrs, strict=True):
        if isinstance(dims := about.data.get(ROWS), DenseArrayBase):
            yield argument, [int(d) for d in dims.get_values()]
