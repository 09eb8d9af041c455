"""
Draws the timeline of a VTA program as SVG: a row for layers and one for each engine, a bar for each
instruction, in the colour of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .dag_drawing import COLOURS

WIDTH, LEFT, RIGHT = 900, 80, 20
ROW, BAR, TOP = 34, 22, 28
CHARACTER = 7
"""Pixels; a name that does not fit into its bar is left out."""


def draw_timeline(trace: Mapping[str, Any]) -> str:
    """The drawing of what `glow.runtime.vta.trace.trace` returns, as the text of an SVG file."""
    events = trace["traceEvents"]
    tracks = [e for e in events if e["ph"] == "M" and e["name"] == "thread_name"]
    rows = {e["tid"]: row for row, e in enumerate(tracks)}
    bars = [e for e in events if e["ph"] == "X"]
    kinds = list(dict.fromkeys(_kind(e) for e in bars if e["tid"]))
    end = max((e["ts"] + e["dur"] for e in bars), default=0.0)
    height = TOP + ROW * len(rows) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="8" y="18" fill="#555">{end:.3g} us</text>',
        *_legend(kinds),
    ]
    for e in tracks:
        y = TOP + ROW * rows[e["tid"]] + BAR * 0.7
        parts.append(f'<text x="8" y="{y:.1f}">{escape(e["args"]["name"])}</text>')
    scale = (WIDTH - LEFT - RIGHT) / (end or 1)
    for e in bars:
        colour = _colour(kinds, _kind(e)) if e["tid"] else "#bbb"
        parts += _bar(e, TOP + ROW * rows[e["tid"]], scale, colour)
    return "\n".join([*parts, "</svg>\n"])


def _kind(event: Mapping[str, Any]) -> str:
    return event["name"].split()[0]


def _colour(kinds: Sequence[str], kind: str) -> str:
    return COLOURS[kinds.index(kind) % len(COLOURS)]


def _legend(kinds: Sequence[str]) -> list[str]:
    return [
        f'<rect x="{x}" y="8" width="12" height="12" rx="2" fill="{_colour(kinds, kind)}"/>'
        f'<text x="{x + 17}" y="18">{escape(kind)}</text>'
        for x, kind in zip(range(LEFT, WIDTH, 80), kinds, strict=False)
    ]


def _bar(event: Mapping[str, Any], y: int, scale: float, colour: str) -> list[str]:
    """A bar; the pointer on it shows the instruction."""
    x, width = LEFT + event["ts"] * scale, max(event["dur"] * scale, 0.5)
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
