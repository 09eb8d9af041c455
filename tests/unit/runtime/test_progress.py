"""The progress that a compilation reports, and its display by tools."""

from __future__ import annotations

import io
import re
from pathlib import Path

import glow
import pytest
from glow.runtime.stages import Progress
from glow.tools import compile_progress
from glow.tools.compile_progress import shown_progress
from rich.console import Console

MODEL = Path(__file__).resolve().parents[3] / "docs" / "examples" / "relu.mlir"


@pytest.mark.parametrize("threads", [1, 2])
def test_stages_and_kernels_are_told(threads: int, tmp_path: Path) -> None:
    told: list[Progress] = []
    model = glow.compile(MODEL, threads=threads, cache=tmp_path, progress=told.append)
    # kernels and llvm are made together, one function after the other
    begun = list(dict.fromkeys(p.stage for p in told))
    assert begun == ["import", *list(model.stages)[1:]]
    made = [p for p in told if p.total is not None]
    assert [p.kernels for p in made] == sorted(p.kernels for p in made)
    assert made[-1].kernels == made[-1].total
    assert made[-1].kernels >= 2  # the relu, and what calls it
    # a compilation that finds its kernels makes none
    told.clear()
    glow.compile(MODEL, threads=threads, cache=tmp_path, progress=told.append)
    assert told[-1].stage == "allocated"


def test_an_exception_ends_the_compilation(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.stage == "lowered":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        glow.compile(MODEL, cache=tmp_path, progress=stop)


def test_long_compilations_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(wait: float, terminal: bool) -> str:
        monkeypatch.setattr(compile_progress, "SECONDS", wait)
        screen = Console(file=io.StringIO(), force_terminal=terminal, width=80)
        with shown_progress(screen) as progress:
            glow.compile(MODEL, cache=False, progress=progress)
        return screen.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]

    text = shown(0.0, True)
    assert "compiling: llvm" in text
    assert re.search(r"\d of \d kernels", text)
    assert not shown(1000.0, True)
    assert not shown(0.0, False)
