"""The progress bar of a training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from ..progress_bar import progress_bar
from .data import Dataset


class ProgressBar:
    """A line for each epoch on a terminal: batches, time that is left, and the last loss."""

    def __init__(self, dataset: Dataset, epochs: int, visible: bool):
        self._total = len(dataset) if isinstance(dataset, Sized) else None
        self._epochs = epochs
        self._visible = visible

    @contextmanager
    def epoch(self, number: int, done: int) -> Iterator[Callable[[int, float], None]]:
        """Yields a function that takes the number of batches so far, and the last loss."""
        columns = (
            TextColumn("epoch {task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("loss {task.fields[loss]:.4g}"),
        )
        with progress_bar(*columns, visible=self._visible, transient=False) as progress:
            task = progress.add_task(
                f"{number + 1}/{self._epochs}", total=self._total, completed=done, loss=float("nan")
            )
            yield lambda count, loss: progress.update(task, completed=count, loss=loss)
