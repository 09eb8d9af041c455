"""The figures of the documentation. Each module has a function `draw` that gives an SVG file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import layouts, memory_plan, pipeline, register_tile, threads, winograd

FIGURES: Mapping[str, Callable[[], str]] = {
    "pipeline": pipeline.draw,
    "layouts": layouts.draw,
    "register-tile": register_tile.draw,
    "threads": threads.draw,
    "winograd": winograd.draw,
    "memory-plan": memory_plan.draw,
}
"""The name of each file in `docs/images/`, without its ending."""
