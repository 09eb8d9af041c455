"""Functions that are called after each epoch of a training."""

from __future__ import annotations

from ..errors import GlowError
from .report import Report
from .trainer import Trainer


class EarlyStopping:
    """Stops a training when a value of the validation data has not improved for some epochs."""

    def __init__(self, patience: int, monitor: str = "loss", largest: bool = False):
        """
        - `patience`: the number of epochs without a better value after which it stops.
        - `monitor`: the name of the value: `loss`, or a metric.
        - `largest`: whether larger values are better.
        """
        self.patience, self.monitor, self.largest = patience, monitor, largest
        self.best: float | None = None
        self._waited = 0

    def __call__(self, trainer: Trainer, report: Report) -> None:
        value = report.validation.get(self.monitor)
        if value is None:
            known = ", ".join(report.validation) or "none without validation data"
            raise GlowError(f"no value is called {self.monitor!r}; there are {known}")
        better = self.best is None or (value > self.best if self.largest else value < self.best)
        if better:
            self.best, self._waited = value, 0
            return
        self._waited += 1
        if self._waited >= self.patience:
            trainer.stop()
