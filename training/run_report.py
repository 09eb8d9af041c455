"""The page about a training: curves, histograms, and the time of a step by operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import GlowError
from ..whole_file import write_whole
from ..wording import counted
from .charts import Curve, bars, curves, histogram
from .data import Batch
from .report import Report

if TYPE_CHECKING:
    from ..interface.time_profile import TimeProfile

MOST_HISTOGRAMS = 60
"""The number of parameters whose histograms are drawn."""
_MOST_KINDS = 14
"""The number of operators whose times have bars of their own."""
_STYLE = """
:root{color-scheme:light dark;--ink:#1f2328;--page:#ffffff;--muted:#59636e;--rule:#d1d9e0}
@media (prefers-color-scheme:dark){
:root{--ink:#e6edf3;--page:#0d1117;--muted:#9aa4af;--rule:#3d444d}}
body{font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;color:var(--ink);
background:var(--page);max-width:1300px;margin:24px auto;padding:0 16px}
p,caption{color:var(--muted)}
section{display:flex;flex-wrap:wrap;gap:12px 24px}
svg{max-width:100%;height:auto}
table{border-collapse:collapse}
th,td{padding:3px 12px;border-bottom:1px solid var(--rule);text-align:right}
th:first-child,td:first-child{text-align:left}
"""


@dataclass
class RunReport:
    """
    A self-contained page about a training, in HTML with pictures in SVG, for light and dark themes.
    """

    path: Path
    title: str
    losses: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    """The number of a step and its loss."""
    rates: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    """The number of a step and its learning rate."""
    epochs: list[Report] = field(default_factory=list[Report])
    weights: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """Trained parameters by name, after the last epoch."""
    gradients: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """Their gradients for the last batch."""
    batch: Batch | None = None
    """The last batch of a step."""
    profile: TimeProfile | None = None
    """The measured times of a step; None if the backend has none."""

    def add_step(self, step: int, losses: Sequence[float], rate: float) -> None:
        """Notes a step: the losses of its batches, and its learning rate."""
        self.losses.append((step, float(np.mean(losses))))
        self.rates.append((step, rate))

    def write(self) -> None:
        """
        Writes the page, which appears as a whole or not at all. Raises GlowError if that fails.
        """
        try:
            write_whole(self.path, self._page().encode())
        except OSError as error:
            raise GlowError(
                f"cannot write the report {self.path}: {error.strerror or error}"
            ) from error

    def _page(self) -> str:
        title = escape(self.title)
        parts = [
            f"<h1>{title}</h1>",
            f"<p>{self._summary()}</p>",
            _section("Curves", self._curves()),
            self._table(),
            *self._histograms(),
            *self._times(),
        ]
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        return (
            f'<!doctype html>\n<html lang="en"><head>{head}<title>{title}</title>'
            f"<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
        )

    def _summary(self) -> str:
        seconds = sum(each.seconds for each in self.epochs)
        numbers = sum(array.size for array in self.weights.values())
        done = f"{counted(len(self.epochs), 'epoch')}, {counted(len(self.losses), 'step')}"
        return f"{done}, {seconds:.1f} s, {counted(numbers, 'trained number')}."

    def _validated(self) -> list[str]:
        """Returns the names of the values of validation data."""
        return list(dict.fromkeys(name for each in self.epochs for name in each.validation))

    def _curves(self) -> list[str]:
        """Returns the curves of the loss, of metrics, and of the learning rate."""
        training = [_curve("training", self.losses)]
        measured = {
            name: _curve(
                "validation", [(e.step, e.validation[name]) for e in self.epochs], dots=True
            )
            for name in self._validated()
        }
        loss = measured.pop("loss", None)
        charts = [curves("Loss", [*training, loss] if loss else training)]
        charts += [curves(name, [curve]) for name, curve in measured.items()]
        return [*charts, curves("Learning rate", [_curve("rate", self.rates)])]

    def _table(self) -> str:
        """Returns a table with a row for each epoch."""
        names = self._validated()
        head = ["epoch", "step", "loss", *(f"validation {n}" for n in names), "rate", "seconds"]
        rows = [
            [
                str(e.epoch),
                str(e.step),
                f"{e.loss:.5g}",
                *(f"{e.validation[n]:.5g}" for n in names),
                f"{e.rate:.4g}",
                f"{e.seconds:.2f}",
            ]
            for e in self.epochs
        ]
        cells = "".join(_row(row, "td") for row in rows)
        return f"<h2>Epochs</h2>\n<table>{_row(head, 'th')}{cells}</table>"

    def _histograms(self) -> list[str]:
        found: list[str] = []
        for title, arrays in (
            ("Weights after the last epoch", self.weights),
            ("Gradients of the last batch", self.gradients),
        ):
            if not arrays:
                continue
            names = list(arrays)[:MOST_HISTOGRAMS]
            found.append(_section(title, [histogram(name, arrays[name]) for name in names]))
            if left := len(arrays) - len(names):
                found.append(f"<p>{counted(left, 'parameter')} more.</p>")
        return found

    def _times(self) -> list[str]:
        if self.profile is None:
            return []
        kinds = [(k.kind, k.seconds, k.count) for k in self.profile.kinds()]
        shown, others = kinds[:_MOST_KINDS], kinds[_MOST_KINDS:]
        if others:
            rest = sum(seconds for _, seconds, _ in others), sum(n for _, _, n in others)
            shown.append(("others", *rest))
        rows = [
            (kind, seconds, f"{seconds * 1e3:.3g} ms in {counted(count, 'instruction')}")
            for kind, seconds, count in shown
        ]
        title = f"Time of a step by operator, {self.profile.seconds * 1e3:.3g} ms"
        return [_section("Time", [bars(title, rows)])]


def _curve(name: str, points: Sequence[tuple[int, float]], dots: bool = False) -> Curve:
    return Curve(name, [step for step, _ in points], [value for _, value in points], dots)


def _section(title: str, pictures: Iterable[str]) -> str:
    return f"<h2>{escape(title)}</h2>\n<section>\n{''.join(pictures)}</section>"


def _row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
