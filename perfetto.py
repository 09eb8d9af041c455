"""
Events of the trace format of Chrome, which Perfetto (https://ui.perfetto.dev) opens.

All times are in microseconds. A process is a group of tracks, and a track is a row of slices that
do not overlap. Spans may overlap: those with the same number are one row. An arrow leads from the
slice in which it begins to the slice in which it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Event: TypeAlias = "dict[str, Any]"
DIGITS = 6
"""Digits of times after the point: picoseconds."""


def document(events: Iterable[Event]) -> dict[str, object]:
    """Returns the content of a file: an object for JSON."""
    return {"traceEvents": [*events], "displayTimeUnit": "ns"}


def process(number: int, name: str) -> Event:
    return {"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}}


def track(number: int, name: str, process: int = 0) -> Event:
    return {
        "ph": "M",
        "name": "thread_name",
        "pid": process,
        "tid": number,
        "args": {"name": name},
    }


def slice_event(
    track: int,
    name: str,
    start: float,
    duration: float,
    arguments: Mapping[str, object],
    process: int = 0,
) -> Event:
    return {
        "ph": "X",
        "name": name,
        "pid": process,
        "tid": track,
        "ts": round(start, DIGITS),
        "dur": round(duration, DIGITS),
        "args": dict(arguments),
    }


def span(
    number: int,
    name: str,
    start: float,
    end: float,
    arguments: Mapping[str, object],
    process: int = 0,
) -> list[Event]:
    """
    Returns the two ends of a span. Within the same number, spans are nested, outer ones first.
    """
    common = {"cat": name, "id": number, "name": name, "pid": process, "tid": 0}
    return [
        {"ph": "b", **common, "ts": round(start, DIGITS), "args": dict(arguments)},
        {"ph": "e", **common, "ts": round(end, DIGITS)},
    ]


def arrow(
    number: int, start: tuple[int, int, float], end: tuple[int, int, float], name: str = "data"
) -> list[Event]:
    """Returns an arrow between two places: process, track, and a time within a slice there."""
    common = {"cat": name, "id": number, "name": name}

    def place(pid: int, tid: int, time: float) -> Event:
        return {"pid": pid, "tid": tid, "ts": round(time, DIGITS)}

    return [{"ph": "s", **common, **place(*start)}, {"ph": "f", "bp": "e", **common, **place(*end)}]
