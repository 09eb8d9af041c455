"""A register tile of a matrix product: accumulators that stay in registers over the reduction."""

from __future__ import annotations

from glow.svg import Picture

from .heading import heading

ROWS, VECTORS, LANES = 6, 2, 8
CELL, ROW = 20, 30
LEFT, TOP = 250, 150


def draw() -> str:
    picture = Picture(836, 412, "A register tile of 6 rows and 2 vectors")
    text = "6 rows and 2 vectors of 8 lanes, for a CPU with 16 vector registers"
    heading(picture, "A register tile", text)
    _weights(picture)
    _inputs(picture)
    _accumulators(picture)
    _notes(picture)
    return str(picture)


def _vector(picture: Picture, x: float, y: float, colour: str) -> None:
    """Draws a vector register with its lanes."""
    picture.rect(x, y, LANES * CELL, ROW - 6, f"{colour}/20", colour, radius=3)
    for lane in range(1, LANES):
        at = x + lane * CELL
        picture.line((at, y + 1), (at, y + ROW - 7), f"{colour}/40")


def _left(vector: int) -> float:
    return LEFT + vector * (LANES * CELL + 10)


def _weights(picture: Picture) -> None:
    for v in range(VECTORS):
        _vector(picture, _left(v), 96, "orange")
        picture.arrow((_left(v) + LANES * CELL / 2, 124), (_left(v) + LANES * CELL / 2, TOP - 4))
    picture.text(LEFT, 86, "row k of a panel of weights: 2 loads")


def _inputs(picture: Picture) -> None:
    for r in range(ROWS):
        y = TOP + r * ROW
        picture.rect(LEFT - 70, y, CELL + 4, ROW - 6, "green/20", "green", radius=3)
        picture.arrow((LEFT - 42, y + 12), (LEFT - 8, y + 12))
    for i, line in enumerate(("column k of 6 rows", "of the input:", "6 broadcasts")):
        picture.text(LEFT - 84, TOP + ROWS * ROW / 2 - 16 + 17 * i, line, anchor="end")


def _accumulators(picture: Picture) -> None:
    for r in range(ROWS):
        for v in range(VECTORS):
            _vector(picture, _left(v), TOP + r * ROW, "blue")
    middle = (_left(0) + _left(VECTORS - 1) + LANES * CELL) / 2
    picture.text(middle, TOP + ROWS * ROW + 16, "12 accumulators stay in registers for all k",
                 anchor="middle")  # fmt: skip


def _notes(picture: Picture) -> None:
    x, y = _left(VECTORS) + 14, TOP + 4
    lines = (
        ("for each k", True),
        ("12 multiply-adds", False),
        ("8 reads of memory", False),
        ("", False),
        ("16 registers", True),
        ("12 accumulators", False),
        ("2 weights, 1 broadcast", False),
        ("1 in reserve", False),
    )
    for i, (line, bold) in enumerate(lines):
        picture.text(x, y + 10 + 20 * i, line, bold=bold)
    text = "acc[r, v] += broadcast(x[r, k]) * w[k, v]"
    picture.text(836 / 2, 390, text, "muted", size=13, anchor="middle", mono=True)
