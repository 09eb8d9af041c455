"""
Draws the timeline of a VTA program as SVG: a row for layers and one for each engine, a bar for each
instruction, in the colour of its kind, over an axis of microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10
from typing import Any

from .dag_drawing import COLOURS

WIDTH, LEAST_LEFT, RIGHT = 900, 80, 30
ROW, BAR, LINE, AXIS = 34, 22, 20, 44
CHARACTER = 7
"""Pixels; a name that does not fit into its bar is left out."""
MARKS = 8
"""About how many numbers the axis has."""


def draw_timeline(trace: Mapping[str, Any]) -> str:
    """The drawing of what `glow.runtime.vta.trace.trace` returns, as the text of an SVG file."""
    events = trace["traceEvents"]
    tracks = [e for e in events if e["ph"] == "M" and e["name"] == "thread_name"]
    rows = {e["tid"]: row for row, e in enumerate(tracks)}
    bars = [e for e in events if e["ph"] == "X"]
    kinds = list(dict.fromkeys(_kind(e) for e in bars if e["tid"]))
    end = max((e["ts"] + e["dur"] for e in bars), default=0.0)
    names = [e["args"]["name"] for e in tracks]
    left = max(LEAST_LEFT, 16 + CHARACTER * max(map(len, names), default=0))
    legend, top = _legend(kinds, left)
    bottom = top + ROW * len(rows)
    height = bottom + AXIS
    scale = (WIDTH - left - RIGHT) / (end or 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        *legend,
        *_axis(left, bottom, end, scale),
    ]
    for name, e in zip(names, tracks, strict=True):
        y = top + ROW * rows[e["tid"]] + BAR * 0.7
        parts.append(f'<text x="8" y="{y:.1f}">{escape(name)}</text>')
    for e in bars:
        colour = _colour(kinds, _kind(e)) if e["tid"] else "#bbb"
        parts += _bar(e, left, top + ROW * rows[e["tid"]], scale, colour)
    return "\n".join([*parts, "</svg>\n"])


def _axis(left: int, y: int, end: float, scale: float) -> list[str]:
    """A line from 0 to the end, with marks at round numbers."""
    drawn = [f'<line x1="{left}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="#555"/>']
    power = 10.0 ** floor(log10(end / MARKS)) if end else 1.0
    step = next(m * power for m in (1, 2, 5, 10) if end <= MARKS * m * power)
    for i in range(int(end / step) + 1):
        x = left + i * step * scale
        drawn.append(
            f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 5}" stroke="#555"/>'
            f'<text x="{x:.1f}" y="{y + 18}" text-anchor="middle" fill="#555">{i * step:g}</text>'
        )
    middle = (left + WIDTH - RIGHT) / 2
    drawn.append(
        f'<text x="{middle:.1f}" y="{y + 36}" text-anchor="middle" fill="#555">'
        f"time in us; {end:{'.3g' if end < 1000 else ',.0f'}} us in all</text>"
    )
    return drawn


def _kind(event: Mapping[str, Any]) -> str:
    return event["name"].split()[0]


def _colour(kinds: Sequence[str], kind: str) -> str:
    return COLOURS[kinds.index(kind) % len(COLOURS)]


def _legend(kinds: Sequence[str], left: int) -> tuple[list[str], int]:
    """Kinds with their colours, in as many lines as they need; and where the lines end."""
    drawn: list[str] = []
    x, y = left, 8
    for kind in kinds:
        width = 17 + CHARACTER * len(kind) + 16
        if x > left and x + width > WIDTH:
            x, y = left, y + LINE
        drawn.append(
            f'<rect x="{x}" y="{y}" width="12" height="12" rx="2" fill="{_colour(kinds, kind)}"/>'
            f'<text x="{x + 17}" y="{y + 10}">{escape(kind)}</text>'
        )
        x += width
    return drawn, y + LINE


def _bar(event: Mapping[str, Any], left: int, y: int, scale: float, colour: str) -> list[str]:
    """A bar; the pointer on it shows the instruction."""
    x, width = left + event["ts"] * scale, max(event["dur"] * scale, 0.5)
    name = event["name"]
    details = escape(str(event["args"].get("text", name)))
    found = [
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}">'
        f"<title>{details}</title></rect>"
    ]
    if CHARACTER * len(name) < width:
        found.append(
            f'<text x="{x + width / 2:.1f}" y="{y + BAR * 0.7:.1f}" text-anchor="middle" '
            f'pointer-events="none">{escape(name)}</text>'
        )
    return found
