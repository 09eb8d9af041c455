"""Tables about runs of a network: outputs, differences, times, memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from .tables import DataTable, shortened

if TYPE_CHECKING:
    from ..interface.memory_plan import MemoryPlan
    from ..interface.signature import TensorInfo


def wide(array: np.ndarray) -> np.ndarray:
    """Returns the array as float64, in which 16-bit floats and integers can be compared."""
    return array.astype(np.float64)


@dataclass(frozen=True)
class Difference:
    """The worst difference of one output from its reference."""

    absolute: float
    relative: float
    """`absolute` over the largest finite magnitude in the reference."""


def difference(found: np.ndarray, reference: np.ndarray) -> Difference:
    """
    Compares two arrays. NaN equals NaN and an infinity equals itself; otherwise these are
    infinitely far from anything, as are arrays of different shapes.
    """
    if found.shape != reference.shape:
        return Difference(float("inf"), float("inf"))
    a, b = wide(found), wide(reference)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return Difference(0.0, 0.0)
    with np.errstate(invalid="ignore"):
        apart = np.abs(a - b)[~same]
    worst = float(np.nan_to_num(apart, nan=np.inf, posinf=np.inf).max())
    finite = np.abs(b[np.isfinite(b)])
    largest = float(finite.max()) if finite.size else 0.0
    return Difference(worst, worst / largest if largest else float("inf"))


def is_classification(array: np.ndarray) -> bool:
    """
    Returns one score for each of several classes: floats with a single dimension longer than 1.
    """
    return array.dtype.kind in "fV" and array.size > 1 and max(array.shape) == array.size


def top_table(name: str, array: np.ndarray, k: int, labels: Sequence[str]) -> DataTable:
    """
    Returns the `k` largest scores, and their shares in percent if the scores are probabilities.
    """
    scores = wide(array).ravel()
    probabilities = bool((scores >= 0).all()) and abs(scores.sum() - 1) < 0.01
    table = DataTable(f"{shortened(name)}: top {min(k, scores.size)} of {scores.size}")
    table.numbers("class")
    if labels:
        table.texts("label")
    table.numbers("probability" if probabilities else "score")
    for index in np.argsort(-scores, kind="stable")[:k]:
        score = f"{scores[index]:.2%}" if probabilities else f"{scores[index]:.6g}"
        label = [labels[int(index)] if index < len(labels) else "?"] if labels else []
        table.add_row(str(index), *label, score)
    return table


def summary_table(arrays: Mapping[str, np.ndarray]) -> DataTable:
    """Returns the shape, range and mean of each output, and how many values are not finite."""
    table = DataTable("outputs").texts("output", "type")
    table.numbers("min", "mean", "max", "not finite")
    for name, array in arrays.items():
        kind = f"{array.dtype.name}{list(array.shape)}"
        values = wide(array)
        finite = values[np.isfinite(values)]
        numbers = ["-"] * 3
        if finite.size:
            numbers = [f"{v:.6g}" for v in (finite.min(), finite.mean(), finite.max())]
        table.add_row(name, kind, *numbers, str(values.size - finite.size))
    return table


def input_table(infos: Sequence[TensorInfo], origins: Mapping[str, str]) -> DataTable:
    table = DataTable("inputs").texts("input", "type", "from")
    for info in infos:
        table.add_row(info.name, str(info), origins[info.name])
    return table


def difference_table(
    differences: Mapping[str, Difference], reference: str, limit: float
) -> DataTable:
    table = DataTable(f"difference from {reference}").texts("output")
    table.numbers("absolute", "relative to the largest").texts(f"within {limit:g}")
    for name, d in differences.items():
        verdict = "yes" if d.relative <= limit else Text("no", "bold red")
        table.add_row(name, f"{d.absolute:.3g}", f"{d.relative:.3g}", verdict)
    return table


def relative_errors(found: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """
    Returns the largest error, and the root mean square of errors, over that of the exact values.
    """
    a, b = wide(found), wide(exact)
    scale = float(np.sqrt(np.mean(np.square(b)))) if b.size else 0.0
    if scale == 0.0:
        return (0.0, 0.0) if np.array_equal(a, b) else (float("inf"), float("inf"))
    apart = np.abs(a - b)
    return float(apart.max()) / scale, float(np.sqrt(np.mean(np.square(apart)))) / scale


def error_table(outputs: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> DataTable:
    """Errors of outputs, each found and exact, relative to the root mean square of the output."""
    table = DataTable("error of bf16 against f32, relative to the rms of the output")
    table.texts("output").numbers("largest", "rms")
    for name, (found, exact) in outputs.items():
        largest, typical = relative_errors(found, exact)
        table.add_row(name, f"{largest:.3g}", f"{typical:.3g}")
    return table


def seconds(value: float) -> str:
    """Returns a duration with a fitting unit."""
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} us"


def time_table(
    compile_times: Mapping[str, float], first: float, runs: Sequence[float], cached: bool
) -> DataTable:
    """
    Returns a table of the compilation by step, or a note that the program came from the cache; the
    first run, in which memory is touched for the first time, and the median and the fastest of
    later runs.
    """
    table = DataTable("times").texts("step").numbers("time")
    for name, value in compile_times.items():
        table.add_row("load the program from the cache" if cached else name, seconds(value))
    if not cached:
        table.add_row("compilation in all", seconds(sum(compile_times.values())))
    table.add_section()
    table.add_row("first run", seconds(first))
    if runs:
        table.add_row(f"run, median of {len(runs)}", Text(seconds(median(runs)), "bold"))
        table.add_row("run, fastest", seconds(min(runs)))
    return table


def size(value: int) -> str:
    """Returns a number of bytes with a fitting unit."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if value >= factor:
            return f"{value / factor:.2f} {unit}"
    return f"{value} B"


def memory_table(plans: Sequence[MemoryPlan], peak: int) -> DataTable:
    """
    Activations of all programs against the least that their orders of instructions need, weights,
    and the peak of the process.
    """
    table = DataTable("memory").texts("segment").numbers("size")
    if plans:
        arena, least = sum(p.arena_bytes for p in plans), sum(p.lower_bound for p in plans)
        table.add_row("weights", size(sum(p.weight_bytes for p in plans)))
        table.add_row("activations", size(arena))
        above = f" (+{arena / least - 1:.1%})" if least else ""
        table.add_row("lower bound of activations", f"{size(least)}{above}")
        if kept := sum(p.kept_peak for p in plans):
            table.add_row("if nothing were computed again", size(kept))
    table.add_row("peak of the process, resident", size(peak))
    return table


def decibels(value: float) -> str:
    """Returns a ratio in dB; that of equal values is infinite."""
    return "exact" if value == math.inf else f"{value:.1f} dB"


def signal_to_noise(error: float) -> str:
    """Returns a ratio of noise over signal as the inverse in dB."""
    return decibels(-10 * math.log10(error) if error > 0 else math.inf)
