"""A Winograd convolution of tiles of 2 x 2 outputs and a filter of 3 x 3."""

from __future__ import annotations

from glow.svg import Picture

from .heading import MARGIN, heading

TILE = 4
"""Transformed numbers in each direction: m + r - 1 for outputs of m x m and a filter of r x r."""
LEFT, TOP, HEIGHT = MARGIN, 96, 132
WIDTH = 860
ROWS = ("blue", "orange", "green", "purple")
"""The colours of tiles: each is a row of the matrices that are multiplied."""


def draw() -> str:
    picture = Picture(WIDTH, 322, "The steps of a Winograd convolution")
    text = (
        "F(2 x 2, 3 x 3): a tile of 2 x 2 outputs takes 16 multiplications for each input channel, "
        "by the definition 36."
    )
    heading(picture, "Winograd convolution", text)
    _input(picture, LEFT, TOP)
    _arrow(picture, 168, "B\u1d40 d B")
    _planes(picture, 252, TOP)
    _arrow(picture, 402, "")
    _products(picture, 488, TOP)
    _arrow(picture, 664, "A\u1d40 m A")
    _output(picture, 752, TOP)
    return str(picture)


def _arrow(picture: Picture, x: float, text: str) -> None:
    y = TOP + HEIGHT / 2
    picture.arrow((x, y), (x + 70, y))
    picture.text(x + 35, y - 10, text, anchor="middle")


def _caption(picture: Picture, x: float, name: str, *lines: str) -> None:
    picture.text(x, TOP + HEIGHT + 30, name, bold=True)
    for i, line in enumerate(lines):
        picture.text(x, TOP + HEIGHT + 48 + 16 * i, line, "muted", size=11)


def _matrix(picture: Picture, x: float, y: float, width: float, row: float) -> None:
    """Draws a matrix with a row for each tile."""
    for i, colour in enumerate(ROWS):
        picture.rect(x, y + i * row, width, row - 1, f"{colour}/45")


def _input(picture: Picture, x: float, y: float) -> None:
    cell = HEIGHT / 6
    for i in range(6):
        for j in range(6):
            picture.rect(x + j * cell, y + i * cell, cell, cell, "page", "rule")
    side = TILE * cell
    for tile, colour in enumerate(ROWS):
        inset = 1.5 + tile
        left, top = x + tile % 2 * 2 * cell + inset, y + tile // 2 * 2 * cell + inset
        length = side - 2 * inset
        picture.rect(left, top, length, length, "none", colour, thickness=2, radius=3)
    _caption(picture, x, "input", "Tiles of 4 x 4", "overlap by 2.")


def _planes(picture: Picture, x: float, y: float) -> None:
    """Draws the sixteen matrices, one for each place in a transformed tile."""
    for i in range(TILE):
        for j in range(TILE):
            _matrix(picture, x + j * 36, y + 1 + i * 34, 28, 7)
    lines = "16 matrices V: a row for", "each tile, a column for", "each input channel."
    _caption(picture, x, "transformed input", *lines)


def _products(picture: Picture, x: float, y: float) -> None:
    top = y + 34
    _matrix(picture, x, top, 44, 16)
    picture.text(x + 56, top + 38, "\u00d7", size=16, anchor="middle")
    picture.rect(x + 68, top + 10, 30, 44, "grey/30", "grey", radius=2)
    picture.text(x + 110, top + 37, "=", size=16, anchor="middle")
    _matrix(picture, x + 122, top, 30, 16)
    for at, name in ((22, "V"), (83, "U"), (137, "m")):
        picture.text(x + at, top + 82, name, "muted", anchor="middle")
    lines = "U = G g G\u1d40: the filters,", "transformed when the", "network is compiled."
    _caption(picture, x, "16 matrix products", *lines)


def _output(picture: Picture, x: float, y: float) -> None:
    cell = HEIGHT / 6
    for i in range(4):
        for j in range(4):
            colour = ROWS[i // 2 * 2 + j // 2]
            picture.rect(x + j * cell, y + cell + i * cell, cell, cell, f"{colour}/45", "page")
    _caption(picture, x, "output", "2 x 2 numbers", "from each tile.")
