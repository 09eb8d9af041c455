"""
Tables that are readable at any width: numbers are never cut, long texts fold.

A table that is too wide for the screen is written as a list instead: the texts of a row in one
line, and below them its numbers, each after the name of its column.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

LEAST_TEXT = 14
"""Characters that a column of longer texts has at least."""
_BORDER = 3
"""Characters between two columns."""
_INDENT = 4


class DataTable(Table):
    """A titled table of columns of texts and of numbers."""

    def __init__(self, title: str):
        # wide enough for the title, which would wrap otherwise
        super().__init__(title=title, title_justify="left", min_width=len(title) + 4)

    def texts(self, *names: str) -> DataTable:
        """Adds columns of texts, which fold."""
        for name in names:
            self.add_column(name, overflow="fold")
        return self

    def numbers(self, *names: str) -> DataTable:
        """Adds columns of numbers, which stay in one line."""
        for name in names:
            self.add_column(name, justify="right", no_wrap=True)
        return self

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._least_width() <= options.max_width:
            yield from super().__rich_console__(console, options)
        else:
            yield from self._as_list(options.max_width)

    def _least_width(self) -> int:
        widths = (
            _natural(c) if c.no_wrap else min(_natural(c), max(LEAST_TEXT, _width(c.header)))
            for c in self.columns
        )
        return sum(widths) + _BORDER * len(self.columns) + 1

    def _as_list(self, width: int) -> Iterator[Text | Padding]:
        yield Text(str(self.title), "italic")
        rows = zip(*(column.cells for column in self.columns), strict=True)
        for cells in rows:
            pairs = list(zip(self.columns, cells, strict=True))
            texts = [str(cell) for column, cell in pairs if not column.no_wrap and str(cell)]
            yield Text("  ".join(texts), "bold", overflow="fold")
            numbers = [f"{c.header} {cell}" for c, cell in pairs if c.no_wrap and str(cell)]
            for line in _lines(numbers, width - _INDENT):
                yield Padding(Text(line, overflow="fold"), (0, 0, 0, _INDENT))


def _natural(column: Column) -> int:
    return max(map(_width, (column.header, *column.cells)))


def _width(cell: object) -> int:
    return Text(str(cell)).cell_len


def _lines(parts: list[str], width: int) -> Iterator[str]:
    """Yields lines of parts with commas between them, as many in a line as fit."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) + 2 > width:
            yield f"{line},"
            line = part
        else:
            line = f"{line}, {part}" if line else part
    if line:
        yield line


def shortened(text: str, longest: int = 40) -> str:
    """
    Returns a text without its middle if it is longer: names differ in their beginnings and ends.
    """
    if len(text) <= longest:
        return text
    head = (longest - 1) // 2
    return f"{text[:head]}…{text[head + 1 - longest :]}"
