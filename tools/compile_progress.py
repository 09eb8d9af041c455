"""The progress of a compilation on the screen."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from ..runtime.stages import Progress

SECONDS = 1.0
"""The seconds after which the progress of a compilation is shown."""


@contextmanager
def shown_progress(
    console: Console | None = None,
) -> Iterator[Callable[[Progress], None] | None]:
    """
    Yields the `progress` argument of `glow.compile`. It shows the stage and the number of finished
    kernels on stderr or `console` until the context ends; it is None unless that is a terminal.
    """
    if not (sys.stderr.isatty() if console is None else console.is_terminal):
        yield None
        return
    bar = _Bar(console)
    try:
        yield bar.update
    finally:
        bar.stop()


class _Bar:
    """Appears when the compilation has taken `SECONDS`."""

    def __init__(self, console: Console | None):
        self._console = console
        self._start = time.monotonic()
        self._shown = None

    def update(self, progress: Progress) -> None:
        if self._shown is None:
            if time.monotonic() - self._start < SECONDS:
                return
            self._shown = self._made()
            self._shown.add_task("", total=None, kernels="")
            self._shown.start()
        (task,) = self._shown.task_ids
        kernels = (
            "" if progress.total is None else f"{progress.kernels} of {progress.total} kernels"
        )
        self._shown.update(
            task,
            description=f"compiling: {progress.stage}",
            total=progress.total,
            completed=progress.kernels,
            kernels=kernels,
        )

    def _made(self):
        # a program in the cache shows no progress
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[kernels]}"),
            TimeElapsedColumn(),
        )
        console = self._console or Console(stderr=True)
        return Progress(*columns, console=console, transient=True, refresh_per_second=4)

    def stop(self) -> None:
        if self._shown is not None:
            self._shown.stop()
