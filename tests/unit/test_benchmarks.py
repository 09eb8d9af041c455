"""The benchmark programs run, with settings too small to mean anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"


def run(*command: str | Path) -> str:
    found = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=600, cwd=ROOT
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_comparison(tmp_path: Path) -> None:
    target = tmp_path / "found.json"
    arguments = ["--runtimes", "glow", "onnxruntime", "--rounds", "2", "--repeat", "2"]
    printed = run("benchmarks/run.py", DIGITS, *arguments, "--json", target)
    assert "digits" in printed
    found = json.loads(target.read_text())["digits"]
    assert found["glow"]["disagreement"] < 1e-4
    assert found["onnxruntime"]["glow_takes_times"] > 0
    assert found["glow"]["prepare_warm"] > 0


def test_comparison_as_markdown() -> None:
    arguments = ["--runtimes", "glow", "onnxruntime", "--rounds", "1", "--repeat", "1"]
    lines = run("benchmarks/run.py", DIGITS, *arguments, "--markdown").splitlines()
    assert lines[0] == "| network | glow ms | onnxruntime ms | onnxruntime ratio |"
    assert lines[2].startswith("| digits | ")
    assert len({line.count("|") for line in lines}) == 1


def test_comparison_reports_failures(tmp_path: Path) -> None:
    model = tmp_path / "broken.onnx"
    model.write_bytes(DIGITS.read_bytes()[:-5000])
    command = [sys.executable, ROOT / "benchmarks" / "run.py", model, "--runtimes", "glow"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert found.returncode == 1


@pytest.mark.parametrize("sizes", [("20", "60")])
def test_scaling(sizes: tuple[str, str]) -> None:
    small, large = sizes
    arguments = ["--small", small, "--large", large, "--rounds", "1", "--limit", "1000"]
    printed = run("benchmarks/scaling.py", *arguments)
    assert "glow-allocate" in printed
    assert "all passes" in printed


def test_compile_time(tmp_path: Path) -> None:
    target = tmp_path / "found.json"
    printed = run("-m", "glow.benchmarks.compile_time", DIGITS, "--rounds", "1", "--json", target)
    assert "first result" in printed
    found = json.loads(target.read_text())["digits"]
    assert found["cold"]["kernels"] > 0
    assert "kernels" not in found["warm"]
    assert found["warm"]["first result"] > 0
    printed = run("-m", "glow.benchmarks.compile_time", DIGITS, "--profile", "5")
    assert "function calls" in printed
