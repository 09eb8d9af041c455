"""A bar chart of benchmark results as SVG."""

from __future__ import annotations

from glow.benchmarks.measurements import Results
from glow.benchmarks.report import TITLES, milliseconds, number
from glow.svg import Picture, text_width
from glow.wording import counted

COLOURS = ("blue", "grey", "brown", "green")
"""The colours of the runtimes; ours is the first."""

MEAN = "geometric mean"
PANEL, GAP = 330, 28
BAR, SPACE = 10, 8
HEAD, AXIS, LEGEND = 52, 34, 30
TITLE = "Speed relative to the faster peer (longer is better; labels in ms)"
LABEL = 34
"""Pixels for a label. The label of a shorter bar is on its right."""


def svg(results: Results) -> str:
    """
    Returns a panel for each number of threads. A group of bars for each network at batch 1: speed
    relative to the faster of the other runtimes, which is 1. Bars are labelled in milliseconds. The
    picture is as wide as names and legend need.
    """
    runtimes = results.runtimes()
    rows = [*results.networks(), MEAN]
    group = BAR * len(runtimes) + SPACE
    bottom = HEAD + group * len(rows)
    start = round(max(text_width(row, 11) for row in rows)) + 26
    width = max(
        start + (PANEL + GAP) * len(results.threads()),
        round(start + text_width(TITLE, 13) + 12),
        round(start + sum(map(_entry_width, runtimes))),
    )
    height = bottom + AXIS + LEGEND
    scale = PANEL / _longest(results)
    picture = Picture(width, height, "Speed relative to the faster of the other runtimes")
    picture.text(start, 20, TITLE, size=13)
    for i, name in enumerate(rows):
        middle = HEAD + i * group + BAR * len(runtimes) / 2 + 4
        picture.text(start - 8, middle, name, size=11, anchor="end", bold=name == MEAN)
    for i, threads in enumerate(results.threads()):
        left = start + i * (PANEL + GAP)
        picture.text(left, 42, counted(threads, "thread"), "muted", size=11, bold=True)
        for j, name in enumerate(rows):
            _draw_bars(picture, results, name, threads, (left, HEAD + j * group), scale)
        x = left + scale
        picture.line((x, HEAD - 4), (x, bottom - SPACE + 4), dashed=True)
        _draw_axis(picture, left, bottom - SPACE + 4, scale)
    _draw_legend(picture, runtimes, start, height - 12)
    return str(picture)


def _longest(results: Results) -> float:
    """Returns the highest speed in the chart, at least 1."""
    speeds = [
        case.speed(name) or 0.0
        for case in results.cases
        if case.batch == 1
        for name in case.runtimes
    ]
    return max([1.0, *speeds])


def _draw_bars(
    picture: Picture,
    results: Results,
    name: str,
    threads: int,
    corner: tuple[int, int],
    scale: float,
) -> None:
    """Draws the bars of a network from their upper left corner."""
    (left, top), case = corner, results.find(name, 1, threads)
    for i, runtime in enumerate(results.runtimes()):
        if name == MEAN:
            speed = results.mean_speed(1, threads, runtime)
            label = number(speed, 2)
        else:
            speed = case.speed(runtime) if case else None
            label = milliseconds(case.median(runtime) if case else None)
        if speed is None:
            continue
        y, length = top + i * BAR, speed * scale
        colour = COLOURS[i % len(COLOURS)]
        picture.rect(left, y, length, BAR - 1, colour)
        x, ink = (left + 4, "page") if length >= LABEL else (left + length + 4, "muted")
        picture.text(x, y + BAR - 2, label, ink, size=9)


def _draw_axis(picture: Picture, left: int, y: int, scale: float) -> None:
    """Draws the axis of a panel, with marks at round numbers and a title."""
    longest = PANEL / scale
    step = next((s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10) if longest / s <= 8), longest)
    picture.line((left, y), (left + PANEL, y))
    for i in range(int(longest / step + 1e-9) + 1):
        x = left + i * step * scale
        picture.line((x, y), (x, y + 4))
        picture.text(x, y + 14, f"{i * step:g}", "muted", size=9, anchor="middle")
    middle = left + PANEL / 2
    picture.text(
        middle, y + 27, "speed / speed of the faster peer", "muted", size=11, anchor="middle"
    )


def _entry_width(runtime: str) -> float:
    """Pixels of a runtime in the legend."""
    return text_width(TITLES.get(runtime, runtime), 11) + 36


def _draw_legend(picture: Picture, runtimes: list[str], left: int, y: int) -> None:
    x = float(left)
    for i, name in enumerate(runtimes):
        picture.rect(x, y - 9, 10, 10, COLOURS[i % len(COLOURS)], radius=2)
        picture.text(x + 16, y, TITLES.get(name, name), size=11)
        x += _entry_width(name)
