"""Charts of a training as SVG: curves, histograms and bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..svg import Picture, series, text_width

WIDTH, HEIGHT = 620, 240
"""Pixels of a chart of curves."""
SMALL_WIDTH, SMALL_HEIGHT = 200, 110
"""Pixels of a histogram."""
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 34, 34
"""Pixels of the margins of curves."""
MOST_POINTS = 400
"""Points of a curve. Each one is the mean of some steps if there are more."""
BINS = 40
"""Bars of a histogram."""


@dataclass(frozen=True)
class Curve:
    """Values over the numbers of steps."""

    name: str
    steps: Sequence[int]
    values: Sequence[float]
    dots: bool = False
    """Whether points are marked, of a curve with few of them."""


def curves(title: str, drawn: Sequence[Curve]) -> str:
    """Returns a chart of curves over steps; points that are not finite are left out."""
    picture = Picture(WIDTH, HEIGHT, title)
    picture.text(LEFT, 18, title, size=13, bold=True)
    points = [_thinned(curve) for curve in drawn]
    every = [point for line in points for point in line]
    if not every:
        picture.text(LEFT, HEIGHT / 2, "no values yet", "muted")
        return str(picture)
    xs, ys = zip(*every, strict=True)
    x_ticks, y_ticks = ticks(min(xs), max(xs)), ticks(min(ys), max(ys))
    x_low, x_high = min(*xs, x_ticks[0]), max(*xs, x_ticks[-1])
    y_low, y_high = y_ticks[0], y_ticks[-1]

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
        up = (y - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)
        return LEFT + across, HEIGHT - BOTTOM - up

    for y in y_ticks:
        picture.line(place(x_low, y), place(x_high, y), "rule")
        picture.text(LEFT - 6, place(x_low, y)[1] + 4, f"{y:.4g}", "muted", size=11, anchor="end")
    for x in x_ticks:
        at = place(x, y_low)
        picture.text(at[0], at[1] + 15, f"{x:.6g}", "muted", size=11, anchor="middle")
    picture.text(WIDTH - RIGHT, HEIGHT - 4, "step", "muted", size=11, anchor="end")
    for number, (curve, line) in enumerate(zip(drawn, points, strict=True)):
        _draw_curve(picture, [place(*point) for point in line], series(number), curve.dots)
    if len(drawn) > 1:
        _legend(picture, [curve.name for curve in drawn])
    return str(picture)


def _draw_curve(
    picture: Picture, points: Sequence[tuple[float, float]], colour: str, dots: bool
) -> None:
    if not points:
        return
    picture.path("M " + " L ".join(f"{x:.1f} {y:.1f}" for x, y in points), "none", colour, 1.5)
    for x, y in points if dots or len(points) == 1 else ():
        picture.rect(x - 2.5, y - 2.5, 5, 5, colour, radius=2.5)


def _legend(picture: Picture, names: Sequence[str]) -> None:
    """Writes names with their colours at the upper right."""
    x = WIDTH - RIGHT - sum(text_width(name, 11) + 26 for name in names)
    for number, name in enumerate(names):
        picture.rect(x, 11, 12, 4, series(number))
        picture.text(x + 16, 17, name, "muted", size=11)
        x += text_width(name, 11) + 26


def _thinned(curve: Curve) -> list[tuple[float, float]]:
    """Returns the finite points of a curve, or means of neighbours if there are many."""
    points = np.array([curve.steps, curve.values], float).reshape(2, -1)
    points = points[:, np.isfinite(points[1])]
    groups = np.array_split(points, min(MOST_POINTS, max(1, points.shape[1])), axis=1)
    return [(float(g[0].mean()), float(g[1].mean())) for g in groups if g.shape[1]]


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """
    Returns round numbers, the multiples of 1, 2 or 5 times a power of ten, so that the first one is
    at most `low` and the last one at least `high`. Numbers that rounding errors alone tell apart
    are one number, with room around it.
    """
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size or size < 1e-290:
        room = 0.1 * size if size >= 1e-290 else 1.0
        low, high = low - room, high + room
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [n * step for n in range(first, last + 1)]


def histogram(title: str, values: np.ndarray) -> str:
    """Returns a small histogram of numbers, with their smallest and largest one."""
    picture = Picture(SMALL_WIDTH, SMALL_HEIGHT, title)
    picture.text(4, 14, title if len(title) <= 30 else f"...{title[-27:]}", size=11)
    finite = values[np.isfinite(values)].astype(np.float64)
    if not finite.size:
        picture.text(4, SMALL_HEIGHT / 2, "no finite numbers", "muted", size=11)
        return str(picture)
    counts, edges = np.histogram(finite, BINS)
    bottom, tallest = SMALL_HEIGHT - 18, SMALL_HEIGHT - 42
    width = (SMALL_WIDTH - 8) / BINS
    for i, count in enumerate(counts.tolist()):
        height = count / int(counts.max()) * tallest
        if count:
            picture.rect(4 + i * width, bottom - height, width, height, "blue")
    picture.line((4, bottom), (SMALL_WIDTH - 4, bottom))
    picture.text(4, SMALL_HEIGHT - 5, f"{edges[0]:.3g}", "muted", size=10)
    end = SMALL_WIDTH - 4
    picture.text(end, SMALL_HEIGHT - 5, f"{edges[-1]:.3g}", "muted", size=10, anchor="end")
    return str(picture)


def bars(title: str, lengths: Sequence[tuple[str, float, str]]) -> str:
    """Returns horizontal bars: a name, a length of at least 0, and a text behind each bar."""
    row, left = 20, 8 + max([text_width(name) for name, _, _ in lengths], default=0)
    behind = 8 + max([text_width(text, 11) for _, _, text in lengths], default=0)
    picture = Picture(WIDTH, TOP + row * len(lengths), title)
    picture.text(0, 18, title, size=13, bold=True)
    longest = max([length for _, length, _ in lengths], default=0) or 1
    for i, (name, length, text) in enumerate(lengths):
        y = TOP + row * i
        size = length / longest * max(40, WIDTH - left - behind)
        picture.text(0, y + 11, name)
        picture.rect(left, y + 1, size, row - 7, "blue", radius=2)
        picture.text(left + size + 6, y + 11, text, "muted", size=11)
    return str(picture)
