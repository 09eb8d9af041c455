"""Tables of measured times of instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..wording import counted
from .report import seconds
from .tables import DataTable, shortened

if TYPE_CHECKING:
    from ..interface.time_profile import InstructionTime, MeasuredWork, TimeProfile

LEAST_SHARE = 0.002
"""The least share of the time of a run. Instructions that take less share one line."""
MOST_FUSED = 3
"""Operators of an epilogue that are listed; of more, the number is."""
_NUMBERS = ("time", "share", "GFLOP/s", "GB/s")


def _numbers(profile: TimeProfile, work: MeasuredWork) -> list[str]:
    rates = [_rate(work.gflops), _rate(work.gigabytes)]
    waiting = [seconds(work.waiting)] if profile.threads > 1 else []
    return [seconds(work.seconds), _share(profile, work.seconds), *rates, *waiting]


def _rate(value: float) -> str:
    if not value:
        return ""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _share(profile: TimeProfile, value: float) -> str:
    return f"{value / profile.seconds:.1%}"


def _columns(profile: TimeProfile) -> Sequence[str]:
    return (*_NUMBERS, "waiting") if profile.threads > 1 else _NUMBERS


def kind_table(profile: TimeProfile) -> DataTable:
    """Returns the sums of each kind of instruction, and the rest of the time of a run."""
    threads = f", thread 0 of {profile.threads}" if profile.threads > 1 else ""
    runs = counted(len(profile.runs), "run")
    table = DataTable(f"time by kind of instruction, medians of {runs}{threads}").texts("kind")
    table.numbers("number", *_columns(profile))
    for k in profile.kinds():
        table.add_row(k.kind, str(k.count), *_numbers(profile, k))
    table.add_section()
    sums = {
        counted(len(profile.instructions), "instruction"): profile.computing,
        "between them": profile.waiting,
        "before and after": profile.outside,
        "a run": profile.seconds,
    }
    for name, value in sums.items():
        table.add_row(name, "", seconds(value), _share(profile, value))
    return table


def instruction_table(profile: TimeProfile) -> DataTable:
    """Returns each instruction that takes a notable share of the time, the longest first."""
    table = DataTable("time by instruction").texts("#", "value", "instruction", "sizes")
    table.numbers(*_columns(profile))
    ordered = sorted(profile.instructions, key=lambda i: -i.seconds)
    shown = [i for i in ordered if i.seconds >= LEAST_SHARE * profile.seconds]
    for i in shown:
        about = (shortened(i.name), _what(i), _sizes(i))
        table.add_row(str(i.number), *about, *_numbers(profile, i))
    rest = ordered[len(shown) :]
    if rest:
        table.add_section()
        total = sum(i.seconds for i in rest)
        table.add_row("", f"{len(rest)} more", "", "", seconds(total), _share(profile, total))
    return table


def _what(i: InstructionTime) -> str:
    if len(i.fused) > MOST_FUSED:
        return f"{i.kind} + {len(i.fused)} operators"
    return " + ".join((i.kind, *i.fused))


def _sizes(i: InstructionTime) -> str:
    """Returns the sizes of the outputs and of the operands."""
    written, read = (", ".join(_without_element(t) for t in ts) for ts in (i.outputs, i.inputs))
    return f"{written} <- {read}" if read else written


def _without_element(text: str) -> str:
    return text.rpartition("x")[0] or "1"
