"""Plain and blocked layouts of an image, and the panels of a matrix."""

from __future__ import annotations

from glow.svg import Picture

from .heading import MARGIN, heading

CELL = 16
LEFT, WIDTH = MARGIN, 836
CHANNELS, PIXELS, BLOCK = 8, 6, 4
ROWS, COLUMNS, PANEL = 4, 12, 4


def draw() -> str:
    picture = Picture(WIDTH, 626, "Blocked layouts: NCHWc blocks and panels")
    _image(picture, 34)
    _matrix(picture, 348)
    return str(picture)


def _colour(group: int, member: int) -> str:
    """Returns one hue for each block, and within it a shade for each channel or column."""
    return f"{('blue', 'orange', 'green')[group]}/{25 + 20 * member}"


def _cell(picture: Picture, x: float, y: float, colour: str) -> None:
    picture.rect(x, y, CELL, CELL, colour, "page")


def _strip(picture: Picture, y: float, name: str, text: str, colours: list[str]) -> None:
    """Draws the memory from left to right."""
    picture.text(LEFT, y - 8, name, bold=True)
    picture.text(LEFT + 84, y - 8, text, "muted", size=11)
    for i, colour in enumerate(colours):
        _cell(picture, LEFT + i * CELL, y, colour)


def _bracket(picture: Picture, x: float, y: float, cells: int, text: str) -> None:
    """Draws a bracket below some cells of a strip, with a caption."""
    end = x + cells * CELL
    picture.path(f"M {x + 1} {y + 3} v 5 H {end - 1} v -5", "none", "ink", 1.2)
    picture.text((x + end) / 2, y + 21, text, size=11, anchor="middle")


def _image(picture: Picture, top: float) -> None:
    heading(picture, "An image", f"{CHANNELS} channels of {PIXELS} pixels", top)
    for c in range(CHANNELS):
        for p in range(PIXELS):
            x, y = LEFT + 74 + p * CELL, top + 40 + c * CELL
            _cell(picture, x, y, _colour(c // BLOCK, c % BLOCK))
    middle = LEFT + 74 + PIXELS * CELL / 2
    picture.text(middle, top + 40 + CHANNELS * CELL + 16, "pixels", "muted", size=11,
                 anchor="middle")  # fmt: skip
    for block in range(CHANNELS // BLOCK):
        y = top + 40 + block * BLOCK * CELL
        picture.path(f"M {LEFT + 70} {y + 2} h -5 V {y + BLOCK * CELL - 2} h 5", "none", "ink", 1.2)
        picture.text(LEFT + 59, y + BLOCK * CELL / 2 + 4, f"block {block}", size=11, anchor="end")
    _image_notes(picture, LEFT + 230, top + 52)
    strip = top + 228
    channels, pixels = range(CHANNELS), range(PIXELS)
    plain = [_colour(c // BLOCK, c % BLOCK) for c in channels for _ in pixels]
    blocked = [_colour(b, c) for b in range(2) for _ in pixels for c in range(BLOCK)]
    _strip(picture, strip - 10, "NCHW", "all pixels of a channel, then the next channel", plain)
    _strip(
        picture,
        strip + 38,
        "NCHW4c",
        "all channels of a block at a pixel, then the next pixel, then the next block",
        blocked,
    )


def _image_notes(picture: Picture, x: float, y: float) -> None:
    lines = (
        "A block has 16 channels with AVX-512 and 8 with AVX2, SSE and NEON.",
        "In this picture it has 4.",
        "",
        "In NCHW4c one load reads one pixel of a whole block of channels.",
        "A convolution multiplies it without any shuffle, for each filter",
        "position and at each stride.",
    )
    for i, line in enumerate(lines):
        picture.text(x, y + 20 * i, line)


def _matrix(picture: Picture, top: float) -> None:
    picture.line((LEFT, top), (WIDTH - LEFT, top), "rule")
    heading(picture, "A matrix", f"weights of {ROWS} rows (K) and {COLUMNS} columns (N)", top + 34)
    for k in range(ROWS):
        for n in range(COLUMNS):
            _cell(picture, LEFT + n * CELL, top + 74 + k * CELL, _colour(n // PANEL, n % PANEL))
    for panel in range(COLUMNS // PANEL):
        _bracket(picture, LEFT + panel * PANEL * CELL, top + 74 + ROWS * CELL, PANEL,
                 f"panel {panel}")  # fmt: skip
    lines = (
        "A panel has the columns of one register tile. A matrix product goes",
        "down one panel for all rows of its tile, so that it reads the weights",
        "in the order of the memory: one stream, prefetched by the hardware.",
    )
    for i, line in enumerate(lines):
        picture.text(LEFT + 250, top + 92 + 20 * i, line)
    rows, columns, panels = range(ROWS), range(COLUMNS), range(COLUMNS // PANEL)
    plain = [_colour(n // PANEL, n % PANEL) for _ in rows for n in columns]
    packed = [_colour(p, n) for p in panels for _ in rows for n in range(PANEL)]
    _strip(picture, top + 196, "row-major", "all columns of a row, then the next row", plain)
    _strip(picture, top + 246, "panels", "all rows of a panel, then the next panel", packed)
