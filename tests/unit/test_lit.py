"""Runs the FileCheck tests, one folder of `tests/lit` at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LIT = Path(__file__).resolve().parents[1] / "lit"
FOLDERS = sorted({p.parent.relative_to(LIT) for p in LIT.rglob("*.mlir")})


@pytest.mark.parametrize("folder", [str(f) for f in FOLDERS])
def test_lit(folder: str, tmp_path: Path) -> None:
    lit = Path(sys.executable).with_name("lit")
    command = [lit, "-v", "-j1", "--no-progress-bar", f"--param=output={tmp_path}"]
    found = subprocess.run(
        [*command, *sorted((LIT / folder).glob("*.mlir"))],
        capture_output=True,
        text=True,
        timeout=600,
        stdin=subprocess.DEVNULL,
    )
    assert found.returncode == 0, found.stdout + found.stderr
