"""Progress bars on the terminal that a program writes its messages to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, ProgressColumn


@contextmanager
def progress_bar(
    *columns: ProgressColumn, visible: bool = True, transient: bool = True
) -> Iterator[Progress]:
    """
    Yields a progress bar, which is on stderr until the context ends. A bar that is not `visible`,
    or for which stderr is no terminal, writes nothing. One that is not `transient` stays on the
    screen.
    """
    console = Console(stderr=True)
    hidden = not (visible and console.is_terminal)
    bar = Progress(*columns, console=console, transient=transient, disable=hidden)
    if hidden:
        # rich before version 15 ends a disabled bar with a line
        yield bar
        return
    with bar:
        yield bar
