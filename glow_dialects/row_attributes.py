"""Attributes of the inputs of a program that takes the number of its rows."""

ROWS = "glow.rows"
"""Of an input: its dimensions that are rows, of which there may be fewer than their size."""
COUNT = "glow.row_count"
"""Of an input, an i64: that it is the number of rows."""
