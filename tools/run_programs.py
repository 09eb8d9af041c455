"""`glow-run`: finds the programs of a network, which may be several, and their facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from ..models.compiled_model import CompiledModel


def programs_of(model: CompiledModel, feed: Mapping[str, np.ndarray]) -> list[CompiledModel]:
    """
    Returns the models of the programs that run for these inputs, each once. Several programs are
    compiled now, as far as the values that one computes decide about the next one.
    """
    calls = model.program_calls(model.arrays(feed))
    return list(dict.fromkeys(made for made, _ in calls))


def compile_times(programs: Sequence[CompiledModel]) -> dict[str, float]:
    """Returns the seconds of compilation by step, those of all programs together."""
    found: Counter[str] = Counter()
    for made in programs:
        found.update(made.times)
    return dict(found)


def dump_stages(programs: Sequence[CompiledModel], directory: Path) -> list[Path]:
    """Writes the stages of one program to a directory, of several to a directory in it each."""
    if len(programs) == 1:
        return programs[0].dump_stages(directory)
    return [
        path
        for number, made in enumerate(programs)
        for path in made.dump_stages(directory / f"program-{number}")
    ]
