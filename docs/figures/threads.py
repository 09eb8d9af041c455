"""A team of threads that runs a program together."""

from __future__ import annotations

from glow.svg import Picture

from .heading import heading

LEFT, TOP, ROW, BAR = 130, 104, 46, 30
WIDTH = 836
WORK = (
    # kernel, and for each thread its start and end; the rest up to the barrier is waiting
    ("convolution", "blue", ((0, 178), (0, 172), (8, 180), (0, 168))),
    ("winograd_convolution", "purple", ((192, 370), (192, 374), (192, 366), (192, 372))),
    ("softmax", "orange", ((388, 444), None, None, None)),
    ("matmul", "green", ((458, 604), (458, 600), (458, 606), (458, 602))),
)
BARRIERS = (186, 381, 451)


def draw() -> str:
    picture = Picture(WIDTH, 368, "A team of four threads runs a program")
    text = "Every thread runs the whole program and does its part of each kernel."
    heading(picture, "A team of threads", text)
    bottom = TOP + 4 * ROW
    for thread in range(4):
        y = TOP + thread * ROW
        name = "caller" if thread == 0 else f"worker {thread}"
        picture.text(24, y + 19, f"thread {thread}", bold=True)
        picture.text(24, y + 33, name, "muted", size=10.5)
        picture.line((LEFT, y + BAR / 2), (LEFT + 616, y + BAR / 2), "rule")
        for kernel, colour, parts in WORK:
            _part(picture, kernel, colour, parts[thread], y)
    for x in BARRIERS:
        picture.line((LEFT + x, TOP - 8), (LEFT + x, bottom - 6), "ink", dashed=True)
        picture.text(LEFT + x, TOP - 14, "barrier", "muted", size=10.5, anchor="middle")
    _end(picture, bottom)
    _notes(picture, bottom + 26)
    return str(picture)


def _part(
    picture: Picture, kernel: str, colour: str, part: tuple[int, int] | None, y: float
) -> None:
    if part is None:
        return
    start, end = part
    picture.rect(LEFT + start, y, end - start, BAR, f"{colour}/25", colour, radius=3)
    picture.text(LEFT + (start + end) / 2, y + 19, kernel, size=11, anchor="middle")


def _end(picture: Picture, bottom: float) -> None:
    x = LEFT + 616
    picture.line((x, TOP - 8), (x, bottom - 6), "ink", thickness=1.5)
    picture.text(x + 8, TOP + 19, "the call", size=11)
    picture.text(x + 8, TOP + 33, "returns", size=11)


def _notes(picture: Picture, y: float) -> None:
    notes = (
        "A barrier stands where one thread needs what another computes.",
        "Small work, like this softmax, runs on thread 0 alone.",
        "Larger work is cut into portions; a thread that is ready draws the next one.",
    )
    for i, note in enumerate(notes):
        picture.text(24, y + 20 * i, note, "muted", size=11.5)
