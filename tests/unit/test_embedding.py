"""Our passes in other people's tools: plain `xdsl-opt`, and a foreign pipeline."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path

import pytest
from glow.interface import backend
from glow.universe import UNIVERSE, multiverse
from xdsl.universe import Universe

BIN = Path(sys.executable).parent
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "foreign_pipeline" / "pipeline.py"

PROGRAM = """
func.func @main(%x: tensor<2x3xf32>, %s: tensor<1xf32>) -> tensor<2x3xf32> {
  %a = glow.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %a : tensor<2x3xf32>
}
"""


def run(*command: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)


def test_xdsl_opt_runs_our_pass() -> None:
    found = run(BIN / "xdsl-opt", "-p", "glow-lower-nodes,canonicalize,cse", text=PROGRAM)
    assert found.returncode == 0, found.stderr
    assert "func.func @main" in found.stdout


def test_xdsl_opt_parses_our_dialect_and_prints_it_generically() -> None:
    generic = run(BIN / "xdsl-opt", "--print-op-generic", text=PROGRAM)
    assert '"glow.relu"(%x)' in generic.stdout, generic.stderr
    again = run(BIN / "xdsl-opt", text=generic.stdout)
    assert "%a = glow.relu %x" in again.stdout, again.stderr


def test_universe_is_an_entry_point() -> None:
    (found,) = [e for e in entry_points(group="xdsl.universe") if e.name == "glow"]
    assert found.load() is UNIVERSE
    assert set(UNIVERSE.all_passes) <= set(Universe.get_multiverse().all_passes)


def test_packages_are_searched_once_for_each_search_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    searches: list[str] = []

    def universes() -> Universe:
        searches.append("universes")
        return Universe()

    def backends(group: str) -> EntryPoints:
        searches.append(group)
        return EntryPoints()

    monkeypatch.setattr(Universe, "get_multiverse", universes)
    monkeypatch.setattr(backend, "entry_points", backends)
    for count, folder in enumerate(("first", "second"), 1):
        monkeypatch.syspath_prepend(tmp_path / folder)
        for _ in range(3):
            assert set(multiverse().all_passes) == set(UNIVERSE.all_passes)
            assert backend.backend_names() == []
        assert sorted(searches) == ["glow.backends"] * count + ["universes"] * count


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_passes))
def test_every_pass_loads_under_its_name(name: str) -> None:
    assert name.startswith("glow-")
    assert UNIVERSE.all_passes[name]().name == name


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_dialects))
def test_every_dialect_loads_under_its_name(name: str) -> None:
    assert UNIVERSE.all_dialects[name]().name == name


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_targets))
def test_every_target_loads_under_its_name(name: str) -> None:
    assert UNIVERSE.all_targets[name]().name == name


def test_foreign_pipeline() -> None:
    found = run(sys.executable, EXAMPLE)
    assert found.returncode == 0, found.stderr
    assert "shop." not in found.stdout
    assert "glow.sub" in found.stdout
    assert "func.return" in found.stdout
