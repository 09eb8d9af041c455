"""Errors in formulas, with their places."""

from __future__ import annotations

from xdsl.utils.exceptions import VerifyException


class FormulaError(VerifyException):
    """A mistake in a formula. The message shows the line of it with a caret below the place."""

    def __init__(self, message: str, text: str, position: int):
        self.reason = message
        self.text = text
        self.position = position
        start = text.rfind("\n", 0, position) + 1
        end = text.find("\n", position)
        line = text[start:] if end < 0 else text[start:end]
        shown = line.lstrip()
        column = position - start - (len(line) - len(shown))
        super().__init__(f"{message}\n  {shown.rstrip()}\n  {' ' * max(0, column)}^")

    def about(self, operands: str) -> FormulaError:
        """Returns the same mistake, with what the formula is about."""
        return FormulaError(f"{self.reason}; found {operands}", self.text, self.position)
