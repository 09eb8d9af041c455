"""
Timelines of programs, for Perfetto.

There is a track for each engine and one for layers. Times are microseconds, from the cycles of an
estimate and the clock of the machine.
"""

from __future__ import annotations

import json
from pathlib import Path

from ...glow_dialects.vta.timing import VtaTiming
from ...perfetto import Event, document, process, slice_event, track
from .program import VtaProgram
from .timing import Estimate, estimate
from .words import (
    Alu,
    Engine,
    Gemm,
    Instruction,
    Transfer,
    decode_instructions,
    element_bytes,
)

_LAYERS = 0
"""The track of the layers; those of the engines follow."""


def trace(
    program: VtaProgram, found: Estimate | None = None, timing: VtaTiming | None = None
) -> dict[str, object]:
    """
    Returns the timeline of a program as an object for JSON, from an estimate that was made with
    `timing`.

    Raises VtaError for words that are no instructions, and for deadlock.
    """
    timing = timing or VtaTiming()
    found = found or estimate(program, timing)
    scale = 1 / timing.clock_mhz
    events = [
        process(0, "VTA"),
        track(_LAYERS, "layers"),
        *(track(1 + engine, engine.name) for engine in Engine),
    ]
    cycle = 0
    for layer in found.layers:
        counts = {"cycles": layer.cycles, "gemm utilisation": round(layer.gemm_utilisation, 4)}
        events.append(_slice(_LAYERS, layer.name, cycle, cycle + layer.cycles, scale, counts))
        cycle += layer.cycles
    for i in decode_instructions(program.instructions, program.config):
        span = (found.start[i.number], found.end[i.number])
        arguments = {"number": i.number, "text": str(i), **_counts(program, i)}
        events.append(_slice(1 + i.engine, _label(i), *span, scale, arguments))
    return document(events)


def write_trace(
    path: str | Path,
    program: VtaProgram,
    found: Estimate | None = None,
    timing: VtaTiming | None = None,
) -> None:
    """Writes the timeline of a program to a file. Raises OSError, and VtaError as `trace`."""
    Path(path).write_text(json.dumps(trace(program, found, timing)), encoding="utf-8")


def _slice(
    track: int, name: str, start: int, end: int, scale: float, arguments: dict[str, object]
) -> Event:
    return slice_event(track, name, start * scale, (end - start) * scale, arguments)


def _label(i: Instruction) -> str:
    """Returns the first words of its text."""
    if isinstance(i, Transfer):
        return f"{'STORE' if i.store else 'LOAD'} {i.memory.name}"
    if isinstance(i, Alu):
        return f"ALU {i.op.name}"
    return "GEMM reset" if isinstance(i, Gemm) and i.reset else type(i).__name__.upper()


def _counts(program: VtaProgram, i: Instruction) -> dict[str, object]:
    if isinstance(i, Transfer):
        return {"bytes": i.x_size * i.y_size * element_bytes(program.config, i.memory)}
    return {"iterations": i.iterations} if isinstance(i, Gemm | Alu) else {}
