"""A bar chart of benchmark results as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from glow.benchmarks.measurements import Results
from glow.benchmarks.report import TITLES, milliseconds, number
from glow.wording import counted

COLORS = ("#3b82f6", "#8b949e", "#b08968", "#7aa874")
"""Of the runtimes, ours first. These and the grey of the text are legible on white and on black."""

TEXT = "#7d8590"
MEAN = "geometric mean"
PANEL, GAP = 330, 28
BAR, SPACE = 10, 8
HEAD, AXIS, LEGEND = 46, 34, 26
CHARACTER = 6.4
"""Pixels, about the width of a character of 11 pixels."""
TITLE = "Speed relative to the faster peer (longer is better; labels in ms)"
LABEL = 34
"""Pixels for a label. Shorter bars have theirs on the right."""
ON_BAR = "#0d1117"


def svg(results: Results) -> str:
    """
    A panel for each number of threads. A group of bars for each network at batch 1: speed relative
    to the faster of the other runtimes, which is 1. Bars are labelled in milliseconds. The picture
    is as wide as names and legend need.
    """
    runtimes = results.runtimes()
    rows = [*results.networks(), MEAN]
    group = BAR * len(runtimes) + SPACE
    bottom = HEAD + group * len(rows)
    start = round(max(map(len, rows)) * CHARACTER) + 24
    width = max(
        start + (PANEL + GAP) * len(results.threads()),
        round(start + len(TITLE) * CHARACTER * 13 / 11),
        round(start + sum(map(_entry_width, runtimes))),
    )
    height = bottom + AXIS + LEGEND
    scale = PANEL / _longest(results)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="11" '
        f'fill="{TEXT}" role="img">',
        "<title>Speed relative to the faster of the other runtimes</title>",
        f'<text x="{start}" y="16" font-size="13">{TITLE}</text>',
    ]
    for i, name in enumerate(rows):
        middle = HEAD + i * group + BAR * len(runtimes) / 2 + 4
        parts.append(
            f'<text x="{start - 8}" y="{middle:g}" text-anchor="end">{escape(name)}</text>'
        )
    for i, threads in enumerate(results.threads()):
        left = start + i * (PANEL + GAP)
        parts.append(
            f'<text x="{left}" y="36" font-weight="bold">{counted(threads, "thread")}</text>'
        )
        for j, name in enumerate(rows):
            parts += _bars(results, name, threads, left, HEAD + j * group, scale)
        x = left + scale
        parts.append(
            f'<line x1="{x:.1f}" y1="{HEAD - 4}" x2="{x:.1f}" y2="{bottom - SPACE + 4}" '
            f'stroke="{TEXT}" stroke-dasharray="3 3"/>'
        )
        parts += _axis(left, bottom - SPACE + 4, scale)
    parts += _legend(runtimes, start, height - 8)
    return "\n".join([*parts, "</svg>", ""])


def _longest(results: Results) -> float:
    """The highest speed in the chart, at least 1."""
    speeds = [
        case.speed(name) or 0.0
        for case in results.cases
        if case.batch == 1
        for name in case.runtimes
    ]
    return max([1.0, *speeds])


def _bars(
    results: Results, name: str, threads: int, left: int, top: int, scale: float
) -> Iterator[str]:
    case = results.find(name, 1, threads)
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
        yield (
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{BAR - 1}" '
            f'fill="{COLORS[i % len(COLORS)]}"/>'
        )
        x, color = (left + 4, ON_BAR) if length >= LABEL else (left + length + 4, TEXT)
        yield (f'<text x="{x:.1f}" y="{y + BAR - 2}" font-size="9" fill="{color}">{label}</text>')


def _axis(left: int, y: int, scale: float) -> Iterator[str]:
    """The axis of a panel, with marks at round numbers and what it shows."""
    longest = PANEL / scale
    step = next((s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10) if longest / s <= 8), longest)
    yield f'<line x1="{left}" y1="{y}" x2="{left + PANEL}" y2="{y}" stroke="{TEXT}"/>'
    for i in range(int(longest / step + 1e-9) + 1):
        x = left + i * step * scale
        yield (
            f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 4}" stroke="{TEXT}"/>'
            f'<text x="{x:.1f}" y="{y + 14}" font-size="9" text-anchor="middle">{i * step:g}</text>'
        )
    yield (
        f'<text x="{left + PANEL / 2:g}" y="{y + 27}" text-anchor="middle">'
        "speed / speed of the faster peer</text>"
    )


def _entry_width(runtime: str) -> float:
    """Pixels of a runtime in the legend."""
    return len(TITLES.get(runtime, runtime)) * CHARACTER + 36


def _legend(runtimes: list[str], left: int, y: int) -> Iterator[str]:
    x = float(left)
    for i, name in enumerate(runtimes):
        color = COLORS[i % len(COLORS)]
        yield f'<rect x="{x:g}" y="{y - 9}" width="10" height="10" fill="{color}"/>'
        yield f'<text x="{x + 16:g}" y="{y}">{escape(TITLES.get(name, name))}</text>'
        x += _entry_width(name)
