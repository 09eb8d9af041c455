"""The example of the documentation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "host" / "serve.py"


def test_the_example_runs(tmp_path: Path) -> None:
    trace, picture = tmp_path / "trace.json", tmp_path / "trace.svg"
    command = [sys.executable, EXAMPLE, "--trace", trace, "--picture", picture]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "12 images, right: [12, 12, 12]" in found.stdout
    runs = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    bars = [e for e in ElementTree.parse(picture).iter() if e.find("{*}title") is not None][1:]
    assert len(bars) == len(runs) == 8 * 3
