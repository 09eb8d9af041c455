"""
Draws the timeline of a VTA program as SVG: a row for layers and one for each engine, a bar for each
instruction, in the colour of its kind, over an axis of microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

from ..svg import Picture, series, text_width

WIDTH, LEAST_LEFT, RIGHT = 900, 80, 30
ROW, BAR, LINE, AXIS = 34, 22, 20, 44
"""Pixels. A name that does not fit into its bar is left out."""
MARKS = 8
"""About how many numbers the axis has."""


def draw_timeline(trace: Mapping[str, Any]) -> str:
    """
    Returns the drawing of a trace of `glow.runtime.vta.trace.trace`, as the text of an SVG file.
    """
    events = trace["traceEvents"]
    tracks = [e for e in events if e["ph"] == "M" and e["name"] == "thread_name"]
    rows = {e["tid"]: row for row, e in enumerate(tracks)}
    bars = [e for e in events if e["ph"] == "X"]
    kinds = list(dict.fromkeys(_kind(e) for e in bars if e["tid"]))
    end = max((e["ts"] + e["dur"] for e in bars), default=0.0)
    names = [e["args"]["name"] for e in tracks]
    left = max(LEAST_LEFT, round(16 + max(map(text_width, names), default=0)))
    legend, top = _legend(kinds, left)
    bottom = top + ROW * len(rows)
    scale = (WIDTH - left - RIGHT) / (end or 1)
    picture = Picture(WIDTH, bottom + AXIS, "Timeline of a VTA program")
    for kind, (x, y) in legend.items():
        picture.rect(x, y, 12, 12, _colour(kinds, kind), radius=2)
        picture.text(x + 17, y + 10, kind)
    _draw_axis(picture, left, bottom, end, scale)
    for name, e in zip(names, tracks, strict=True):
        picture.text(8, top + ROW * rows[e["tid"]] + BAR * 0.7, name)
    for e in bars:
        colour = _colour(kinds, _kind(e)) if e["tid"] else "grey"
        _draw_bar(picture, e, left, top + ROW * rows[e["tid"]], scale, colour)
    return str(picture)


def _draw_axis(picture: Picture, left: int, y: int, end: float, scale: float) -> None:
    """Draws a line from 0 to the end, with marks at round numbers."""
    picture.line((left, y), (WIDTH - RIGHT, y))
    power = 10.0 ** floor(log10(end / MARKS)) if end else 1.0
    step = next(m * power for m in (1, 2, 5, 10) if end <= MARKS * m * power)
    for i in range(int(end / step) + 1):
        x = left + i * step * scale
        picture.line((x, y), (x, y + 5))
        picture.text(x, y + 18, f"{i * step:g}", "muted", anchor="middle")
    length = f"{end:{'.3g' if end < 1000 else ',.0f'}} us in all"
    middle = (left + WIDTH - RIGHT) / 2
    picture.text(middle, y + 36, f"time in us; {length}", "muted", anchor="middle")


def _kind(event: Mapping[str, Any]) -> str:
    return event["name"].split()[0]


def _colour(kinds: Sequence[str], kind: str) -> str:
    return series(kinds.index(kind))


def _legend(kinds: Sequence[str], left: int) -> tuple[dict[str, tuple[float, int]], int]:
    """Returns the place of each kind, in as many lines as they need, and the end of the lines."""
    places: dict[str, tuple[float, int]] = {}
    x, y = float(left), 8
    for kind in kinds:
        width = 17 + text_width(kind) + 16
        if x > left and x + width > WIDTH:
            x, y = float(left), y + LINE
        places[kind] = x, y
        x += width
    return places, y + LINE


def _draw_bar(
    picture: Picture, event: Mapping[str, Any], left: int, y: int, scale: float, colour: str
) -> None:
    """Draws a bar; a pointer on it shows the instruction."""
    x, width = left + event["ts"] * scale, max(event["dur"] * scale, 0.5)
    name = event["name"]
    details = str(event["args"].get("text", name))
    picture.rect(x, y, width, BAR, f"{colour}/55", "page", tip=details)
    if text_width(name) + 8 < width:
        picture.text(x + width / 2, y + BAR * 0.7, name, anchor="middle")
