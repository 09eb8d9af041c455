"""Draws a trace of a host manager as SVG: a row for each device, a colour for each request."""

from __future__ import annotations

from typing import Any

from glow.svg import Picture, series

WIDTH, LEFT, RIGHT = 900, 70, 20
ROW, BAR, TOP = 34, 22, 26


def draw(trace: dict[str, Any]) -> str:
    """Returns the runs of partitions on devices, from the first to the last one."""
    events = trace["traceEvents"]
    devices = {
        e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"
    }
    runs = [e for e in events if e["ph"] == "X"]
    start = min(e["ts"] for e in runs)
    length = max(e["ts"] + e["dur"] for e in runs) - start
    scale = (WIDTH - LEFT - RIGHT) / length
    height = TOP + ROW * len(devices) + 10
    picture = Picture(WIDTH, height, "Runs of requests on devices")
    summary = f"{length / 1e3:.1f} ms; numbers are requests"
    picture.text(LEFT, 16, summary, "muted")
    for row, name in enumerate(devices.values()):
        picture.text(8, TOP + ROW * row + BAR * 0.7, name)
    rows = {pid: row for row, pid in enumerate(devices)}
    for run in runs:
        x, width = LEFT + (run["ts"] - start) * scale, max(run["dur"] * scale, 0.5)
        y, request = TOP + ROW * rows[run["pid"]], run["args"]["request"]
        picture.rect(x, y, width, BAR, f"{series(request)}/55", radius=2, tip=run["name"])
        picture.text(x + width / 2, y + BAR * 0.7, str(request), anchor="middle")
    return str(picture)
