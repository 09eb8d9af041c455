"""Bars that show nothing write nothing, also with the oldest rich that the package accepts."""

import io
import sys

import pytest
from glow.progress_bar import progress_bar
from rich.progress import TextColumn


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(TextColumn("{task.description}")) as bar:
        bar.update(bar.add_task("work", total=2), completed=1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("visible", [True, False])
def test_on_a_terminal(visible: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar(TextColumn("{task.description}"), visible=visible, transient=False) as bar:
        bar.add_task("work", total=2)
    assert bool(screen.getvalue()) == visible
