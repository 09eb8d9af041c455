"""Draws a trace of a host manager as SVG: a row for each device, a colour for each request."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 900, 70, 20
ROW, BAR, TOP = 34, 22, 26
COLOURS = (
    *("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f"),
)


def draw(trace: dict[str, Any]) -> str:
    """The runs of partitions on devices, from the first to the last one."""
    events = trace["traceEvents"]
    devices = {
        e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"
    }
    runs = [e for e in events if e["ph"] == "X"]
    start = min(e["ts"] for e in runs)
    length = max(e["ts"] + e["dur"] for e in runs) - start
    scale = (WIDTH - LEFT - RIGHT) / length
    height = TOP + ROW * len(devices) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="16" fill="#555">{length / 1e3:.1f} ms; numbers are requests</text>',
    ]
    for row, name in enumerate(devices.values()):
        y = TOP + ROW * row + BAR * 0.7
        parts.append(f'<text x="8" y="{y:.1f}" fill="#222">{escape(name)}</text>')
    rows = {pid: row for row, pid in enumerate(devices)}
    for run in runs:
        x, width = LEFT + (run["ts"] - start) * scale, max(run["dur"] * scale, 0.5)
        y, request = TOP + ROW * rows[run["pid"]], run["args"]["request"]
        parts.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2" '
            f'fill="{COLOURS[request % len(COLOURS)]}"><title>{escape(run["name"])}</title></rect>'
        )
        parts.append(
            f'<text x="{x + width / 2:.1f}" y="{y + BAR * 0.7:.1f}" text-anchor="middle" '
            f'fill="white">{request}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])
